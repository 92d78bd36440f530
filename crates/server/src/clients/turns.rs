//! The ticket worker's share of time while queries run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use papir_core::Progress;

use crate::admission::Ongoing;

/// Interval at which the worker checks whether queries are still running.
pub(super) const POLL_QUERIES: Duration = Duration::from_millis(3);
/// Waiting time of the worker per time of work, while queries are running: its share is a tenth,
/// however many queries there are. Without a share, tickets would never be prepared under load, and
/// the clients that wait for them never served.
const WAITS: u32 = 9;

/// Lets queries go first, except in the worker's share of the time.
pub(super) struct Turns<'a> {
    queries: &'a Ongoing,
    stopping: &'a AtomicBool,
    /// Start of the current turn of work.
    since: Mutex<Instant>,
}

impl<'a> Turns<'a> {
    pub(super) fn new(queries: &'a Ongoing, stopping: &'a AtomicBool) -> Self {
        Self {
            queries,
            stopping,
            since: Mutex::new(Instant::now()),
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Waits while queries are running, at most [`WAITS`] times the work since the last wait.
    /// Returns the time that it waited.
    pub(super) fn give_way(&self) -> Duration {
        // Held while waiting: the other threads of the ticket wait too.
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let most = WAITS * since.elapsed();

        let begin = Instant::now();
        let mut waited = Duration::ZERO;
        while self.queries.is_active() && !self.is_stopping() && waited < most {
            thread::sleep(POLL_QUERIES.min(most));
            waited = begin.elapsed();
        }

        *since = Instant::now();
        waited
    }
}

impl Progress for Turns<'_> {
    fn stage(&self, _name: &str, _total: u64) {
        self.give_way();
    }

    fn advance(&self, _steps: u64) {
        self.give_way();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_worker_has_a_tenth_of_the_time_while_queries_run() {
        let pending = Arc::new(());
        let stopping = AtomicBool::new(false);
        let queries = Ongoing::of(&pending);
        let turns = Turns::new(&queries, &stopping);
        let work = Duration::from_millis(20);
        let waited_after_work = || {
            thread::sleep(work);
            turns.give_way()
        };

        assert_eq!(waited_after_work(), Duration::ZERO, "no query is running");

        let query = Arc::clone(&pending);
        let waited = waited_after_work();
        assert!(waited >= WAITS * work, "{waited:?}");

        stopping.store(true, Ordering::Relaxed);
        assert_eq!(waited_after_work(), Duration::ZERO, "the service stops");
        drop(query);
    }
}
