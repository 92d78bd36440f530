//! A prepared database, and its queries.

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use getrandom::SysRng;
use papir_core::erased::{
    ErasedClient, ErasedKeys, ErasedScheme, ErasedServer, ErasedSession, ErasedState,
};
use papir_core::sections::SectionSink;
use papir_core::{
    Candidate, Description, Error as CoreError, NoProgress, OwnerKey, Progress, read_record,
};
use rand_core::{Rng, UnwrapErr};

use crate::Result;
use crate::bandwidth::{Bandwidth, Seconds};
use crate::clock::{StageClock, median};
use crate::effort::MeasurementPlan;
use crate::memory::{Resident, check_memory};
use crate::report::Stages;
use crate::schemes::candidate;

/// A prepared database, and the costs of its setup.
pub(crate) struct PreparedDatabase {
    pub(crate) scheme: Box<dyn ErasedScheme>,
    pub(crate) server: Box<dyn ErasedServer>,
    pub(crate) stages: Vec<(String, f64)>,
    pub(crate) offline: f64,
    pub(crate) resident: Option<Resident>,
}

/// State, keys and ticket of a registered client.
pub(crate) struct ClientRegistration {
    pub(crate) state: ErasedState,
    keys: ErasedKeys,
    ticket: Option<Vec<u8>>,
}

impl ClientRegistration {
    pub(crate) fn session(&self) -> ErasedSession<'_> {
        ErasedSession {
            keys: Some(&self.keys),
            ticket: self.ticket.as_deref(),
        }
    }
}

/// Measurements of the queries, one for each run. The warm-up counts only for correctness and
/// memory.
#[derive(Default)]
pub(crate) struct QueryTally {
    pub(crate) reads: Bandwidth,
    pub(crate) ticket: Option<f64>,
    pub(crate) ticket_bytes: Option<u64>,
    /// Bytes of the key that was sent ahead, and of its answer. It is `None` if no key was sent
    /// ahead.
    pub(crate) ahead_bytes: Option<u64>,
    /// Seconds of the server's answer to the key that was sent ahead.
    pub(crate) ahead: Option<f64>,
    pub(crate) client_cold: Option<f64>,
    pub(crate) query: Vec<f64>,
    pub(crate) answer: Vec<f64>,
    pub(crate) extract: Vec<f64>,
    pub(crate) laps: Vec<Vec<(String, f64)>>,
    pub(crate) upload: usize,
    pub(crate) download: usize,
    pub(crate) resident: Option<u64>,
    pub(crate) wrong: usize,
}

impl PreparedDatabase {
    pub(crate) fn setup(
        scheme: &dyn ErasedScheme,
        plan: &MeasurementPlan<'_>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let shape = plan.records.shape();
        let mut rng = UnwrapErr(SysRng);

        // The benchmark generates the records, so it is their owner and creates the owner's key.
        let owned = candidate(scheme, shape, plan.choice)?
            .description
            .limits
            .owner_key;
        let owner = owned.then(|| OwnerKey::generate(&mut rng));
        let scheme = scheme.with_owner_key(owner.as_ref());

        let Candidate {
            description,
            parameters,
            ..
        } = candidate(&*scheme, shape, plan.choice)?;
        check_memory(&description)?;

        // The choice of parameters is no part of the setup: the clock starts after it.
        let clock = StageClock::new(progress);
        let server = scheme.setup_candidate(&parameters, plan.records, &mut rng, &clock)?;
        let (stages, offline) = clock.stop();
        // Before a client exists, whose copy of the hint is not the server's memory.
        let resident = Resident::after_setup();

        Ok(Self {
            scheme,
            server,
            stages,
            offline,
            resident,
        })
    }

    pub(crate) fn queries(
        &self,
        plan: &MeasurementPlan<'_>,
        progress: &dyn Progress,
    ) -> Result<QueryTally> {
        let client = self.scheme.client(&self.server.public())?;
        let mut registration = self.register(client.as_ref())?;
        let mut tally = QueryTally::default();

        let runs = plan.effort.runs + 1;
        // A ticket may take minutes, so one query is answered repeatedly, as a retry would be.
        let (queries, answers) = if self.server.describe().limits.tickets {
            (1, runs)
        } else {
            (runs, 1)
        };

        for (run, index) in indices(plan.records.shape().records(), queries)
            .into_iter()
            .enumerate()
        {
            self.query(
                plan,
                client.as_ref(),
                registration.as_mut(),
                index,
                answers,
                &mut tally,
            )?;
            if run == 0 && queries > 1 {
                tally.discard_times();
            }
            progress.advance(answers as u64);
        }

        Ok(tally)
    }

    /// Registers a client. Returns `None` in schemes without client keys.
    pub(crate) fn register(&self, client: &dyn ErasedClient) -> Result<Option<ClientRegistration>> {
        let Some(registered) = client.registered() else {
            return Ok(None);
        };

        let (state, keys) = registered.register(&mut UnwrapErr(SysRng))?;
        Ok(Some(ClientRegistration {
            state,
            keys: self.server.require_registered()?.accept_keys(&keys)?,
            ticket: None,
        }))
    }

