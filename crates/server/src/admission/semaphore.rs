//! A semaphore that its holders share fairly: places, bytes or turns.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::limits::ClientKey;
use crate::shares::{Holding, Shares};

/// A bounded amount of a resource.
///
/// A client with more gives way to one that would still have less. Listed relays together and all
/// other clients together are two sides, each of which has half of the amount: beyond it, a side
/// gives way to clients of the other one, and within it, it does not. So the clients of a relay,
/// which share one address, do not give way to as many others, and do not crowd them out.
pub(super) struct FairSemaphore {
    capacity: usize,
    /// Most that one client has in several takings; a relay may have its side's half.
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

    /// Returns whether some client may have to give up what it has for one more of `client`.
    pub(super) fn has_heavier(&self, client: &ClientKey) -> bool {
        !self.givers(&self.shares(), client, 1).is_empty()
    }

    /// The clients that may have to give some up for `amount` more of a client, in the order in
    /// which they are asked: of the other side, if that has more than its half, and then of the own
    /// side those that still have as much as this client would have.
    fn givers(
        &self,
        taken: &Shares<ClientKey>,
        client: &ClientKey,
        amount: usize,
    ) -> Vec<ClientKey> {
        let is_relay = client.is_relay();
        let side = taken.total_of(|holder| holder.is_relay() == is_relay);
        let mut givers = Vec::new();

        // A client with no more than this one takes now gives nothing up, even for a side that is
        // below its half.
        if side.saturating_add(amount) <= self.capacity / 2 {
            givers.extend(of_side(taken.above(amount), !is_relay));
        }
        let own = taken.of(client).saturating_add(amount);
        givers.extend(of_side(taken.above(own), is_relay));
        givers
    }

    /// The most that a client has in several takings.
    fn share_of(&self, client: &ClientKey) -> usize {
        match client.is_relay() {
            true => self.share.max(self.capacity / 2),
            false => self.share,
        }
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

/// The holders on one side: the relays if `is_relay` is set, otherwise all others.
fn of_side(holdings: Vec<Holding<ClientKey>>, is_relay: bool) -> impl Iterator<Item = ClientKey> {
    let holders = holdings.into_iter().map(|holding| holding.holder);
    holders.filter(move |holder| holder.is_relay() == is_relay)
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
    /// would have, or than their side's half, the one with the most first, until one gives some up.
    /// Returns false, and takes nothing, if none does, or if the client has its share with other
    /// takings.
    pub(super) fn grow_or(&mut self, amount: usize, shed: impl Fn(&ClientKey) -> bool) -> bool {
        let semaphore = Arc::clone(&self.semaphore);

        // Again after each client that gave some up: that may not be enough.
        loop {
            let mut taken = semaphore.shares();
            let own = taken.of(&self.client);
            let is_only_one = own == self.amount;
            let in_share = own.saturating_add(amount) <= semaphore.share_of(&self.client);
            if amount > semaphore.capacity || !(in_share || is_only_one) {
                return false;
            }

            if taken.total().saturating_add(amount) <= semaphore.capacity {
                self.count(&mut taken, amount);
                return true;
            }

            let givers = semaphore.givers(&taken, &self.client, amount);
            // Unlocked first: what is given up locks it to be given back.
            drop(taken);
            if !givers.iter().any(&shed) {
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
    use crate::listen::Peer;

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

    /// Places that are taken one at a time, of which every holder gives up the newest.
    struct Flooded {
        places: Arc<FairSemaphore>,
        held: RefCell<Vec<TakenAmount>>,
    }

    impl Flooded {
        fn new(capacity: usize) -> Self {
            Self {
                places: FairSemaphore::new(capacity),
                held: RefCell::default(),
            }
        }

        /// Takes a place, for which others may be shed.
        fn take(&self, client: &ClientKey) -> bool {
            let shed = |heavier: &ClientKey| {
                let mut held = self.held.borrow_mut();
                let newest = held.iter().rposition(|taken| taken.client() == heavier);
                newest.map(|newest| held.remove(newest)).is_some()
            };
            let taken = self.places.take_or(client, shed);
            let is_taken = taken.is_some();
            self.held.borrow_mut().extend(taken);
            is_taken
        }

        /// Takes places until there are no more for this client. Returns how many it then has.
        fn fill(&self, client: &ClientKey) -> usize {
            while self.take(client) {}
            self.places.taken_by(client)
        }
    }

    #[test]
    fn a_relay_and_all_other_clients_have_half_each_if_both_want_more() {
        let relay = ClientKey::Relay(Peer::Local);
        let flooded = Flooded::new(8);
        assert_eq!(flooded.fill(&relay), 8, "nobody else wants any");

        for number in 1..=4 {
            assert!(flooded.places.has_heavier(&key(number)));
            assert!(flooded.take(&key(number)), "{number}");
        }
        assert!(!flooded.places.has_heavier(&key(5)));
        assert!(!flooded.take(&key(5)), "the relay has its half");
        assert_eq!(flooded.places.taken_by(&relay), 4);

        // The half of the others is shared among them as before.
        let flooded = Flooded::new(8);
        assert_eq!(flooded.fill(&key(1)), 8);
        assert_eq!(flooded.fill(&relay), 4);
        assert_eq!(flooded.fill(&key(2)), 2);
        assert_eq!(flooded.places.taken_by(&relay), 4);
        assert_eq!(flooded.places.taken_by(&key(1)), 2);
    }

    #[test]
    fn a_relay_below_its_half_sheds_clients_with_several_only() {
        let relay = ClientKey::Relay(Peer::Local);
        let flooded = Flooded::new(8);
        for number in 1..=4 {
            assert!(flooded.take(&key(number)) && flooded.take(&key(number)));
        }
        assert_eq!(flooded.fill(&relay), 4);
        for number in 1..=4 {
            assert_eq!(flooded.places.taken_by(&key(number)), 1);
        }

        let flooded = Flooded::new(8);
        for number in 1..=8 {
            assert!(flooded.take(&key(number)));
        }
        assert_eq!(flooded.fill(&relay), 0);
    }

    #[test]
    fn relays_share_their_half_and_each_may_have_all_of_it() {
        let relay = |last: u8| ClientKey::Relay(Peer::Address([192, 0, 2, last].into()));
        let flooded = Flooded::new(8);
        assert_eq!(flooded.fill(&relay(1)), 8);
        assert_eq!(flooded.fill(&key(1)), 4);
        assert_eq!(flooded.fill(&relay(2)), 2);
        assert_eq!(flooded.places.taken_by(&key(1)), 4);

        let bytes = FairSemaphore::with_share(1000, 250);
        let mut first = bytes.begin(relay(1));
        let mut second = bytes.begin(relay(1));
        let none = |_: &ClientKey| false;
        assert!(first.grow_or(300, none) && second.grow_or(200, none));
        assert!(!second.grow_or(1, none), "half");
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
