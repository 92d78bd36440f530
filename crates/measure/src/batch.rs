//! Benchmark of batches (`papir bench batch`): one batch of k records against single lookups.
//!
//! Single lookups use a database of their own, prepared for them. Both databases are measured
//! alternately in one run.

use std::collections::BTreeSet;

use getrandom::SysRng;
use papir_core::erased::{ErasedClient, ErasedScheme, ErasedServer, ErasedSession};
use papir_core::{Error as CoreError, Goal, NotPrivate, Progress, Records, Shape, read_record};
use papir_kernels::Backend;
use papir_schemes::registry::{self, OfBatches};
use rand_core::{Rng, UnwrapErr};
use serde::Serialize;

use crate::Result;
use crate::clock::{median, timed};
use crate::effort::Effort;
use crate::memory::check_memory;
use crate::records::Synthetic;
use crate::report::write_columns;
use crate::schemes;
use papir_plan::units::bytes as display;

/// Inputs of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchConfig<'a> {
    /// Name of the scheme below the batches.
    pub scheme: &'a str,
    /// Number of records of the database.
    pub records: u64,
    /// Bits per record.
    pub record_bits: u64,
    /// Goal of the choice of parameters.
    pub goal: Goal,
    /// Number of records in a batch.
    pub capacity: usize,
}

impl BatchConfig<'_> {
    /// Default inputs.
    pub const DEFAULT: Self = Self {
        scheme: "inspire",
        records: 1 << 24,
        record_bits: 512,
        goal: Goal::Balanced,
        capacity: 64,
    };
}

/// Costs of a batch and of a single lookup.
#[derive(Clone, Debug, Serialize)]
pub struct BatchReport {
    /// Name of the benchmark, always "batch".
    pub part: &'static str,
    /// Name of the scheme below the batches.
    pub scheme: &'static str,
    /// Records of the database.
    pub records: u64,
    /// Bits per record.
    pub record_bits: u64,
    /// k, the number of records in a batch.
    pub capacity: usize,
    /// Number of threads for setup and answers.
    pub threads: usize,
    /// Name of the kernels' backend.
    pub backend: &'static str,
    /// Costs of one record from a database for single lookups.
    pub single: BatchCosts,
    /// Costs of a full batch.
    pub batch: BatchCosts,
    /// Median over the runs of a ratio: the answer time of a batch, divided by the answer time of
    /// the single lookup just before it.
    pub ratio: f64,
    /// Names and values of the batch scheme's parameters.
    pub parameters: Vec<(&'static str, String)>,
    /// True if every returned record was correct.
    pub correct: bool,
}

/// Costs of a batch or of a single lookup. Times are medians, except the setup's.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BatchCosts {
    /// Time of the setup in seconds. It is paid once.
    pub offline_s: f64,
    /// Bytes that the server stores: encoded databases and other prepared data.
    pub server_bytes: u64,
    /// Bytes that a client fetches once per database version.
    pub public_bytes: u64,
    /// Time of a client to create a query, in milliseconds.
    pub query_ms: f64,
    /// Time of the server, from the query's bytes to the answer's bytes, in milliseconds.
    pub answer_ms: f64,
    /// Time of a client to extract the records, in milliseconds.
    pub extract_ms: f64,
    /// Bytes of a query.
    pub upload_bytes: u64,
    /// Bytes of an answer.
    pub download_bytes: u64,
}

