//! Measures one scheme on one database.

use std::collections::HashSet;
use std::time::Instant;

use getrandom::SysRng;
use papir_core::envelope;
use papir_core::erased::{ErasedClient, ErasedKeys, ErasedScheme, ErasedServer, ErasedSession, ErasedState};
use papir_core::sections::SectionSink;
use papir_core::{
    Candidate, Choice, Description, Error as CoreError, NoProgress, OwnerKey, Progress, Records, Sizes,
    read_record,
};
use papir_kernels::Backend;
use rand_core::{Rng, UnwrapErr};

use crate::bandwidth::Bandwidth;
use crate::clock::StageClock;
use crate::clock::median;
use crate::memory::{self, Resident};
use crate::report::{Report, Stages};
use crate::schemes::candidate;
use crate::{Error, Result};
use papir_plan::units::bytes as display;

/// The product of a setup stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The encoded database.
    Encode,
    /// The hint that clients download.
    Hint,
    /// Data used only by the server.
    Material,
}

impl Part {
    /// Returns the part that a stage contributes to. `hint` is true if clients download a hint.
    fn of(stage: &str, hint: bool) -> Option<Self> {
        match stage {
            "encode" | "encrypt" | "copy records" | "prepare buckets" => Some(Self::Encode),
            "hint" if hint => Some(Self::Hint),
            "hint" | "residues" | "masks" | "digits" | "pack" => Some(Self::Material),
            "factorials" | "transform" | "convolve" | "lift" => Some(Self::Material),
            _ => None,
        }
    }
}

/// One measurement.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// The source from which the database is prepared.
    pub records: &'a dyn Records,
    /// The records that results are compared with.
    pub expected: &'a dyn Records,
    /// The parameters.
    pub choice: Choice,
    /// Threads and runs.
    pub effort: Effort,
}

/// Numbers of threads and runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Threads for setup and answers; may exceed the number of cores.
    pub threads: usize,
    /// Number of timed runs, after a warm-up.
    pub runs: usize,
}

impl Effort {
    /// Maximum number of threads.
    const MAX_THREADS: usize = 1024;
    /// Maximum number of runs.
    const MAX_RUNS: usize = 1_000_000;

    /// Creates the thread pool.
    ///
    /// # Errors
    /// [`Error::Usage`] if threads or runs are zero or too many, and [`Error::Threads`].
    pub(crate) fn pool(self) -> Result<rayon::ThreadPool> {
        let Self { threads, runs } = self;
        if !(1..=Self::MAX_THREADS).contains(&threads) || !(1..=Self::MAX_RUNS).contains(&runs) {
            let expected = format!("1 to {} threads, 1 to {} runs", Self::MAX_THREADS, Self::MAX_RUNS);
            return Err(Error::usage(format!("{threads} threads and {runs} runs"), expected));
        }
        Ok(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?)
    }
}

/// Prepares the database, queries it `runs` times after a warm-up, and summarizes the results.
///
/// # Errors
/// Errors of the scheme; [`Error::Backend`], [`Error::Threads`], or [`Error::Usage`] for threads,
/// runs or memory out of range.
pub fn measure(scheme: &dyn ErasedScheme, plan: &Plan<'_>, progress: &dyn Progress) -> Result<Report> {
    let backend = Backend::try_from_env()?;
    plan.effort.pool()?.install(|| {
        let prepared = Prepared::setup(scheme, plan, progress)?;
        progress.stage("queries", plan.effort.runs as u64 + 1);
        let tally = prepared.queries(plan, progress)?;
        Ok(prepared.report(plan, backend, &tally))
    })
}

/// A prepared database, and the costs of its setup.
struct Prepared {
    scheme: Box<dyn ErasedScheme>,
    server: Box<dyn ErasedServer>,
    stages: Vec<(String, f64)>,
    offline: f64,
    resident: Option<Resident>,
}

/// State, keys and ticket of a registered client.
struct Registration {
    state: ErasedState,
    keys: ErasedKeys,
    ticket: Option<Vec<u8>>,
}

impl Registration {
    fn session(&self) -> ErasedSession<'_> {
        ErasedSession { keys: Some(&self.keys), ticket: self.ticket.as_deref() }
    }
}

/// Measurements of the queries, one per run. The warm-up counts only for correctness and memory.
#[derive(Default)]
struct Tally {
    reads: Bandwidth,
    ticket: Option<f64>,
    ticket_bytes: Option<u64>,
    client_cold: Option<f64>,
    query: Vec<f64>,
    answer: Vec<f64>,
    extract: Vec<f64>,
    laps: Vec<Vec<(String, f64)>>,
    upload: usize,
    download: usize,
    resident: Option<u64>,
    wrong: usize,
}

