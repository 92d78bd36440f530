//! Notifications of the ticket worker.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Longest sleep without a notification.
const SLEEP: Duration = Duration::from_millis(500);
/// Upper bound on the retry delay advised for a missing ticket, in seconds.
const MAX_ADVICE: u64 = 60;

/// Wakes the worker, and records how long a ticket takes.
#[derive(Default)]
pub(super) struct WorkerNotify {
    notified: Mutex<bool>,
    condition: Condvar,
    last_ticket_ms: AtomicU64,
}

impl WorkerNotify {
    /// Wakes the worker, or keeps it from sleeping next time.
    pub(super) fn notify(&self) {
        *self.notified.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.condition.notify_all();
    }

    /// Waits for a notification, at most [`SLEEP`]. Returns whether there was one.
    pub(super) fn wait(&self) -> bool {
        let notified = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut notified, _) = self
            .condition
            .wait_timeout_while(notified, SLEEP, |notified| !*notified)
            .unwrap_or_else(PoisonError::into_inner);

        // Cleared under the lock: a notification from now on is for the next wait.
        std::mem::take(&mut *notified)
    }

    /// Records the time that the last ticket took.
    pub(super) fn record_ticket(&self, time: Duration) {
        self.last_ticket_ms
            .store(time.as_millis() as u64, Ordering::Relaxed);
    }

    /// Retry delay to advise for a missing ticket, in seconds.
    pub(super) fn retry_after(&self) -> u64 {
        self.last_ticket_ms
            .load(Ordering::Relaxed)
            .div_ceil(1000)
            .clamp(1, MAX_ADVICE)
    }
}