/// Prepares both databases and queries them alternately, after one warm-up of each.
///
/// # Errors
/// The errors of the schemes, [`crate::Error::Backend`], [`crate::Error::Threads`], and
/// [`crate::Error::Usage`] for threads, runs or memory out of range.
pub fn measure(
    config: BatchConfig<'_>,
    effort: Effort,
    progress: &dyn Progress,
) -> Result<BatchReport> {
    let backend = Backend::try_from_env()?.name();
    effort.pool()?.install(|| {
        let shape = Shape::new(config.records, config.record_bits)?;
        let scheme = schemes::by_name(config.scheme)?.name();

        let records = Synthetic::of(shape);
        let batches = registry::batches_over(scheme)?;
        // Single lookups have the database that is best for them, not that of batches.
        let mut single = Side::single(config, &records, progress)?;
        let mut batch = Side::batched(config, batches, &records, progress)?;

        progress.stage("queries", effort.runs as u64 + 1);
        let mut ratios = Vec::new();
        for run in 0..=effort.runs {
            // Alternately, so that both are measured under the same load.
            let one = single.look_up(&distinct(shape, 1), &records)?;
            let many = batch.look_up(&distinct(shape, config.capacity), &records)?;
            ratios.push(many / one);
            // The first round is a warm-up, whose times do not count.
            if run == 0 {
                single.discard_times();
                batch.discard_times();
                ratios.clear();
            }
            progress.advance(1);
        }

        Ok(BatchReport {
            part: "batch",
            scheme,
            records: config.records,
            record_bits: config.record_bits,
            capacity: config.capacity,
            threads: effort.threads,
            backend,
            ratio: median(ratios),
            parameters: batch.server.describe().parameters,
            correct: single.correct && batch.correct,
            single: single.costs(),
            batch: batch.costs(),
        })
    })
}

/// Returns `count` distinct random indices, or all indices if there are fewer.
fn distinct(shape: Shape, count: usize) -> Vec<u64> {
    let mut rng = UnwrapErr(SysRng);
    let mut indices = BTreeSet::new();
    // No more than there are records, or the loop would not end.
    while (indices.len() as u64) < shape.records().min(count as u64) {
        indices.insert(rng.next_u64() % shape.records());
    }
    indices.into_iter().collect()
}

/// A prepared database, its client, and its measurements.
struct Side {
    server: Box<dyn ErasedServer>,
    client: Box<dyn ErasedClient>,
    offline_s: f64,
    query: Vec<f64>,
    answer: Vec<f64>,
    extract: Vec<f64>,
    correct: bool,
}

impl Side {
    fn single(
        config: BatchConfig<'_>,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let scheme = schemes::by_name(config.scheme)?;
        // Before the setup, which would run for minutes until memory is exhausted.
        check_memory(&scheme.plan(records.shape(), config.goal)?)?;

        Self::prepare(&*scheme, || {
            scheme.setup(records, config.goal, &mut UnwrapErr(SysRng), progress)
        })
    }

    fn batched(
        config: BatchConfig<'_>,
        batches: OfBatches,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let candidate = batches.candidate(records.shape(), config.goal, config.capacity)?;
        check_memory(&candidate.description)?;
        let rng = &mut UnwrapErr(SysRng);
        // Records of a benchmark are not secret: a scheme that is not private may be measured.
        let scheme = batches.scheme.allow_insecure(NotPrivate::acknowledged());
        Self::prepare(&*scheme, || {
            scheme.setup_candidate(&candidate.parameters, records, rng, progress)
        })
    }

    fn prepare(
        scheme: &dyn ErasedScheme,
        setup: impl FnOnce() -> Result<Box<dyn ErasedServer>, CoreError>,
    ) -> Result<Self> {
        let (server, offline_s) = timed(setup);
        let server = server?;
        let client = scheme.client(&server.public())?;

        Ok(Self {
            server,
            client,
            offline_s,
            query: Vec::new(),
            answer: Vec::new(),
            extract: Vec::new(),
            correct: true,
        })
    }

    /// Looks up records and compares them with their source. Returns the answer time in seconds.
    fn look_up(&mut self, indices: &[u64], records: &dyn Records) -> Result<f64> {
        // The source is read before the times start.
        let expected = indices
            .iter()
            .map(|&index| read_record(records, index))
            .collect::<Result<Vec<_>, _>>()?;

        let query = seconds(&mut self.query, || {
            self.client.query(None, indices, &mut UnwrapErr(SysRng))
        });
        let (secret, query) = query?;
        let answer = seconds(&mut self.answer, || {
            self.server.answer(ErasedSession::default(), &query)
        })?;

        let found = seconds(&mut self.extract, || self.client.extract(secret, &answer));

        // An answer that does not decode is a wrong record, and the other times still count.
        self.correct &= found.is_ok_and(|found| found == expected);
        Ok(self.answer.last().copied().unwrap_or_default())
    }

