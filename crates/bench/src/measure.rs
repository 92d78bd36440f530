//! Measures one scheme on one database.

use std::collections::HashSet;
use std::time::Instant;

use getrandom::SysRng;
use papir_core::codec::Writer;
use papir_core::envelope::{self, Header, Kind};
use papir_core::erased::{Erased, ErasedClient, ErasedScheme};
use papir_core::scheme::{Parameters, Server, Wire};
use papir_core::sections::SectionSink;
use papir_core::{Description, Error as CoreError, Progress, Records, Sizes, Version};
use papir_kernels::Backend;
use rand_core::{Rng, UnwrapErr};

use crate::bandwidth::Bandwidth;
use crate::clock::{Laps, StageClock};
use crate::memory::{self, Resident};
use crate::records::record;
use crate::report::{Report, Stages};
use crate::size::display;
use crate::subject::{Choice, Measured, Part};
use crate::{Error, Result};

/// One measurement.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// What the database is prepared from; records of whole bytes.
    pub records: &'a dyn Records,
    /// What retrieved records are compared with.
    pub expected: &'a dyn Records,
    /// The parameters.
    pub choice: Choice,
    /// Threads and runs.
    pub effort: Effort,
}

/// On how many threads, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Threads of setup and answers, also beyond the machine's cores.
    pub threads: usize,
    /// Timed runs, after one that is not.
    pub runs: usize,
}

impl Effort {
    /// The most threads.
    const MAX_THREADS: usize = 1024;
    /// The most runs.
    const MAX_RUNS: usize = 1_000_000;

    /// The threads.
    ///
    /// # Errors
    /// [`Error::Usage`] for no threads or runs, or too many, and [`Error::Threads`].
    pub(crate) fn pool(self) -> Result<rayon::ThreadPool> {
        let Self { threads, runs } = self;
        if !(1..=Self::MAX_THREADS).contains(&threads) || !(1..=Self::MAX_RUNS).contains(&runs) {
            let expected = format!("1 to {} threads, 1 to {} runs", Self::MAX_THREADS, Self::MAX_RUNS);
            return Err(Error::usage(format!("{threads} threads and {runs} runs"), expected));
        }
        Ok(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?)
    }
}

/// Prepares the database, queries it `runs` times after a warm-up, and sums up.
///
/// # Errors
/// Those of the scheme; [`Error::Backend`], [`Error::Threads`], or [`Error::Usage`] for threads, runs
/// or memory out of range.
pub fn measure<S: Measured>(plan: &Plan<'_>, progress: &dyn Progress) -> Result<Report> {
    let backend = Backend::try_from_env()?;
    plan.effort.pool()?.install(|| {
        let prepared = Prepared::<S>::setup(plan, progress)?;
        progress.stage("queries", plan.effort.runs as u64 + 1);
        let tally = prepared.queries(plan, progress)?;
        Ok(prepared.report(plan, backend, &tally))
    })
}

/// The middle value, between the middle two of an even number; zero of none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = |i: usize| values.get(i).copied().unwrap_or_default();
    (middle(values.len().saturating_sub(1) / 2) + middle(values.len() / 2)) / 2.0
}

/// A prepared database and what preparing it took.
struct Prepared<S: Measured> {
    server: S::Server,
    version: Version,
    stages: Vec<(String, f64)>,
    offline: f64,
    resident: Option<Resident>,
}

/// What the queries gave, run by run; the warm-up counts for `correct` and memory only.
#[derive(Default)]
struct Tally {
    reads: Bandwidth,
    query: Vec<f64>,
    answer: Vec<f64>,
    extract: Vec<f64>,
    laps: Vec<Vec<(&'static str, f64)>>,
    upload: usize,
    download: usize,
    resident: Option<u64>,
    wrong: usize,
}

impl<S: Measured> Prepared<S> {
    fn setup(plan: &Plan<'_>, progress: &dyn Progress) -> Result<Self> {
        let params = S::params(plan.records.shape(), plan.choice)?;
        check_memory(&params.describe())?;
        let mut rng = UnwrapErr(SysRng);
        let clock = StageClock::new(progress);
        let server = S::Server::setup(params, plan.records, &mut rng, &clock)?;
        let (stages, offline) = clock.stop();
        let resident = Resident::after_setup();
        Ok(Self { server, version: Version::random(&mut rng), stages, offline, resident })
    }

