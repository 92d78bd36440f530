//! The two ends of a schedule: its user's and its transport's.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use papir_core::{Error as CoreError, Privacy};
use papir_lookup::Lookup;
use papir_protocol::DatabaseInfo;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::batch::{DummyKind, ScheduledBatch};
use super::promise::{Awaited, promise};
use super::queue::{LookupQueue, SubmittedLookup};
use super::slots::TimeSlots;
use crate::core::costs::Costs;
use crate::core::owned::OwnedWanted;
use crate::error::{Error, Result};

/// Maximum number of lookups of one schedule that wait for a slot.
pub const MAX_WAITING: usize = 1000;

/// Length of the longest scheduled key in bytes. A key is hashed when its slot begins, within
/// microseconds for such a key: a longer one would delay its request.
pub const MAX_KEY_BYTES: usize = 4096;

/// Shortest interval of a schedule.
const MIN_EVERY: Duration = Duration::from_millis(1);

/// Times and size of the requests of a schedule.
///
/// In each slot, one request is sent. It has `batch` lookups: those that wait, the oldest first,
/// and dummies. A dummy is a real lookup of a random key or index, and its answer is decoded like
/// any other. The number of requests, their times and their lengths therefore do not depend on what
/// is looked up, or how often.
///
/// Slot n is n intervals after the start. If a request takes longer than an interval, the slots
/// that it misses are dropped. Errors do not end a schedule.
///
/// ```no_run
/// # #[cfg(feature = "blocking")] {
/// use std::time::Duration;
///
/// use papir_client::{Connection, Schedule};
///
/// let connection = Connection::open("http://127.0.0.1:7470", None)?;
/// let lookups = connection.schedule(Schedule {
///     every: Duration::from_secs(60),
///     batch: 4,
/// })?;
/// let value: Option<Vec<u8>> = lookups.submit_key(b"some key")?.wait()?;
/// # }
/// # Ok::<(), papir_client::Error>(())
/// ```
///
/// In schemes with tickets, dummies use tickets like other lookups, and a batch for which the
/// service has not prepared enough tickets is sent in several requests. A new version of the
/// database and a lost connection also lead to further requests. None of these depends on what is
/// looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The interval between two slots, at least a millisecond.
    pub every: Duration,
    /// The number of lookups in each request, at least 1.
    pub batch: usize,
}

impl Schedule {
    /// Starts a schedule of lookups in a database. Returns the user's end, and the end for the
    /// transport that sends the requests. The transport calls [`Session::begin_schedule`].
    ///
    /// [`Session::begin_schedule`]: crate::core::Session::begin_schedule
    ///
    /// # Errors
    /// [`Error::Schedule`] for an interval of less than a millisecond, and for a batch that is
    /// empty or does not fit into one request; [`CoreError::NotPrivate`] if a scheme of the
    /// database is not private, even if the options allow such schemes.
    pub fn start(
        self,
        info: &DatabaseInfo,
        lookup: &Lookup,
    ) -> Result<(Scheduled, ScheduleRunner)> {
        check_private(lookup)?;
        self.check(info, lookup)?;

        Ok(self.begin(match lookup.keyword() {
            Some(_) => DummyKind::Key,
            None => DummyKind::Index,
        }))
    }

    /// Starts a schedule of lookups by index, without a database.
    #[cfg(all(test, any(feature = "blocking", feature = "aio")))]
    pub(crate) fn start_without_database(self) -> (Scheduled, ScheduleRunner) {
        self.begin(DummyKind::Index)
    }

    fn begin(self, kind: DummyKind) -> (Scheduled, ScheduleRunner) {
        let queue = Arc::new(LookupQueue::new(MAX_WAITING));
        let runner = ScheduleRunner {
            queue: Arc::clone(&queue),
            schedule: self,
            kind,
        };
        (Scheduled { queue, kind }, runner)
    }

    fn check(&self, info: &DatabaseInfo, lookup: &Lookup) -> Result<()> {
        if self.every < MIN_EVERY {
            let reason = format!("an interval of {:?}: expected at least 1 ms", self.every);
            return Err(Error::Schedule { reason });
        }

        let most = lookup
            .lookups_in(info.max_batch)
            .min(lookup.lookups_in_message())
            .max(1);
        if !(1..=most).contains(&self.batch) {
            let batch = self.batch;
            let reason = format!(
                "a batch of {batch} lookups: expected 1 to {most}, the most in one request"
            );
            return Err(Error::Schedule { reason });
        }
        Ok(())
    }
}

/// Refuses a database unless its scheme, and the scheme of its delta, hide the index.
fn check_private(lookup: &Lookup) -> Result<()> {
    for described in iter::once(lookup.describe()).chain(lookup.describe_delta()) {
        if let Privacy::NotPrivate(reason) = described.privacy {
            let scheme = described.scheme;
            return Err(CoreError::NotPrivate { scheme, reason }.into());
        }
    }
    Ok(())
}