    fn discard_times(&mut self) {
        [&mut self.query, &mut self.answer, &mut self.extract]
            .into_iter()
            .for_each(Vec::clear);
    }

    fn costs(self) -> BatchCosts {
        let sizes = self.server.describe().sizes;
        BatchCosts {
            offline_s: self.offline_s,
            server_bytes: sizes.database + sizes.material,
            public_bytes: sizes.public,
            query_ms: milliseconds(self.query),
            answer_ms: milliseconds(self.answer),
            extract_ms: milliseconds(self.extract),
            upload_bytes: sizes.query,
            download_bytes: sizes.answer,
        }
    }
}

/// Returns the median of times in seconds, in milliseconds.
fn milliseconds(times: Vec<f64>) -> f64 {
    1e3 * median(times)
}

/// Returns a line with a cost that does not depend on the number of records in a query.
fn undivided(name: &str, one: String, many: String) -> Vec<String> {
    vec![name.to_owned(), one, many, String::new()]
}

/// Runs `work` and appends its time in seconds to `times`.
fn seconds<T>(times: &mut Vec<f64>, work: impl FnOnce() -> T) -> T {
    let (result, seconds) = timed(work);
    times.push(seconds);
    result
}

impl BatchReport {
    /// Writes the report as a table.
    ///
    /// # Errors
    /// The I/O errors of `out`.
    pub fn write_table(&self, out: &mut dyn std::io::Write) -> Result<()> {
        let Self {
            scheme,
            records,
            record_bits,
            threads,
            backend,
            ..
        } = self;
        writeln!(
            out,
            "{records} records of {record_bits} bits, {scheme}, {threads} threads, {backend}"
        )?;

        write_columns(out, &self.lines())?;
        writeln!(
            out,
            "A batch takes the server {:.2} times as long as one record.",
            self.ratio
        )?;

        for (name, value) in self.parameters.iter().take(5) {
            writeln!(out, "{name}: {value}")?;
        }

        writeln!(out, "correct: {}", if self.correct { "yes" } else { "NO" })?;
        Ok(())
    }

    /// Returns the lines of the table: costs of one record, of a batch, and of a batch for each
    /// record.
    fn lines(&self) -> Vec<Vec<String>> {
        let one = &self.single;
        let many = &self.batch;
        let mut lines = vec![vec![
            String::new(),
            "one record".to_owned(),
            format!("a batch of {}", self.capacity),
            "per record".to_owned(),
        ]];

        let times = [
            ("answer", one.answer_ms, many.answer_ms),
            ("query", one.query_ms, many.query_ms),
            ("extract", one.extract_ms, many.extract_ms),
        ];
        for (name, one, many) in times {
            lines.push(self.line(name, one, many, |ms| format!("{ms:.2} ms")));
        }

        let messages = [
            ("upload", one.upload_bytes, many.upload_bytes),
            ("download", one.download_bytes, many.download_bytes),
        ];
        for (name, one, many) in messages {
            lines.push(self.line(name, one as f64, many as f64, |bytes| display(bytes as u64)));
        }

        lines.push(undivided(
            "public part",
            display(one.public_bytes),
            display(many.public_bytes),
        ));
        lines.push(undivided(
            "server storage",
            display(one.server_bytes),
            display(many.server_bytes),
        ));
        lines.push(undivided(
            "setup",
            format!("{:.2} s", one.offline_s),
            format!("{:.2} s", many.offline_s),
        ));
        lines
    }

    /// Returns a line with a cost that the records of a batch share.
    fn line(&self, name: &str, one: f64, many: f64, show: fn(f64) -> String) -> Vec<String> {
        let each = many / self.capacity as f64;
        vec![name.to_owned(), show(one), show(many), show(each)]
    }
}
