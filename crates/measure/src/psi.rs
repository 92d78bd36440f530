//! Benchmark of private set intersection (`papir bench psi`), with both parties in one process.
//!
//! The parties exchange all messages as bytes.

use getrandom::SysRng;
use papir_core::erased::{ErasedServer, ErasedSession, scheme_of_public};
use papir_core::{Error as CoreError, Goal, Progress, Records};
use papir_kernels::Backend;
use papir_lookup::oprf::Key;
use papir_lookup::psi::{Filter, Kind, Masked, Match, Receiver, Row, Wanted, mask};
use papir_lookup::{Bundle, Lookup, TableOptions, Wanted as WantedEntry, build};
use papir_schemes::registry;
use rand_core::UnwrapErr;
use serde::Serialize;

use crate::clock::{median, timed};
use crate::effort::Effort;
use crate::memory::check_memory;
use crate::report::write_columns;
use crate::{Error, Result};
use papir_plan::units::bytes as display;

/// Inputs of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PsiConfig {
    /// Number of elements of the receiver. Half of them are in the sender's set.
    pub receiver: u64,
    /// Elements of the sender.
    pub sender: u64,
    /// Bytes of a label. With `None` there are no labels, and the receiver downloads a filter.
    pub label_bytes: Option<usize>,
    /// Number of lookups in a batch, for sets with labels.
    pub batch: usize,
}

/// Costs of an intersection. Times of a run are medians.
#[derive(Clone, Debug, Serialize)]
pub struct PsiReport {
    /// Name of the benchmark, always "psi".
    pub part: &'static str,
    /// Elements of the receiver.
    pub receiver: u64,
    /// Elements of the sender.
    pub sender: u64,
    /// Bytes of a label, or `None` without labels.
    pub label_bytes: Option<usize>,
    /// Method of the receiver: "filter" or "retrieval".
    pub kind: &'static str,
    /// Number of threads of both parties.
    pub threads: usize,
    /// Name of the kernels' backend.
    pub backend: &'static str,
    /// Time to mask all elements of the sender, once, in seconds.
    pub mask_s: f64,
    /// Time to build the filter, or the table and its database, once, in seconds.
    pub build_s: f64,
    /// Bytes that the receiver fetches once for each version: the filter, or the public part.
    pub once_bytes: u64,
    /// Bytes that the receiver sends in a run.
    pub upload_bytes: u64,
    /// Bytes that the receiver gets in a run.
    pub download_bytes: u64,
    /// Time of the sender in a run, in milliseconds: evaluation and answers.
    pub sender_ms: f64,
    /// Time of the receiver in a run, in milliseconds: blinding, unmasking, queries and extraction.
    pub receiver_ms: f64,
    /// Time of both parties in a run, in seconds. It includes decoding the one-time download.
    pub total_s: f64,
    /// True if every run returned the correct intersection and labels.
    pub correct: bool,
}

/// Costs and result of one run.
struct IntersectionRun {
    upload: u64,
    download: u64,
    sender: f64,
    receiver: f64,
    matches: Vec<Match>,
}

/// The sender's prepared set.
enum SenderSet {
    Filter(Vec<u8>),
    Table {
        server: Box<dyn ErasedServer>,
        bundle: Vec<u8>,
        longest: Option<usize>,
    },
}

/// Prepares the sender's set, then computes intersections with it.
///
/// # Errors
/// The errors of the protocol, [`Error::Backend`], [`Error::Threads`], and [`Error::Usage`] for
/// threads, runs or memory out of range.
pub fn measure(config: PsiConfig, effort: Effort, progress: &dyn Progress) -> Result<PsiReport> {
    let backend = Backend::try_from_env()?.name();
    effort.pool()?.install(|| {
        // Both parties run in this pool, one after the other, so that the times of each are those
        // of all threads.
        let key = Key::generate(&mut UnwrapErr(SysRng))?;
        let rows = (0..config.sender).map(|i| row(config, i)).collect();

        let (masked, mask_s) = timed(|| mask(&key, rows, config.label_bytes.is_some(), progress));
        let masked = masked.map_err(lookup_error)?;

        let (prepared, build_s) = timed(|| SenderSet::of(config, masked, progress));
        let prepared = prepared?;

        progress.stage("runs", effort.runs as u64);
        let mut runs = Vec::with_capacity(effort.runs);
        for _ in 0..effort.runs {
            progress.advance(1);
            runs.push(prepared.intersect(config, &key)?);
        }

        let sender = median_of(&runs, |run| run.sender);
        let receiver = median_of(&runs, |run| run.receiver);
        let expected = expected(config);

        Ok(PsiReport {
            part: "psi",
            receiver: config.receiver,
            sender: config.sender,
            label_bytes: config.label_bytes,
            kind: prepared.kind().name(),
            threads: effort.threads,
            backend,
            mask_s,
            build_s,
            once_bytes: prepared.once(),
            upload_bytes: runs.first().map_or(0, |run| run.upload),
            download_bytes: runs.first().map_or(0, |run| run.download),
            sender_ms: 1e3 * sender,
            receiver_ms: 1e3 * receiver,
            total_s: sender + receiver,
            correct: runs.iter().all(|run| run.matches == expected),
        })
    })
}

