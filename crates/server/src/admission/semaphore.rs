//! A semaphore that its holders share fairly: places, bytes or turns.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::limits::ClientKey;
use crate::shares::Shares;

/// A bounded amount of a resource.
///
/// A client with more gives way to one that would still have less.
pub(super) struct FairSemaphore {
    capacity: usize,
    /// Most that one client has in several takings.
    share: usize,
    taken: Mutex<Shares<ClientKey>>,
}

/// Amount that a client has taken. Given back when dropped.
pub(super) struct TakenAmount {
    semaphore: Arc<FairSemaphore>,
    client: ClientKey,
    amount: usize,
}

impl FairSemaphore {
    /// An amount of which one client may have all.
    pub(super) fn new(capacity: usize) -> Arc<Self> {
        Self::with_share(capacity, capacity)
    }

    /// An amount of which one client has at most `share`, or anything in a single taking.
    pub(super) fn with_share(capacity: usize, share: usize) -> Arc<Self> {
        Arc::new(Self {
            capacity,
            share,
            taken: Mutex::default(),
        })
    }

    /// Returns whether everything is taken.
    pub(super) fn is_full(&self) -> bool {
        self.taken() >= self.capacity
    }

    /// The amount that is taken.
    pub(super) fn taken(&self) -> usize {
        self.shares().total()
    }

    /// The amount that a client has taken.
    pub(super) fn taken_by(&self, client: &ClientKey) -> usize {
        self.shares().of(client)
    }

    /// Begins to take. Nothing is taken yet.
    pub(super) fn begin(self: &Arc<Self>, client: ClientKey) -> TakenAmount {
        TakenAmount {
            semaphore: Arc::clone(self),
            client,
            amount: 0,
        }
    }

    /// Takes one; `None` if there is no room.
    pub(super) fn take(self: &Arc<Self>, client: &ClientKey) -> Option<TakenAmount> {
        self.take_or(client, |_| false)
    }

    /// Takes one. Makes room for it with `shed`, as [`TakenAmount::grow_or`] does.
    pub(super) fn take_or(
        self: &Arc<Self>,
        client: &ClientKey,
        shed: impl Fn(&ClientKey) -> bool,
    ) -> Option<TakenAmount> {
        let mut taken = self.begin(client.clone());
        taken.grow_or(1, shed).then_some(taken)
    }

    /// Returns whether some client has more than `client` would have with one more: it can give one
    /// up and still has no fewer.
    pub(super) fn has_heavier(&self, client: &ClientKey) -> bool {
        let taken = self.shares();
        taken.heaviest_above(taken.of(client) + 1).is_some()
    }

    /// Returns whether nobody has taken anything.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.shares().is_empty()
    }

    fn shares(&self) -> MutexGuard<'_, Shares<ClientKey>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TakenAmount {
    /// The client that has taken it.
    pub(super) fn client(&self) -> &ClientKey {
        &self.client
    }

    /// The amount.
    pub(super) fn amount(&self) -> usize {
        self.amount
    }

    /// Takes more. If there is no room, calls `shed` with clients that have more than this one
    /// would have, the one with the most first, until one gives some up. Returns false, and takes
    /// nothing, if none does, or if the client has its share with other takings.
    pub(super) fn grow_or(&mut self, amount: usize, shed: impl Fn(&ClientKey) -> bool) -> bool {
        let semaphore = Arc::clone(&self.semaphore);

        // Again after each client that gave some up: that may not be enough.
        loop {
            let mut taken = semaphore.shares();
            let own = taken.of(&self.client);
            let is_only_one = own == self.amount;
            let in_share = own.saturating_add(amount) <= semaphore.share;
            if amount > semaphore.capacity || !(in_share || is_only_one) {
                return false;
            }

            if taken.total().saturating_add(amount) <= semaphore.capacity {
                self.count(&mut taken, amount);
                return true;
            }

            let heavier = taken.above(own.saturating_add(amount));
            // Unlocked first: what is given up locks it to be given back.
            drop(taken);
            if !heavier.iter().any(|holding| shed(&holding.holder)) {
                return false;
            }
        }
    }

    /// Takes any amount if nothing else is taken. Otherwise returns false, and takes nothing.
    pub(super) fn grow_alone(&mut self, amount: usize) -> bool {
        let semaphore = Arc::clone(&self.semaphore);
        let mut taken = semaphore.shares();
        let alone = taken.total() == 0;
        if alone {
            self.count(&mut taken, amount);
        }
        alone
    }

    fn count(&mut self, taken: &mut Shares<ClientKey>, amount: usize) {
        taken.take(&self.client, amount);
        self.amount += amount;
    }
}

impl Drop for TakenAmount {
    fn drop(&mut self) {
        self.semaphore.shares().give_back(&self.client, self.amount);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn key(number: u32) -> ClientKey {
        ClientKey::Address(std::net::Ipv4Addr::from(number).into())
    }

    #[test]
    fn the_heaviest_client_gives_way_to_lighter_ones_only() {
        let places = FairSemaphore::new(4);
        let flood: RefCell<Vec<_>> =
            RefCell::new((0..3).map(|_| places.take(&key(1)).unwrap()).collect());
        let other = places.take(&key(2)).unwrap();
        let shed = |client: &ClientKey| *client == key(1) && flood.borrow_mut().pop().is_some();

        assert!(places.is_full() && places.take(&key(3)).is_none());
        assert!(places.has_heavier(&key(3)) && places.has_heavier(&key(2)));
        assert!(!places.has_heavier(&key(1)));
        assert!(places.take_or(&key(1), shed).is_none());

        let third = places.take_or(&key(3), shed).unwrap();
        assert_eq!(flood.borrow().len(), 2);
        assert!(
            places.take_or(&key(3), shed).is_none(),
            "it would have as many"
        );

        flood.borrow_mut().clear();
        assert!(!places.has_heavier(&key(4)));
        drop((other, third));
        assert!(places.is_empty());
    }

    #[test]
    fn one_client_has_its_share_unless_it_takes_once() {
        let bytes = FairSemaphore::with_share(1000, 250);
        let none = |_: &ClientKey| false;
        let mut large = bytes.begin(key(1));
        assert!(large.grow_or(600, none));

        let mut second = bytes.begin(key(1));
        assert!(!second.grow_or(1, none), "its share is used up");
        assert!(!bytes.begin(key(2)).grow_or(1001, |_| true));
        assert!(!bytes.begin(key(2)).grow_alone(1));

        drop(large);
        assert!(second.grow_or(250, none) && bytes.taken_by(&key(1)) == 250);
        drop(second);
        let mut alone = bytes.begin(key(2));
        assert!(alone.grow_alone(1001));
        drop(alone);
        assert!(bytes.is_empty());
    }
}