impl Prepared {
    fn setup(scheme: &dyn ErasedScheme, plan: &Plan<'_>, progress: &dyn Progress) -> Result<Self> {
        let shape = plan.records.shape();
        let mut rng = UnwrapErr(SysRng);
        // The benchmark generates the records, so it is their owner and creates the owner's key.
        let owned = candidate(scheme, shape, plan.choice)?.description.limits.owner_key;
        let owner = owned.then(|| OwnerKey::generate(&mut rng));
        let scheme = scheme.with_owner_key(owner.as_ref());
        let Candidate { description, parameters, .. } = candidate(&*scheme, shape, plan.choice)?;
        check_memory(&description)?;
        let clock = StageClock::new(progress);
        let server = scheme.setup_candidate(&parameters, plan.records, &mut rng, &clock)?;
        let (stages, offline) = clock.stop();
        let resident = Resident::after_setup();
        Ok(Self { scheme, server, stages, offline, resident })
    }

    fn queries(&self, plan: &Plan<'_>, progress: &dyn Progress) -> Result<Tally> {
        let client = self.scheme.client(&self.server.public())?;
        let mut registration = self.register(client.as_ref())?;
        let mut tally = Tally::default();
        let runs = plan.effort.runs + 1;
        // A ticket may take minutes, so one query is answered repeatedly, as a retry would be.
        let (queries, answers) = if self.server.describe().limits.tickets { (1, runs) } else { (runs, 1) };
        for (run, index) in indices(plan.records.shape().records(), queries).into_iter().enumerate() {
            self.query(plan, (client.as_ref(), registration.as_mut()), (index, answers), &mut tally)?;
            if run == 0 && queries > 1 {
                tally.discard_times();
            }
            progress.advance(answers as u64);
        }
        Ok(tally)
    }

    /// Registers a client; `None` in schemes without client keys.
    fn register(&self, client: &dyn ErasedClient) -> Result<Option<Registration>> {
        let Some((state, keys)) = client.register(&mut UnwrapErr(SysRng))? else {
            return Ok(None);
        };
        Ok(Some(Registration { state, keys: self.server.accept_keys(&keys)?, ticket: None }))
    }

    /// Prepares the next query's ticket on the server, and the client's precomputation.
    fn prepare(
        &self,
        client: &dyn ErasedClient,
        registration: &mut Registration,
        hold: bool,
        tally: &mut Tally,
    ) -> Result<()> {
        let start = Instant::now();
        if let Some(number) = client.next_ticket(&registration.state)? {
            let ticket = self.server.ticket(&registration.keys, number, &NoProgress)?;
            tally.ticket = Some(start.elapsed().as_secs_f64());
            tally.ticket_bytes = Some(ticket.len() as u64);
            registration.ticket = Some(ticket);
        }
        let start = Instant::now();
        if let (true, Some(ticket)) = (hold, &registration.ticket) {
            client.hold(&mut registration.state, ticket)?;
        }
        client.prepare(&mut registration.state, 1, &NoProgress)?;
        tally.client_cold = Some(start.elapsed().as_secs_f64());
        Ok(())
    }

    /// One run: query, read, answer, extract, compare.
    fn query(
        &self,
        plan: &Plan<'_>,
        (client, mut registration): (&dyn ErasedClient, Option<&mut Registration>),
        (index, answers): (u64, usize),
        tally: &mut Tally,
    ) -> Result<()> {
        if let Some(registration) = &mut registration {
            let hold = matches!(plan.choice, Choice::Registered { hold: true, .. });
            self.prepare(client, registration, hold, tally)?;
        }
        let start = Instant::now();
        let state = registration.as_mut().map(|registration| &mut registration.state);
        let (secret, query) = client.query(state, &[index], &mut UnwrapErr(SysRng))?;
        tally.query.push(start.elapsed().as_secs_f64());
        let mut answer = Vec::new();
        for run in 0..answers {
            self.read(&mut tally.reads)?;
            answer = self.answer(registration.as_deref(), &query, tally)?;
            if run == 0 && answers > 1 {
                tally.discard_answers();
            }
        }
        let start = Instant::now();
        let records = client.extract(secret, &answer);
        tally.extract.push(start.elapsed().as_secs_f64());
        let expected = [read_record(plan.expected, index)?];
        // An answer that does not decode counts as wrong.
        tally.wrong += usize::from(!records.is_ok_and(|records| records == expected));
        (tally.upload, tally.download) = (query.len(), answer.len());
        Ok(())
    }

    /// Times [`ErasedServer::answer_many`] with one query: the call that the server program makes.
    fn answer(
        &self,
        registration: Option<&Registration>,
        query: &[u8],
        tally: &mut Tally,
    ) -> Result<Vec<u8>> {
        let mut resident = self.resident;
        if let Some(resident) = &mut resident {
            resident.before_answer();
        }
        let session = registration.map_or_else(ErasedSession::default, Registration::session);
        let clock = StageClock::new(&NoProgress);
        let answer = self.server.answer_many(&[(session, query)], &clock).pop();
        let (laps, seconds) = clock.stop();
        let missing = CoreError::Length { what: "a batch of answers", found: 0, expected: 1 };
        let answer = answer.unwrap_or(Err(missing))?;
        tally.answer.push(seconds);
        tally.resident = tally.resident.max(resident.map(|resident| resident.bytes()));
        tally.laps.push(summed(laps));
        Ok(answer)
    }