/// Returns the median of a value over all runs.
fn median_of(runs: &[IntersectionRun], value: fn(&IntersectionRun) -> f64) -> f64 {
    median(runs.iter().map(value).collect())
}

fn element(number: u64) -> Vec<u8> {
    format!("element {number}").into_bytes()
}

fn row(config: PsiConfig, number: u64) -> Row {
    let label = number
        .to_le_bytes()
        .into_iter()
        .cycle()
        .take(config.label_bytes.unwrap_or_default());

    Row {
        element: element(number),
        label: label.collect(),
        line: number + 1,
    }
}

/// Returns the receiver's elements. Every other one is in the sender's set.
fn elements(config: PsiConfig) -> Vec<Vec<u8>> {
    (0..config.receiver)
        .map(|i| element(receiver_number(config, i)))
        .collect()
}

/// Returns the number of the receiver's element `i`.
fn receiver_number(config: PsiConfig, i: u64) -> u64 {
    // Even elements are in the sender's set, and repeat if it is smaller than half of the
    // receiver's. The numbers of odd ones are above all of its numbers.
    if i.is_multiple_of(2) {
        i / 2 % config.sender.max(1)
    } else {
        config.sender + i
    }
}

fn expected(config: PsiConfig) -> Vec<Match> {
    (0..config.receiver)
        .step_by(2)
        .map(|i| Match {
            index: i as usize,
            label: row(config, i / 2 % config.sender.max(1)).label,
        })
        .collect()
}

impl SenderSet {
    fn of(config: PsiConfig, masked: Masked, progress: &dyn Progress) -> Result<Self> {
        if config.label_bytes.is_none() {
            return Ok(Self::Filter(Filter::new(masked.names()).encode()));
        }

        let rng = &mut UnwrapErr(SysRng);
        let longest = masked.longest;
        let table =
            build(masked.entries, &TableOptions::default(), rng, progress).map_err(lookup_error)?;

        let batches = registry::batches_over("inspire")?;
        let candidate = batches.candidate(table.records.shape(), Goal::Balanced, config.batch)?;
        check_memory(&candidate.description)?;

        let server =
            batches
                .scheme
                .setup_candidate(&candidate.parameters, &table.records, rng, progress)?;

        let scheme_public = server.public();
        let keyword = Some(table.layout);
        let bundle = Bundle {
            scheme_public,
            keyword,
            commitment_top: None,
            prefilter: None,
        }
        .encode();
        Ok(Self::Table {
            server,
            bundle,
            longest,
        })
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Filter(_) => Kind::Filter,
            Self::Table { .. } => Kind::Retrieval,
        }
    }

    fn once(&self) -> u64 {
        match self {
            Self::Filter(bytes) => bytes.len() as u64,
            Self::Table { bundle, .. } => bundle.len() as u64,
        }
    }

    fn intersect(&self, config: PsiConfig, key: &Key) -> Result<IntersectionRun> {
        let elements = elements(config);
        let (created, blinding) = timed(|| Receiver::new(&elements, &mut UnwrapErr(SysRng)));
        let (receiver, sent) = created.map_err(lookup_error)?;

        // The parties exchange bytes, so that each time includes the decoding of the other's
        // message.
        let (evaluated, evaluating) = timed(|| key.evaluate(&sent));
        let evaluated = evaluated?;
        let (wanted, unmasking) = timed(|| receiver.unmask(&evaluated));

        // The evaluation has a group element for each blinded one, of the same length.
        let bytes = sent.len() as u64;
        let mut run = IntersectionRun {
            upload: bytes,
            download: bytes,
            sender: evaluating,
            receiver: blinding + unmasking,
            matches: Vec::new(),
        };

        self.find(&wanted.map_err(lookup_error)?, &mut run)?;
        Ok(run)
    }

    fn find(&self, wanted: &Wanted, run: &mut IntersectionRun) -> Result<()> {
        match self {
            Self::Filter(bytes) => {
                let (matches, finding) =
                    timed(|| Filter::decode(bytes).map(|filter| wanted.in_filter(&filter)));

                run.matches = matches?;
                run.receiver += finding;
                Ok(())
            }
            Self::Table {
                server,
                bundle,
                longest,
            } => {
                // A receiver starts from the bytes that it downloads, so decoding them is a part of
                // its time.
                let (lookup, starting) = timed(|| client_of(bundle));
                run.receiver += starting;

                look_up(
                    server.as_ref(),
                    &lookup.map_err(lookup_error)?,
                    wanted,
                    *longest,
                    run,
                )
            }
        }
    }
}

