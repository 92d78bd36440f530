//! How many connections may be open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::activity::Activity;

/// The open connections, at most a stated number: the one that has waited longest without a request
/// makes room for a new one.
pub(crate) struct Places {
    open: Arc<Mutex<Open>>,
    most: usize,
}

#[derive(Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, Arc<Activity>>,
}

/// A place, given back when dropped.
pub(crate) struct Place {
    open: Arc<Mutex<Open>>,
    number: u64,
}

impl Places {
    pub(crate) fn new(most: usize) -> Self {
        Self { open: Arc::default(), most: most.max(1) }
    }

    /// A place; `None` when all others have requests running.
    pub(crate) fn take(&self, activity: &Arc<Activity>) -> Option<Place> {
        let mut open = lock(&self.open);
        if open.connections.len() >= self.most && !open.free_one() {
            return None;
        }
        let number = open.next;
        open.next += 1;
        open.connections.insert(number, Arc::clone(activity));
        Some(Place { open: Arc::clone(&self.open), number })
    }

    /// Ends the connection that has waited longest without a request, if there is one.
    pub(crate) fn free_one(&self) -> bool {
        lock(&self.open).free_one()
    }
}

impl Open {
    fn free_one(&mut self) -> bool {
        let idle =
            self.connections.iter().filter_map(|(number, activity)| Some((activity.idle_since()?, *number)));
        let Some((_, longest)) = idle.min() else {
            return false;
        };
        if let Some(activity) = self.connections.remove(&longest) {
            activity.evict();
        }
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.open).connections.remove(&self.number);
    }
}

fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_idle_makes_room_and_the_busy_stay() {
        let places = Places::new(2);
        let (first, second, third) = (Activity::new(), Activity::new(), Activity::new());
        let kept = places.take(&first).unwrap();
        let busy = first.begin();
        let _second = places.take(&second).unwrap();
        let _third = places.take(&third).unwrap();
        assert_eq!(lock(&places.open).connections.len(), 2);
        let also_busy = third.begin();
        assert!(places.take(&Activity::new()).is_none());
        drop((busy, also_busy));
        drop(kept);
        assert!(places.take(&Activity::new()).is_some());
        assert_eq!(lock(&places.open).connections.len(), 1);
    }
}
