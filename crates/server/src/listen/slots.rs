//! Limit on open connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::activity::Activity;

/// The open connections, up to a limit.
///
/// At the limit, a new connection replaces the one that has been idle longest or, if none is idle,
/// the one that has been sending a response longest beyond a time limit.
pub(crate) struct ConnectionSlots {
    open: Arc<Mutex<Open>>,
    capacity: usize,
    /// Time after which a connection that sends a response can be replaced.
    sending: Duration,
}

#[derive(Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, Arc<Activity>>,
}

/// The slot of one connection. Released when dropped.
pub(crate) struct Slot {
    open: Arc<Mutex<Open>>,
    number: u64,
}

impl ConnectionSlots {
    pub(crate) fn new(capacity: usize, sending: Duration) -> Self {
        Self { open: Arc::default(), capacity: capacity.max(1), sending }
    }

    /// Takes a slot; `None` if all connections are busy with requests or timely responses.
    pub(crate) fn take(&self, activity: &Arc<Activity>) -> Option<Slot> {
        let mut open = lock(&self.open);
        if open.connections.len() >= self.capacity && !open.evict_one(self.sending) {
            return None;
        }
        let number = open.next;
        open.next += 1;
        open.connections.insert(number, Arc::clone(activity));
        Some(Slot { open: Arc::clone(&self.open), number })
    }

    /// Closes the most dispensable connection. Returns whether there was one.
    pub(crate) fn evict_one(&self) -> bool {
        lock(&self.open).evict_one(self.sending)
    }
}

impl Open {
    fn evict_one(&mut self, sending: Duration) -> bool {
        let idle = self.oldest(Activity::idle_since);
        let Some(oldest) = idle.or_else(|| self.oldest(|activity| activity.sending_since(sending))) else {
            return false;
        };
        if let Some(activity) = self.connections.remove(&oldest) {
            activity.evict();
        }
        true
    }

    /// The connection with the smallest time according to `since`.
    fn oldest(&self, since: impl Fn(&Activity) -> Option<u64>) -> Option<u64> {
        let all = self.connections.iter().filter_map(|(number, activity)| Some((since(activity)?, *number)));
        all.min().map(|(_, number)| number)
    }
}

impl Drop for Slot {
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
    use super::super::activity::Exchange;
    use super::*;

    #[test]
    fn the_longest_idle_connection_is_replaced_and_busy_ones_stay() {
        let slots = ConnectionSlots::new(2, Duration::from_secs(600));
        let (first, second, third) = (Activity::new(), Activity::new(), Activity::new());
        let kept = slots.take(&first).unwrap();
        let busy = first.begin(Exchange::Serial);
        let _second = slots.take(&second).unwrap();
        let _third = slots.take(&third).unwrap();
        assert_eq!(lock(&slots.open).connections.len(), 2);
        let also_busy = third.begin(Exchange::Serial);
        assert!(slots.take(&Activity::new()).is_none());
        drop((busy, also_busy));
        drop(kept);
        assert!(slots.take(&Activity::new()).is_some());
        assert_eq!(lock(&slots.open).connections.len(), 1);
    }

    #[test]
    fn a_connection_that_sends_too_long_is_replaced() {
        for (sending, room) in [(Duration::ZERO, true), (Duration::from_secs(600), false)] {
            let slots = ConnectionSlots::new(1, sending);
            let slow = Activity::new();
            let _slot = slots.take(&slow).unwrap();
            let mut request = slow.begin(Exchange::Multiplexed);
            assert!(slots.take(&Activity::new()).is_none(), "its response is being computed");
            request.send();
            std::thread::sleep(Duration::from_millis(5));
            request.moved();
            assert_eq!(slots.take(&Activity::new()).is_some(), room);
        }
    }
}