    /// Reads the encoded database in place with every reader.
    fn read(&self, reads: &mut Bandwidth) -> Result<(), CoreError> {
        let Description { scheme, sizes, .. } = self.server.describe();
        let database = sizes.database;
        let mut sink = ReadingSink { database, reads, found: false };
        self.server.save(&mut sink)?;
        if sink.found {
            return Ok(());
        }
        Err(CoreError::MissingSection { name: format!("of the {database} bytes of {scheme}'s database") })
    }
}

/// Adds up stages of the same name, in order of first occurrence.
fn summed(stages: Vec<(String, f64)>) -> Vec<(String, f64)> {
    let mut sums: Vec<(String, f64)> = Vec::new();
    for (name, seconds) in stages {
        match sums.iter_mut().find(|sum| sum.0 == name) {
            Some(sum) => sum.1 += seconds,
            None => sums.push((name, seconds)),
        }
    }
    sums
}

/// A sink that reads the database's section and stores nothing.
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

/// Refuses a database that does not fit into free memory.
pub(crate) fn check_memory(description: &Description) -> Result<()> {
    let Sizes { database, material, hint, .. } = description.sizes;
    // The client has its own copy of the hint.
    let needed = database.saturating_add(material).saturating_add(2 * hint);
    match memory::available() {
        Some(available) if needed > available => {
            let found = format!("{} needs {} of memory", description.scheme, display(needed));
            Err(Error::usage(found, format!("at most {} of free memory", display(available))))
        }
        _ => Ok(()),
    }
}

/// Returns whether a database with this description fits into free memory.
pub(crate) fn fits_memory(description: &Description) -> bool {
    check_memory(description).is_ok()
}

/// Returns `count` random indices, distinct if there are enough records.
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
    /// Discards the warm-up answer to a query that is answered repeatedly.
    fn discard_answers(&mut self) {
        self.answer.clear();
        self.laps.clear();
        self.reads = Bandwidth::default();
    }

    /// Discards the times of the warm-up.
    fn discard_times(&mut self) {
        let Self { upload, download, resident, wrong, .. } = *self;
        *self = Self { upload, download, resident, wrong, ..Self::default() };
    }

    /// Median times of an answer's stages, in ms.
    fn stages(&self) -> Stages {
        let first = self.laps.first().map(Vec::as_slice).unwrap_or_default();
        let stage = |(i, (name, _)): (usize, &(String, f64))| {
            let seconds = self.laps.iter().filter_map(|laps| laps.get(i)).map(|lap| lap.1).collect();
            (name.clone(), 1e3 * median(seconds))
        };
        Stages(first.iter().enumerate().map(stage).collect())
    }
}

impl Prepared {
    /// Seconds of setup spent on a part.
    fn part(&self, part: Part) -> f64 {
        let hint = self.server.describe().sizes.hint > 0;
        let stages = self.stages.iter().filter(|(name, _)| Part::of(name, hint) == Some(part));
        stages.fold(0.0, |sum, stage| sum + stage.1)
    }

    fn report(&self, plan: &Plan<'_>, backend: Backend, tally: &Tally) -> Report {
        let Description { scheme, sizes, security, failure_log2, shape, limits, .. } = self.server.describe();
        let milliseconds = |seconds: &Vec<f64>| 1e3 * median(seconds.clone());
        let (read, answer) = (tally.reads.seconds(), median(tally.answer.clone()));
        let query_bytes = tally.upload as u64 - sizes.query_keys;
        Report {
            scheme,
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
            query_bytes,
            query_payload_bytes: query_bytes.saturating_sub(envelope::OVERHEAD as u64),
            upload_bytes: tally.upload as u64,
            batch: limits.batch,
            download_bytes: tally.download as u64,
            hint_bytes: sizes.hint,
            material_bytes: sizes.material,
            rss_bytes: tally.resident,
            ticket_s: tally.ticket,
            ticket_bytes: tally.ticket_bytes,
            client_cold_s: tally.client_cold,
            client_ready_ms: tally.client_cold.map(|_| milliseconds(&tally.query)),
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
    fn stages_of_one_name_add_up() {
        let stages = [("a", 1.0), ("b", 2.0), ("a", 4.0)].map(|(name, seconds)| (name.to_owned(), seconds));
        assert_eq!(summed(stages.to_vec()), [("a".to_owned(), 5.0), ("b".to_owned(), 2.0)]);
    }

    #[test]
    fn queries_are_for_different_records_while_there_are_enough() {
        for (records, count) in [(1000, 600), (7, 7), (3, 8)] {
            let chosen = indices(records, count);
            let different: HashSet<&u64> = chosen.iter().collect();
            assert_eq!(different.len(), count.min(records as usize));
            assert!(chosen.len() == count && chosen.iter().all(|&index| index < records));
        }
    }
}