    fn queries(&self, plan: &Plan<'_>, progress: &dyn Progress) -> Result<Tally> {
        let client = Erased::<S>::new().client(&self.public())?;
        let chosen = indices(plan.records.shape().records(), plan.effort.runs + 1);
        let mut tally = Tally::default();
        for (run, index) in chosen.into_iter().enumerate() {
            self.query(plan, client.as_ref(), index, &mut tally)?;
            if run == 0 {
                tally.forget_times();
            }
            progress.advance(1);
        }
        Ok(tally)
    }

    /// Query, read, answer, extract, compare.
    fn query(&self, plan: &Plan<'_>, client: &dyn ErasedClient, index: u64, tally: &mut Tally) -> Result<()> {
        let start = Instant::now();
        let (secret, query) = client.query(None, &[index], &mut UnwrapErr(SysRng))?;
        tally.query.push(start.elapsed().as_secs_f64());
        self.read(&mut tally.reads)?;
        let answer = self.timed_answer(&query, tally)?;
        let start = Instant::now();
        let records = client.extract(secret, &answer);
        tally.extract.push(start.elapsed().as_secs_f64());
        let expected = [record(plan.expected, index)?];
        // An answer that does not decode is wrong, too.
        tally.wrong += usize::from(!records.is_ok_and(|records| records == expected));
        (tally.upload, tally.download) = (query.len(), answer.len());
        Ok(())
    }

    fn timed_answer(&self, query: &[u8], tally: &mut Tally) -> Result<Vec<u8>> {
        let mut resident = self.resident;
        if let Some(resident) = &mut resident {
            resident.before_answer();
        }
        let mut laps = Laps::default();
        let start = Instant::now();
        let answer = self.answer(query, &mut laps)?;
        tally.answer.push(start.elapsed().as_secs_f64());
        tally.resident = tally.resident.max(resident.map(|resident| resident.bytes()));
        tally.laps.push(laps.laps().to_vec());
        Ok(answer)
    }

    /// From the query's bytes to the answer's, as the service does.
    fn answer(&self, query: &[u8], laps: &mut Laps) -> Result<Vec<u8>, CoreError> {
        let params = self.server.params();
        let query = laps.time("parse", || {
            let payload = envelope::open_version(query, Kind::Query, S::ID, self.version)?;
            S::Query::decode(params, payload)
        })?;
        let answer = S::answer(&self.server, &query, laps)?;
        Ok(laps.time("seal", || envelope::seal(&self.header(Kind::Answer), &answer.encode(params))))
    }

    fn header(&self, kind: Kind) -> Header {
        Header { kind, scheme: S::ID, version: self.version }
    }

    fn public(&self) -> Vec<u8> {
        let params = self.server.params();
        let mut writer = Writer::new();
        writer.bytes(&params.encode()).raw(&self.server.public().encode(params));
        envelope::seal(&self.header(Kind::Public), &writer.finish())
    }

    /// Reads the encoded database in every way, where it lies.
    fn read(&self, reads: &mut Bandwidth) -> Result<(), CoreError> {
        let database = self.server.params().describe().sizes.database;
        let mut sink = ReadingSink { database, reads, found: false };
        self.server.save(&mut sink)?;
        if sink.found {
            return Ok(());
        }
        Err(CoreError::MissingSection { name: format!("of the {database} bytes of {}'s database", S::NAME) })
    }
}

/// Takes no section; reads the one that is the database.
struct ReadingSink<'a> {
    database: u64,
    reads: &'a mut Bandwidth,
    found: bool,
}

impl SectionSink for ReadingSink<'_> {
    fn put(&mut self, _name: &str, parts: &[&[u8]]) -> Result<(), CoreError> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        if !self.found && bytes as u64 == self.database {
            self.found = true;
            self.reads.read(parts);
        }
        Ok(())
    }
}

