//! The ticket worker's share of the time while queries are running.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use papir_core::Progress;

use crate::admission::Ongoing;

/// Interval at which the worker checks whether queries are still running.
pub(super) const POLL_QUERIES: Duration = Duration::from_millis(3);
/// While queries are running, the worker waits this many times as long as it works: its share is a
/// tenth, however many queries there are. Otherwise tickets would never be prepared under load, and
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
        Self { queries, stopping, since: Mutex::new(Instant::now()) }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Waits while queries are running, at most [`WAITS`] times the work since the last wait.
    pub(super) fn give_way(&self) {
        // Held while waiting: the other threads of the ticket wait too.
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = WAITS * since.elapsed();
        let begin = Instant::now();
        while self.queries.is_active() && !self.is_stopping() && begin.elapsed() < wait {
            thread::sleep(POLL_QUERIES.min(wait));
        }
        *since = Instant::now();
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
        let (pending, stopping) = (Arc::new(()), AtomicBool::new(false));
        let queries = Ongoing::of(&pending);
        let turns = Turns::new(&queries, &stopping);
        let waited = |work: Duration| {
            thread::sleep(work);
            let begin = Instant::now();
            turns.give_way();
            begin.elapsed()
        };
        let work = Duration::from_millis(20);
        assert!(waited(work) < work, "no query is running");
        let query = Arc::clone(&pending);
        let wait = waited(work);
        assert!(wait >= WAITS * work, "{wait:?}");
        stopping.store(true, Ordering::Relaxed);
        assert!(waited(work) < work);
        drop(query);
    }
}