/// A running schedule, for its user. Threads may share it.
///
/// Dropping it closes it: lookups that wait fail, and no request is sent any more. Those of a
/// request that is under way still get their values.
pub struct Scheduled {
    queue: Arc<LookupQueue>,
    kind: DummyKind,
}

impl Scheduled {
    /// Submits the lookup of a key, for the next slot that has a free place. Sends nothing.
    ///
    /// # Errors
    /// [`Error::QueueFull`] if [`MAX_WAITING`] lookups wait, [`Error::ScheduleClosed`],
    /// [`papir_lookup::Error::NotKeyed`] if records are looked up by index, and
    /// [`CoreError::OutOfBounds`] for a key of more than [`MAX_KEY_BYTES`].
    pub fn submit_key(&self, key: &[u8]) -> Result<Awaited> {
        // Refused here: a request without queries would be missing in its slot.
        if self.kind != DummyKind::Key {
            return Err(papir_lookup::Error::NotKeyed.into());
        }
        if key.len() > MAX_KEY_BYTES {
            let expected = format!("at most {MAX_KEY_BYTES}");
            let what = "the bytes of a scheduled key";
            return Err(CoreError::out_of_bounds(what, key.len() as u64, expected).into());
        }
        self.submit(OwnedWanted::Key(Zeroizing::new(key.to_vec())))
    }

    /// Submits the lookup of the record at an index, for the next slot that has a free place. Sends
    /// nothing. An index beyond the last record fails when its request is answered, and fails no
    /// other lookup.
    ///
    /// # Errors
    /// [`Error::QueueFull`] if [`MAX_WAITING`] lookups wait, [`Error::ScheduleClosed`], and
    /// [`papir_lookup::Error::Keyed`] if records are looked up by key.
    pub fn submit_index(&self, index: u64) -> Result<Awaited> {
        if self.kind != DummyKind::Index {
            return Err(papir_lookup::Error::Keyed.into());
        }
        self.submit(OwnedWanted::Index(Zeroizing::new(index)))
    }

    fn submit(&self, wanted: OwnedWanted) -> Result<Awaited> {
        let (promise, awaited) = promise();
        self.queue.submit(SubmittedLookup { wanted, promise })?;
        Ok(awaited)
    }

    /// Number of lookups that wait for a slot.
    pub fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    /// The costs of the connection after the newest request.
    pub fn costs(&self) -> Costs {
        self.queue.costs()
    }

    /// Closes the schedule, as dropping it does. Later lookups are refused.
    pub fn close(&self) {
        self.queue.close();
    }
}

impl Drop for Scheduled {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// A running schedule, for the transport that sends its requests.
///
/// The transport waits for each slot with [`ScheduleRunner::wait_closed`] or
/// [`ScheduleRunner::closed`], sends the lookups of [`ScheduleRunner::draw`] in one call of
/// [`Session::get_each`], and passes the outcome to [`ScheduledBatch::answer`]. It goes on after an
/// error. Dropping it closes the schedule.
///
/// [`Session::get_each`]: crate::core::Session::get_each
pub struct ScheduleRunner {
    queue: Arc<LookupQueue>,
    schedule: Schedule,
    kind: DummyKind,
}

impl ScheduleRunner {
    /// Number of lookups in each request.
    pub fn batch(&self) -> usize {
        self.schedule.batch
    }

    /// The slots of the schedule, on a monotonic clock on which it is `start` now.
    pub fn slots(&self, start: Duration) -> TimeSlots {
        TimeSlots::new(start, self.schedule.every)
    }

    /// Takes the oldest waiting lookups for a request that is sent now, and fills it with dummies.
    /// `records` is the current number of records of the database.
    pub fn draw(&self, records: u64, rng: &mut dyn CryptoRng) -> ScheduledBatch {
        let submitted = self.queue.take(self.schedule.batch);
        ScheduledBatch::new(submitted, self.schedule.batch, self.kind, records, rng)
    }

    /// Shows the user these costs of the connection.
    pub fn set_costs(&self, costs: Costs) {
        self.queue.set_costs(costs);
    }

    /// Waits on this thread for a duration, or until the schedule is closed. Returns true if it is
    /// closed.
    pub fn wait_closed(&self, duration: Duration) -> bool {
        self.queue.wait_closed(duration)
    }

    /// Ends once the schedule is closed. One task at a time may await it.
    pub async fn closed(&self) {
        self.queue.closed().await;
    }
}

impl Drop for ScheduleRunner {
    fn drop(&mut self) {
        self.queue.close();
    }
}