    /// Prepares the next query's ticket on the server, and the client's precomputation. With
    /// `hold`, sends the next query's key ahead, so that the query itself needs no ticket.
    pub(crate) fn prepare(
        &self,
        client: &dyn ErasedClient,
        registration: &mut ClientRegistration,
        hold: bool,
        tally: &mut QueryTally,
    ) -> Result<()> {
        let client = client.require_registered()?;
        let server = self.server.require_registered()?;

        let start = Instant::now();
        if let Some(number) = client.numbers(&registration.state)?.ticket {
            let ticket = server.ticket(&registration.keys, number, None, &NoProgress)?;
            tally.ticket = Some(start.elapsed().as_secs_f64());
            tally.ticket_bytes = Some(ticket.len() as u64);
            registration.ticket = Some(ticket);
        }

        let start = Instant::now();
        client.prepare(&mut registration.state, 1, &NoProgress)?;

        let mut server_seconds = 0.0;
        if let (true, Some(number)) = (hold, client.numbers(&registration.state)?.ticket) {
            let key = client.send_ahead(&mut registration.state, &mut UnwrapErr(SysRng))?;

            let arrival = Instant::now();
            let answer = self.server.answer(registration.session(), &key)?;
            server_seconds = arrival.elapsed().as_secs_f64();

            client.hold(&mut registration.state, number, &answer)?;
            registration.ticket = None;
            tally.ahead_bytes = Some((key.len() + answer.len()) as u64);
            tally.ahead = Some(server_seconds);
        }

        // The server's part of it is no work of the client.
        tally.client_cold = Some(start.elapsed().as_secs_f64() - server_seconds);
        Ok(())
    }

