//! Loads of one database that wait or run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The loads of one database that wait or run. A load that finds another one pending may leave its
/// work to that one, which then loads the database once more: it may have read the files before
/// they changed.
#[derive(Default)]
pub(super) struct PendingLoads(Mutex<LoadCounts>);

#[derive(Default)]
struct LoadCounts {
    /// Number of loads that wait or run.
    pending: usize,
    /// Set until the first load begins. It counts from the start, so that nothing else takes the
    /// database for one that is loaded.
    is_unread: bool,
    /// Set if a load left its work to a pending one.
    again: bool,
}

/// A load that counts as pending until it ends or is dropped.
pub(super) struct PendingLoad<'a> {
    loads: &'a PendingLoads,
    is_counted: AtomicBool,
}

impl PendingLoads {
    /// The loads of a database that is not read yet: the first one is pending.
    pub(super) fn unread() -> Self {
        Self(Mutex::new(LoadCounts {
            pending: 1,
            is_unread: true,
            again: false,
        }))
    }

    /// Returns true while a load is pending.
    pub(super) fn are_any(&self) -> bool {
        self.counts().pending > 0
    }

    /// Begins a load beside those that are pending.
    pub(super) fn begin(&self) -> PendingLoad<'_> {
        let mut counts = self.counts();
        if counts.is_unread {
            counts.is_unread = false;
        } else {
            counts.pending += 1;
        }
        drop(counts);
        self.counted()
    }

    /// Begins a load, or leaves its work to a pending one and returns `None`.
    pub(super) fn begin_if_idle(&self) -> Option<PendingLoad<'_>> {
        let mut counts = self.counts();
        if counts.pending > 0 {
            counts.again = true;
            return None;
        }
        counts.pending = 1;
        drop(counts);
        Some(self.counted())
    }

    fn counted(&self) -> PendingLoad<'_> {
        PendingLoad {
            loads: self,
            is_counted: AtomicBool::new(true),
        }
    }

    fn counts(&self) -> MutexGuard<'_, LoadCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingLoad<'_> {
    /// Ends the load. Returns false if another load has left its work to this one, which goes on.
    pub(super) fn is_over(&self) -> bool {
        // One lock for both: a load that comes in between would find this one pending, and lost.
        let mut counts = self.loads.counts();
        if std::mem::take(&mut counts.again) {
            return false;
        }
        self.uncount(&mut counts);
        true
    }

    fn uncount(&self, counts: &mut LoadCounts) {
        if self.is_counted.swap(false, Ordering::Relaxed) {
            counts.pending -= 1;
        }
    }
}

impl Drop for PendingLoad<'_> {
    fn drop(&mut self) {
        // Also after a panic: later loads would wait for this one for ever.
        self.uncount(&mut self.loads.counts());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_finds_another_one_is_done_after_it() {
        let loads = PendingLoads::default();
        assert!(!loads.are_any());
        let running = loads.begin_if_idle().unwrap();
        assert!(loads.begin_if_idle().is_none());
        assert!(loads.begin_if_idle().is_none());

        // Once, for both of them.
        assert!(!running.is_over());
        assert!(loads.are_any());
        assert!(running.is_over());
        assert!(!loads.are_any());

        drop(running);
        assert!(loads.begin_if_idle().is_some());
    }

    #[test]
    fn a_database_is_pending_until_its_first_load_ends() {
        let loads = PendingLoads::unread();
        assert!(loads.are_any());
        let first = loads.begin();
        let second = loads.begin();
        drop(first);
        assert!(loads.are_any());

        assert!(second.is_over());
        assert!(!loads.are_any());
    }
}
