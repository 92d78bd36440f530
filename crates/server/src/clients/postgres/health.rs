//! State of the primary and of the connections to it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::origin::Origin;

/// State of the primary as one service sees it.
///
/// A failure ends the generation of connections that it happened on. The others of that generation
/// lead to the same server, so they are closed instead of used.
#[derive(Default)]
pub(super) struct Health {
    failing: AtomicBool,
    generation: AtomicU64,
    /// The history of the newest connection.
    origin: Mutex<Option<Origin>>,
}

impl Health {
    /// The generation of connections that may be used.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Returns true from a failure on until [`Self::recovered`].
    pub(super) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::SeqCst)
    }

    /// Ends a generation of connections, unless it has ended. Returns whether this call ended it.
    pub(super) fn retire(&self, generation: u64) -> bool {
        let next = generation + 1;
        self.generation
            .compare_exchange(generation, next, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    /// Notes a failure on a connection of a generation. If the generation has ended, the failure
    /// says nothing about the connections of today: a request that waited for a lost primary may
    /// fail after the next primary has taken over.
    pub(super) fn failed(&self, generation: u64) {
        if self.retire(generation) {
            self.failing.store(true, Ordering::SeqCst);
        }
    }

    /// Notes that no connection can be had.
    pub(super) fn unreachable(&self) {
        self.failing.store(true, Ordering::SeqCst);
    }

    /// Notes that a probe has succeeded.
    pub(super) fn recovered(&self) {
        self.failing.store(false, Ordering::SeqCst);
    }

    /// Notes the history that a new connection sees. `generation` is the one at its beginning.
    /// Returns the generation that the connection belongs to.
    pub(super) fn meet(&self, origin: &Origin, generation: u64) -> u64 {
        let mut newest = self.origin.lock().unwrap_or_else(PoisonError::into_inner);
        let is_another = newest.as_ref().is_some_and(|known| known != origin);
        *newest = Some(origin.clone());

        // Another server has taken over. Connections to the one before may still work, and must not
        // be used beside this one.
        if is_another && self.retire(generation) {
            generation + 1
        } else {
            generation
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_failure_on_an_earlier_connection_changes_nothing() {
        let health = Health::default();
        let before = health.generation();
        health.failed(before);
        assert!(health.is_failing());
        health.recovered();

        health.failed(before);
        assert!(!health.is_failing());
        assert_eq!(health.generation(), before + 1);
    }

    #[test]
    fn connections_to_an_earlier_primary_end_when_another_is_met() {
        let health = Health::default();
        let history = |timeline: &str| Origin {
            system: 7,
            timeline: timeline.to_owned(),
        };

        assert_eq!(health.meet(&history("1"), 0), 0);
        assert_eq!(health.meet(&history("1"), 0), 0);
        assert_eq!(health.meet(&history("2"), 0), 1);
        assert_eq!(health.generation(), 1);
        assert!(!health.is_failing());
    }
}
