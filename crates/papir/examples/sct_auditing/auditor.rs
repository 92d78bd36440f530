//! Auditor: a registered client that sends a batch of fixed size in each interval.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use papir::client::core::{ScheduleRunner, TimeSlots};
use papir::client::{Awaited, Connection, Costs, Options};
use papir::{Schedule, Scheduled, system_rng};
use rand_core::Rng;
use tempfile::TempDir;

use crate::certificates::{LeafHash, key};
use crate::{BATCH, Result, timed};

/// An auditing browser: the directory of its client's keys, and certificates to audit.
///
/// It drives its schedule itself, and does not leave that to [`Connection::schedule`]: between two
/// slots it connects to the newest version of the log.
pub(crate) struct Auditor {
    url: String,
    state: TempDir,
    scheduled: Scheduled,
    runner: ScheduleRunner,
    /// Slots of the schedule, in the time since its start.
    slots: TimeSlots,
    start: Instant,
    /// Audits that are not done yet, the oldest first.
    waiting: VecDeque<SubmittedAudit>,
}

/// A certificate to audit, whose lookup waits for a slot.
struct SubmittedAudit {
    hash: LeafHash,
    value: Awaited,
}

/// The auditor's connection to one version of the log. It has done the work that does not depend on
/// the audited certificates.
pub(crate) struct LogConnection {
    connection: Connection,
    /// Time to decrypt the masks.
    pub(crate) masks: Duration,
}

/// The result and the cost of one audit.
pub(crate) struct Audit {
    /// Hashes audited, and the numbers of their entries: `None` if the log does not have the entry.
    pub(crate) audited: Vec<(LeafHash, Option<u64>)>,
    pub(crate) costs: Costs,
    pub(crate) time: Duration,
}

impl Auditor {
    /// Registers a new auditor, with a batch in each interval. Returns the bytes of its keys, too.
    ///
    /// It looks up one random hash: a service prepares tickets for whole batches of clients that have
    /// queried.
    pub(crate) fn register(url: &str, interval: Duration) -> Result<(Self, u64)> {
        let state = TempDir::new()?;
        let mut connection = connect(url, &state)?;
        connection.get_key(key(&dummy()).as_bytes())?;
        let registered = connection.costs().registration_bytes;

        let schedule = Schedule {
            every: interval,
            batch: BATCH,
        };
        let (scheduled, runner) = schedule.start(connection.info(), connection.lookup())?;
        let auditor = Self {
            url: url.to_owned(),
            state,
            slots: runner.slots(Duration::ZERO),
            start: Instant::now(),
            scheduled,
            runner,
            waiting: VecDeque::new(),
        };
        Ok((auditor, registered))
    }

    /// Notes a certificate of a TLS handshake. Its audit is sent with one of the next batches.
    pub(crate) fn see(&mut self, hash: LeafHash) -> Result<()> {
        let value = self.scheduled.submit_key(key(&hash).as_bytes())?;
        self.waiting.push_back(SubmittedAudit { hash, value });
        Ok(())
    }

    /// Number of certificates to audit.
    pub(crate) fn waiting(&self) -> usize {
        self.scheduled.waiting()
    }

    /// Fetches the public part of the newest version, and decrypts the masks of one batch. This is
    /// nearly all of the client's work.
    pub(crate) fn prepare(&self) -> Result<LogConnection> {
        let mut connection = connect(&self.url, &self.state)?;
        let ((), masks) = timed(|| Ok(connection.prepare_ahead(BATCH)?))?;
        Ok(LogConnection { connection, masks })
    }

    /// Sleeps until the next slot, so that query times do not depend on the browsing history.
    pub(crate) fn wait_for_slot(&mut self) {
        let now = self.start.elapsed();
        let slot = self.slots.next(now);
        self.runner.wait_closed(slot.at.saturating_sub(now));
    }

    /// Audits the oldest certificates that are waiting, at most [`BATCH`]. Random keys fill the
    /// batch, so that its length does not depend on their number.
    pub(crate) fn audit(&mut self, prepared: &mut LogConnection) -> Result<Audit> {
        let connection = &mut prepared.connection;
        let records = connection.lookup().describe().shape.records();
        let count = self.waiting().min(BATCH);
        let batch = self.runner.draw(records, &mut system_rng());
        let (values, time) = timed(|| Ok(connection.get_keys(&batch.keys())?))?;
        batch.answer(Ok(values.into_iter().map(Ok).collect()));

        let mut audited = Vec::with_capacity(count);
        for SubmittedAudit { hash, value } in self.waiting.drain(..count) {
            let entry = value.wait()?.as_deref().map(entry_number).transpose()?;
            audited.push((hash, entry));
        }
        Ok(Audit {
            audited,
            costs: prepared.connection.costs(),
            time,
        })
    }
}

fn connect(url: &str, state: &TempDir) -> Result<Connection> {
    let options = Options {
        state: Some(state.path().to_owned()),
        ..Options::default()
    };
    Ok(Connection::open_with(url, &options)?)
}

fn entry_number(value: &[u8]) -> Result<u64> {
    Ok(str::from_utf8(value)?.parse()?)
}

/// Returns a hash that no log has.
fn dummy() -> LeafHash {
    let mut hash = LeafHash::default();
    system_rng().fill_bytes(&mut hash);
    hash
}
