//! Measures one scheme on one database.

use std::collections::HashSet;
use std::time::Instant;

use getrandom::SysRng;
use papir_core::codec::Writer;
use papir_core::envelope::{self, Header, Kind};
use papir_core::erased::{Erased, ErasedClient, ErasedScheme, ErasedState};
use papir_core::scheme::{Parameters, Server, Session, Wire};
use papir_core::sections::SectionSink;
use papir_core::{
    Description, Error as CoreError, NoProgress, NotPrivate, OwnerKey, Progress, Records, Sizes, Version,
    read_record,
};
use papir_kernels::Backend;
use rand_core::{Rng, UnwrapErr};

use crate::bandwidth::Bandwidth;
use crate::clock::{Laps, StageClock, median};
use crate::measured::{Choice, Measured, Part};
use crate::memory::{self, Resident};
use crate::report::{Report, Stages};
use crate::size::display;
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

/// A prepared database and what preparing it took.
struct Prepared<S: Measured> {
    server: S::Server,
    /// In schemes over encrypted databases.
    owner: Option<OwnerKey>,
    version: Version,
    stages: Vec<(String, f64)>,
    offline: f64,
    resident: Option<Resident>,
}

/// What the server holds for the client of a scheme with keys or tickets.
struct Account<S: Measured> {
    state: ErasedState,
    keys: S::ClientKeys,
    ticket: Option<S::Ticket>,
}

