//! Queue of submitted lookups that wait for a slot.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use super::promise::Promise;
use crate::core::costs::Costs;
use crate::core::owned::OwnedWanted;
use crate::error::{Error, Result};

/// A lookup that waits for a slot.
pub(super) struct SubmittedLookup {
    pub(super) wanted: OwnedWanted,
    pub(super) promise: Promise,
}

/// Submitted lookups of one schedule, the oldest first, until it is closed.
pub(super) struct LookupQueue {
    /// Maximum number of waiting lookups.
    most: usize,
    state: Mutex<QueueState>,
    closed: Condvar,
}

struct QueueState {
    waiting: VecDeque<SubmittedLookup>,
    is_closed: bool,
    /// Wakes the task that drives the schedule when the queue is closed.
    driver: Option<Waker>,
    costs: Costs,
}

impl LookupQueue {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            state: Mutex::new(QueueState {
                waiting: VecDeque::new(),
                is_closed: false,
                driver: None,
                costs: Costs::default(),
            }),
            closed: Condvar::new(),
        }
    }

    /// Adds a lookup. Wakes nobody: the next slot is not earlier for it.
    pub(super) fn submit(&self, lookup: SubmittedLookup) -> Result<()> {
        let mut state = self.state();
        if state.is_closed {
            return Err(Error::ScheduleClosed);
        }
        if state.waiting.len() >= self.most {
            return Err(Error::QueueFull { most: self.most });
        }

        state.waiting.push_back(lookup);
        Ok(())
    }

    /// Takes the oldest lookups, at most `most`.
    pub(super) fn take(&self, most: usize) -> Vec<SubmittedLookup> {
        let mut state = self.state();
        let count = most.min(state.waiting.len());
        state.waiting.drain(..count).collect()
    }

    /// Number of waiting lookups.
    pub(super) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// Closes the queue. Waiting lookups fail, and later ones are refused.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        let driver = state.driver.take();

        // Without the lock: promises wake tasks of the user.
        drop(state);
        drop(waiting);
        self.closed.notify_all();
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// Waits on this thread for a duration, or until the queue is closed. Returns true if it is
    /// closed.
    pub(super) fn wait_closed(&self, duration: Duration) -> bool {
        let waited = self
            .closed
            .wait_timeout_while(self.state(), duration, |state| !state.is_closed);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_closed
    }

    /// Ends once the queue is closed. One task at a time may await it.
    pub(super) async fn closed(&self) {
        poll_fn(|context| {
            let mut state = self.state();
            if state.is_closed {
                return Poll::Ready(());
            }
            state.driver = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    pub(super) fn costs(&self) -> Costs {
        self.state().costs
    }

    pub(super) fn set_costs(&self, costs: Costs) {
        self.state().costs = costs;
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;
    use crate::core::schedule::promise::{Awaited, promise};

    /// Submits the lookup of an index.
    fn submit(queue: &LookupQueue, index: u64) -> Result<Awaited> {
        let (promise, awaited) = promise();
        queue.submit(SubmittedLookup {
            wanted: OwnedWanted::Index(Zeroizing::new(index)),
            promise,
        })?;
        Ok(awaited)
    }

    fn indices(taken: &[SubmittedLookup]) -> Vec<u64> {
        taken
            .iter()
            .map(|lookup| match &lookup.wanted {
                OwnedWanted::Index(index) => **index,
                OwnedWanted::Key(_) => u64::MAX,
            })
            .collect()
    }

    #[test]
    fn the_oldest_lookups_are_taken_first() {
        let queue = LookupQueue::new(5);
        let awaited: Vec<Awaited> = (0..5).map(|index| submit(&queue, index).unwrap()).collect();
        assert_eq!(indices(&queue.take(2)), [0, 1]);
        assert_eq!(indices(&queue.take(2)), [2, 3]);
        assert_eq!(queue.waiting(), 1);
        assert_eq!(indices(&queue.take(2)), [4]);
        assert!(queue.take(2).is_empty());
        drop(awaited);
    }

    #[test]
    fn a_full_queue_refuses_lookups_until_some_are_taken() {
        let queue = LookupQueue::new(2);
        let first = submit(&queue, 0).unwrap();
        let second = submit(&queue, 1).unwrap();

        let error = submit(&queue, 2).err().unwrap();
        assert!(matches!(error, Error::QueueFull { most: 2 }), "{error}");
        assert!(error.is_retryable());

        drop(queue.take(1));
        let third = submit(&queue, 2).unwrap();
        drop((first, second, third));
    }

    #[test]
    fn lookups_that_wait_at_the_close_fail() {
        let queue = LookupQueue::new(2);
        let awaited = submit(&queue, 0).unwrap();
        assert!(!queue.wait_closed(Duration::ZERO));

        queue.close();
        assert!(queue.wait_closed(Duration::MAX));
        assert_eq!(awaited.wait().unwrap_err().code(), "schedule_closed");
        let refused = submit(&queue, 1).err().unwrap();
        assert_eq!(refused.code(), "schedule_closed");
        assert!(queue.take(2).is_empty());
    }
}