/// Creates the receiver's client from the downloaded bundle.
fn client_of(bundle: &[u8]) -> papir_lookup::Result<Lookup> {
    let Bundle {
        scheme_public,
        keyword,
        ..
    } = Bundle::decode(bundle)?;
    let client = registry::by_id(scheme_of_public(&scheme_public)?)?.client(&scheme_public)?;
    Lookup::new(client, keyword)
}

/// Looks up all masked elements, in one query after another until all are asked for.
fn look_up(
    server: &dyn ErasedServer,
    lookup: &Lookup,
    wanted: &Wanted,
    longest: Option<usize>,
    run: &mut IntersectionRun,
) -> Result<()> {
    let keys: Vec<WantedEntry<'_>> = wanted
        .names()
        .into_iter()
        .map(|name| WantedEntry::Key(name))
        .collect();

    // One batch query has room for a fixed number of names; a set of more takes several.
    let (pending, asking) = timed(|| lookup.prepare_batch(None, &keys, &mut UnwrapErr(SysRng)));
    let pending = pending.map_err(lookup_error)?;
    run.upload += pending
        .queries()
        .iter()
        .map(|query| query.len() as u64)
        .sum::<u64>();

    let (answers, answering) = timed(|| {
        let answers = pending
            .queries()
            .iter()
            .map(|query| server.answer(ErasedSession::default(), query));
        answers.collect::<Result<Vec<_>, CoreError>>()
    });
    let answers = answers?;
    run.download += answers
        .iter()
        .map(|answer| answer.len() as u64)
        .sum::<u64>();

    let (matches, opening) = timed(|| wanted.opened(&pending.finish_all(&answers)?, longest));
    run.matches = matches.map_err(lookup_error)?;
    run.sender += answering;
    run.receiver += asking + opening;
    Ok(())
}

fn lookup_error(error: papir_lookup::Error) -> Error {
    match error {
        papir_lookup::Error::Core(error) => error.into(),
        other => Error::usage("a set", other),
    }
}

impl PsiReport {
    /// Writes the report as a table.
    ///
    /// # Errors
    /// The I/O errors of `out`.
    pub fn write_table(&self, out: &mut dyn std::io::Write) -> Result<()> {
        let Self {
            receiver,
            sender,
            kind,
            threads,
            backend,
            ..
        } = self;
        let labels = self.label_bytes.map_or("no labels".to_owned(), |bytes| {
            format!("labels of {bytes} B")
        });
        writeln!(
            out,
            "{receiver} elements against {sender}, {labels}, {kind}, {threads} threads, {backend}"
        )?;

        let lines = [
            ["masking, once".to_owned(), format!("{:.2} s", self.mask_s)],
            [
                "filter or database, once".to_owned(),
                format!("{:.2} s", self.build_s),
            ],
            ["one-time download".to_owned(), display(self.once_bytes)],
            ["sent".to_owned(), display(self.upload_bytes)],
            ["received".to_owned(), display(self.download_bytes)],
            ["sender".to_owned(), format!("{:.1} ms", self.sender_ms)],
            ["receiver".to_owned(), format!("{:.1} ms", self.receiver_ms)],
            ["total".to_owned(), format!("{:.2} s", self.total_s)],
            [
                "correct".to_owned(),
                if self.correct { "yes" } else { "NO" }.to_owned(),
            ],
        ];
        write_columns(out, &lines.map(Vec::from))
    }
}