/// Refuses a database that would not fit the memory that is free now.
fn check_memory(description: &Description) -> Result<()> {
    let Sizes { database, material, hint, .. } = description.sizes;
    // The client keeps a hint of its own.
    let needed = database.saturating_add(material).saturating_add(2 * hint);
    match memory::available() {
        Some(available) if needed > available => {
            let found = format!("{} needs {} of memory", description.scheme, display(needed));
            Err(Error::usage(found, format!("at most the {} that are free", display(available))))
        }
        _ => Ok(()),
    }
}

/// Whether what a description needs is free on this machine.
pub(crate) fn fits_memory(description: &Description) -> bool {
    check_memory(description).is_ok()
}

/// So many random indices; different ones as long as there are enough records.
fn indices(records: u64, count: usize) -> Vec<u64> {
    let mut rng = UnwrapErr(SysRng);
    let (mut seen, mut chosen) = (HashSet::new(), Vec::with_capacity(count));
    while chosen.len() < count {
        let index = rng.next_u64() % records;
        if seen.insert(index) || seen.len() as u64 == records {
            chosen.push(index);
        }
    }
    chosen
}

impl Tally {
    /// Ends the warm-up.
    fn forget_times(&mut self) {
        let Self { upload, download, resident, wrong, .. } = *self;
        *self = Self { upload, download, resident, wrong, ..Self::default() };
    }

    /// Medians of the parts of an answer, in ms.
    fn stages(&self) -> Stages {
        let first = self.laps.first().map(Vec::as_slice).unwrap_or_default();
        let stage = |(i, (name, _)): (usize, &(&'static str, f64))| {
            let seconds = self.laps.iter().filter_map(|laps| laps.get(i)).map(|lap| lap.1).collect();
            (*name, 1e3 * median(seconds))
        };
        Stages(first.iter().enumerate().map(stage).collect())
    }
}

impl<S: Measured> Prepared<S> {
    /// Seconds that setup spent on a part.
    fn part(&self, part: Part) -> f64 {
        let stages = self.stages.iter().filter(|(name, _)| S::part(name) == Some(part));
        stages.fold(0.0, |sum, stage| sum + stage.1)
    }

    fn report(&self, plan: &Plan<'_>, backend: Backend, tally: &Tally) -> Report {
        let Description { sizes, security, failure_log2, shape, .. } = self.server.params().describe();
        let milliseconds = |seconds: &Vec<f64>| 1e3 * median(seconds.clone());
        let (read, answer) = (tally.reads.seconds(), median(tally.answer.clone()));
        Report {
            scheme: S::NAME,
            records: shape.records(),
            record_bytes: shape.record_bytes() as u64,
            threads: plan.effort.threads,
            backend: backend.name(),
            read_gbps: sizes.database as f64 / (1u64 << 30) as f64 / read,
            read_ms: 1e3 * read,
            answer_ms: 1e3 * answer,
            reads: answer / read,
            stages: tally.stages(),
            encode_s: self.part(Part::Encode),
            hint_s: self.part(Part::Hint),
            material_s: self.part(Part::Material),
            offline_s: self.offline,
            keys_bytes: sizes.keys + sizes.query_keys,
            query_bytes: tally.upload as u64 - sizes.query_keys,
            upload_bytes: tally.upload as u64,
            download_bytes: tally.download as u64,
            hint_bytes: sizes.hint,
            material_bytes: sizes.material,
            rss_bytes: tally.resident,
            query_ms: milliseconds(&tally.query),
            extract_ms: milliseconds(&tally.extract),
            security_bits: security.map(|security| security.bits),
            failure_log2: Some(failure_log2).filter(|failure| failure.is_finite()),
            correct: tally.wrong == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        for (values, expected) in
            [(vec![], 0.0), (vec![3.0], 3.0), (vec![9.0, 1.0], 5.0), (vec![9.0, 1.0, 2.0], 2.0)]
        {
            assert!((median(values.clone()) - expected).abs() < 1e-12, "{values:?}");
        }
    }

    #[test]
    fn queries_ask_for_different_records_while_there_are_enough() {
        for (records, count) in [(1000, 600), (7, 7), (3, 8)] {
            let chosen = indices(records, count);
            let different: HashSet<&u64> = chosen.iter().collect();
            assert_eq!(different.len(), count.min(records as usize));
            assert!(chosen.len() == count && chosen.iter().all(|&index| index < records));
        }
    }
}
