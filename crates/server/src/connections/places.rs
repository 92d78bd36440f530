//! How many connections may be open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::activity::Activity;

/// The open connections, at most a stated number. The one that has waited longest without a request
/// makes room for a new one, else the one that has been sending one answer longest, if that is long.
pub(crate) struct Places {
    open: Arc<Mutex<Open>>,
    most: usize,
    /// How long one may send an answer before it has to make room.
    sending: Duration,
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
    pub(crate) fn new(most: usize, sending: Duration) -> Self {
        Self { open: Arc::default(), most: most.max(1), sending }
    }

    /// A place; `None` when all others have requests running, or answers that are sent in their time.
    pub(crate) fn take(&self, activity: &Arc<Activity>) -> Option<Place> {
        let mut open = lock(&self.open);
        if open.connections.len() >= self.most && !open.free_one(self.sending) {
            return None;
        }
        let number = open.next;
        open.next += 1;
        open.connections.insert(number, Arc::clone(activity));
        Some(Place { open: Arc::clone(&self.open), number })
    }

    /// Ends the connection that can best be spared, if there is one.
    pub(crate) fn free_one(&self) -> bool {
        lock(&self.open).free_one(self.sending)
    }
}

impl Open {
    fn free_one(&mut self, sending: Duration) -> bool {
        let idle = self.longest(Activity::idle_since);
        let Some(longest) = idle.or_else(|| self.longest(|activity| activity.sending_since(sending))) else {
            return false;
        };
        if let Some(activity) = self.connections.remove(&longest) {
            activity.evict();
        }
        true
    }
}

impl Open {
    /// The connection of which something has been so longest.
    fn longest(&self, since: impl Fn(&Activity) -> Option<u64>) -> Option<u64> {
        let all = self.connections.iter().filter_map(|(number, activity)| Some((since(activity)?, *number)));
        all.min().map(|(_, number)| number)
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
    use axum::http::Version;

    use super::*;

    #[test]
    fn the_longest_idle_makes_room_and_the_busy_stay() {
        let places = Places::new(2, Duration::from_secs(600));
        let (first, second, third) = (Activity::new(), Activity::new(), Activity::new());
        let kept = places.take(&first).unwrap();
        let busy = first.begin(Version::HTTP_11);
        let _second = places.take(&second).unwrap();
        let _third = places.take(&third).unwrap();
        assert_eq!(lock(&places.open).connections.len(), 2);
        let also_busy = third.begin(Version::HTTP_11);
        assert!(places.take(&Activity::new()).is_none());
        drop((busy, also_busy));
        drop(kept);
        assert!(places.take(&Activity::new()).is_some());
        assert_eq!(lock(&places.open).connections.len(), 1);
    }

    #[test]
    fn an_answer_that_is_sent_for_too_long_makes_room() {
        for (patience, room) in [(Duration::ZERO, true), (Duration::from_secs(600), false)] {
            let places = Places::new(1, patience);
            let slow = Activity::new();
            let _place = places.take(&slow).unwrap();
            let mut request = slow.begin(Version::HTTP_2);
            assert!(places.take(&Activity::new()).is_none(), "its answer is being made");
            request.send();
            std::thread::sleep(Duration::from_millis(5));
            request.moved();
            assert_eq!(places.take(&Activity::new()).is_some(), room);
        }
    }
}