    /// Makes one run: query, read, answer, extract, compare.
    fn query(
        &self,
        plan: &MeasurementPlan<'_>,
        client: &dyn ErasedClient,
        mut registration: Option<&mut ClientRegistration>,
        index: u64,
        answers: usize,
        tally: &mut QueryTally,
    ) -> Result<()> {
        if let Some(registration) = &mut registration {
            self.prepare(client, registration, plan.holds(), tally)?;
        }

        let start = Instant::now();
        let state = registration
            .as_mut()
            .map(|registration| &mut registration.state);
        let (secret, query) = client.query(state, &[index], &mut UnwrapErr(SysRng))?;
        tally.query.push(start.elapsed().as_secs_f64());

        let mut answer = Vec::new();
        for run in 0..answers {
            // Just before the answer, so that both times are taken under the same load.
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
        tally.upload = query.len();
        tally.download = answer.len();
        Ok(())
    }

    /// Times [`ErasedServer::answer_many`] with one query, which is the call that the server
    /// program makes.
    fn answer(
        &self,
        registration: Option<&ClientRegistration>,
        query: &[u8],
        tally: &mut QueryTally,
    ) -> Result<Vec<u8>> {
        // A copy: the amount after setup is the same for every answer.
        let mut resident = self.resident;
        if let Some(resident) = &mut resident {
            resident.before_answer();
        }

        let session = registration.map_or_else(ErasedSession::default, ClientRegistration::session);
        let clock = StageClock::new(&NoProgress);
        let answer = self.server.answer_many(&[(session, query)], &clock).pop();
        let (laps, seconds) = clock.stop();

        let missing = CoreError::Length {
            what: "a batch of answers",
            found: 0,
            expected: 1,
        };
        let answer = answer.unwrap_or(Err(missing))?;

        tally.answer.push(seconds);
        tally.resident = tally
            .resident
            .max(resident.map(|resident| resident.bytes()));
        tally.laps.push(summed(laps));

        Ok(answer)
    }

    /// Reads the encoded database in place with every reader.
    fn read(&self, reads: &mut Bandwidth) -> Result<(), CoreError> {
        let Description { scheme, sizes, .. } = self.server.describe();
        let database = sizes.database;

        // The first pass only adds up lengths, to find the sections that hold the database.
        let mut totals = Totals::default();
        self.server.save(&mut totals)?;
        let Some(section) = totals.sections_of(database) else {
            let reason = format!("no sections of {database} bytes together hold the database");
            return Err(CoreError::Parameters { scheme, reason });
        };

        let mut sink = ReadingSink {
            section,
            left: database,
            seconds: Seconds::default(),
        };
        self.server.save(&mut sink)?;
        reads.push(sink.seconds);
        Ok(())
    }
}

/// Adds up stages of the same name, in order of first occurrence.
pub(crate) fn summed(stages: Vec<(String, f64)>) -> Vec<(String, f64)> {
    let mut sums: Vec<(String, f64)> = Vec::new();
    for (name, seconds) in stages {
        match sums.iter_mut().find(|sum| sum.0 == name) {
            Some(sum) => sum.1 += seconds,
            None => sums.push((name, seconds)),
        }
    }
    sums
}

/// Returns the median time of each stage over the runs, in milliseconds.
pub(crate) fn medians(laps: &[Vec<(String, f64)>]) -> Stages {
    let first = laps.first().map(Vec::as_slice).unwrap_or_default();
    let mut stages = Vec::with_capacity(first.len());
    for (i, (name, _)) in first.iter().enumerate() {
        let seconds = laps
            .iter()
            .filter_map(|laps| laps.get(i))
            .map(|lap| lap.1)
            .collect();
        stages.push((name.clone(), 1e3 * median(seconds)));
    }
    Stages(stages)
}

/// Total bytes of sections for each length of a section. A batched scheme has a section for each
/// group.
#[derive(Default)]
struct Totals(BTreeMap<u64, u64>);

impl Totals {
    /// Returns the length of the sections that hold a database of `database` bytes, alone or
    /// together. Of several lengths, it is the longest. Returns `None` if no sections hold it.
    fn sections_of(&self, database: u64) -> Option<u64> {
        self.0
            .iter()
            .rev()
            .filter(|(length, _)| **length > 0)
            .find(|(length, total)| **total >= database && database.is_multiple_of(**length))
            .map(|(length, _)| *length)
    }
}

impl SectionSink for Totals {
    fn put(&mut self, _name: &str, parts: &[&[u8]]) -> Result<(), CoreError> {
        let length = length(parts);
        *self.0.entry(length).or_default() += length;
        Ok(())
    }
}

/// A sink that reads sections of one length and stores nothing. Material may happen to have the
/// length of the database's sections, and takes the same time to read. So the sink stops after the
/// number of bytes of the database.
struct ReadingSink {
    section: u64,
    left: u64,
    seconds: Seconds,
}

impl SectionSink for ReadingSink {
    fn put(&mut self, _name: &str, parts: &[&[u8]]) -> Result<(), CoreError> {
        if length(parts) == self.section && self.left > 0 {
            self.left -= self.section;
            self.seconds.add(parts);
        }
        Ok(())
    }
}

/// Returns the bytes of a section.
fn length(parts: &[&[u8]]) -> u64 {
    parts.iter().map(|part| part.len() as u64).sum()
}

/// Returns `count` random indices, distinct if there are enough records.
pub(crate) fn indices(records: u64, count: usize) -> Vec<u64> {
    let mut rng = UnwrapErr(SysRng);
    let mut seen = HashSet::new();
    let mut chosen = Vec::with_capacity(count);

    while chosen.len() < count {
        let index = rng.next_u64() % records;
        // Repeated indices are taken only when every record was chosen once.
        if seen.insert(index) || seen.len() as u64 == records {
            chosen.push(index);
        }
    }
    chosen
}

impl QueryTally {
    /// Discards the warm-up answer to a query that is answered repeatedly.
    fn discard_answers(&mut self) {
        self.answer.clear();
        self.laps.clear();
        self.reads = Bandwidth::default();
    }

    /// Discards the times of the warm-up.
    fn discard_times(&mut self) {
        let Self {
            upload,
            download,
            resident,
            wrong,
            ..
        } = *self;
        *self = Self {
            upload,
            download,
            resident,
            wrong,
            ..Self::default()
        };
    }

    /// Returns the median times of an answer's stages, in milliseconds.
    pub(crate) fn stages(&self) -> Stages {
        medians(&self.laps)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn stages_of_one_name_add_up() {
        let stages =
            [("a", 1.0), ("b", 2.0), ("a", 4.0)].map(|(name, seconds)| (name.to_owned(), seconds));
        assert_eq!(
            summed(stages.to_vec()),
            [("a".to_owned(), 5.0), ("b".to_owned(), 2.0)]
        );
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

    #[test]
    fn a_database_in_several_sections_is_found_and_read_whole() {
        let mut totals = Totals::default();
        let put = |sink: &mut dyn SectionSink| {
            for (length, parts) in [(32, 1), (4096, 2), (100, 1), (32, 1), (4096, 2), (4096, 2)] {
                let part = vec![1; length / parts];
                sink.put("section", &vec![&part[..]; parts]).unwrap();
            }
        };

        put(&mut totals);
        assert_eq!(totals.sections_of(3 * 4096), Some(4096));
        assert_eq!(
            (totals.sections_of(32), totals.sections_of(50)),
            (Some(32), None)
        );
        assert_eq!(totals.sections_of(4 * 4096), None, "there are three");

        for (section, database) in [(4096, 3 * 4096), (4096, 4096), (32, 32)] {
            let mut sink = ReadingSink {
                section,
                left: database,
                seconds: Seconds::default(),
            };
            put(&mut sink);
            assert_eq!(sink.left, 0);
        }
    }
}