/// What the queries gave, run by run; the warm-up counts for `correct` and memory only.
#[derive(Default)]
struct Tally {
    reads: Bandwidth,
    ticket: Option<f64>,
    ticket_bytes: Option<u64>,
    client_cold: Option<f64>,
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
        // A benchmark is the owner of records that it makes up.
        let owner = params.describe().limits.owner_key.then(|| OwnerKey::generate(&mut rng));
        let params = match &owner {
            Some(key) => params.with_owner_key(key)?,
            None => params,
        };
        let clock = StageClock::new(progress);
        let server = S::Server::setup(params, plan.records, &mut rng, &clock)?;
        let (stages, offline) = clock.stop();
        let resident = Resident::after_setup();
        Ok(Self { server, owner, version: Version::random(&mut rng), stages, offline, resident })
    }

    fn queries(&self, plan: &Plan<'_>, progress: &dyn Progress) -> Result<Tally> {
        let client = self.client()?;
        let mut account = self.register(client.as_ref())?;
        let mut tally = Tally::default();
        let runs = plan.effort.runs + 1;
        // A ticket may take minutes: one query is answered again and again, as a retry is.
        let (queries, answers) =
            if self.server.params().describe().limits.tickets { (1, runs) } else { (runs, 1) };
        for (run, index) in indices(plan.records.shape().records(), queries).into_iter().enumerate() {
            self.query(plan, (client.as_ref(), account.as_mut()), (index, answers), &mut tally)?;
            if run == 0 && queries > 1 {
                tally.forget_times();
            }
            progress.advance(answers as u64);
        }
        Ok(tally)
    }

    fn client(&self) -> Result<Box<dyn ErasedClient>> {
        let scheme = Erased::<S>::allowing_insecure(NotPrivate::acknowledged());
        Ok(scheme.with_owner_key(self.owner.as_ref()).client(&self.public())?)
    }

    /// Keys and state, in schemes that have them.
    fn register(&self, client: &dyn ErasedClient) -> Result<Option<Account<S>>> {
        let Some((state, sealed)) = client.register(&mut UnwrapErr(SysRng))? else {
            return Ok(None);
        };
        let payload = envelope::open_version(&sealed, Kind::Keys, S::ID, self.version)?;
        let keys = S::ClientKeys::decode(self.server.params(), payload)?;
        Ok(Some(Account { state, keys, ticket: None }))
    }

    /// The ticket of the next query on the server, and on the client what it can do ahead.
    fn prepare(
        &self,
        client: &dyn ErasedClient,
        account: &mut Account<S>,
        hold: bool,
        tally: &mut Tally,
    ) -> Result<()> {
        let (start, mut held) = (Instant::now(), None);
        if let Some(number) = client.next_ticket(&account.state)? {
            let ticket = self.server.ticket(&account.keys, number, &NoProgress)?;
            tally.ticket = Some(start.elapsed().as_secs_f64());
            let bytes = ticket.encode(self.server.params());
            tally.ticket_bytes = Some(bytes.len() as u64);
            account.ticket = Some(ticket);
            held = hold.then_some(bytes);
        }
        let start = Instant::now();
        held.map_or(Ok(()), |ticket| client.hold(&mut account.state, &ticket))?;
        client.prepare(&mut account.state, 1, &NoProgress)?;
        tally.client_cold = Some(start.elapsed().as_secs_f64());
        Ok(())
    }

    /// Query, read, answer, extract, compare.
    fn query(
        &self,
        plan: &Plan<'_>,
        (client, mut account): (&dyn ErasedClient, Option<&mut Account<S>>),
        (index, answers): (u64, usize),
        tally: &mut Tally,
    ) -> Result<()> {
        if let Some(account) = &mut account {
            let hold = matches!(plan.choice, Choice::Registered { hold: true, .. });
            self.prepare(client, account, hold, tally)?;
        }
        let start = Instant::now();
        let state = account.as_mut().map(|account| &mut account.state);
        let (secret, query) = client.query(state, &[index], &mut UnwrapErr(SysRng))?;
        tally.query.push(start.elapsed().as_secs_f64());
        let mut answer = Vec::new();
        for run in 0..answers {
            self.read(&mut tally.reads)?;
            answer = self.timed_answer(account.as_deref(), &query, tally)?;
            if run == 0 && answers > 1 {
                tally.forget_answers();
            }
        }
        let start = Instant::now();
        let records = client.extract(secret, &answer);
        tally.extract.push(start.elapsed().as_secs_f64());
        let expected = [read_record(plan.expected, index)?];
        // An answer that does not decode is wrong, too.
        tally.wrong += usize::from(!records.is_ok_and(|records| records == expected));
        (tally.upload, tally.download) = (query.len(), answer.len());
        Ok(())
    }

    fn timed_answer(&self, account: Option<&Account<S>>, query: &[u8], tally: &mut Tally) -> Result<Vec<u8>> {
        let mut resident = self.resident;
        if let Some(resident) = &mut resident {
            resident.before_answer();
        }
        let mut laps = Laps::default();
        let start = Instant::now();
        let answer = self.answer(account, query, &mut laps)?;
        tally.answer.push(start.elapsed().as_secs_f64());
        tally.resident = tally.resident.max(resident.map(|resident| resident.bytes()));
        tally.laps.push(laps.laps().to_vec());
        Ok(answer)
    }

    /// From the query's bytes to the answer's, as the service does.
    fn answer(
        &self,
        account: Option<&Account<S>>,
        query: &[u8],
        laps: &mut Laps,
    ) -> Result<Vec<u8>, CoreError> {
        let params = self.server.params();
        let query = laps.time("parse", || {
            let payload = envelope::open_version(query, Kind::Query, S::ID, self.version)?;
            S::Query::decode(params, payload)
        })?;
        let session = Session {
            keys: account.map(|account| &account.keys),
            ticket: account.and_then(|account| account.ticket.as_ref()),
        };
        let answer = S::answer(&self.server, session, &query, laps)?;
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
pub(crate) fn check_memory(description: &Description) -> Result<()> {
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
    /// Ends the warm-up of answers to one query.
    fn forget_answers(&mut self) {
        self.answer.clear();
        self.laps.clear();
        self.reads = Bandwidth::default();
    }

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
        let Description { sizes, security, failure_log2, shape, limits, .. } =
            self.server.params().describe();
        let milliseconds = |seconds: &Vec<f64>| 1e3 * median(seconds.clone());
        let (read, answer) = (tally.reads.seconds(), median(tally.answer.clone()));
        let query_bytes = tally.upload as u64 - sizes.query_keys;
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
    fn queries_ask_for_different_records_while_there_are_enough() {
        for (records, count) in [(1000, 600), (7, 7), (3, 8)] {
            let chosen = indices(records, count);
            let different: HashSet<&u64> = chosen.iter().collect();
            assert_eq!(different.len(), count.min(records as usize));
            assert!(chosen.len() == count && chosen.iter().all(|&index| index < records));
        }
    }
}
