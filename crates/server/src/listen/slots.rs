//! Limit on open connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::activity::Activity;
use super::address::Peer;
use crate::shares::{Holding, Shares};

/// Part of the connections that one network may keep busy when others need some: an eighth.
const NETWORK_SHARE: usize = 8;

/// The open connections, up to a limit.
///
/// At the limit, a new connection replaces another one. If some network, or else some IPv6 /48, has
/// more connections than the newcomer's, it gives one up: the one that has been idle longest, else
/// the one that has been sending a response longest, else, if the network has more than its share,
/// the oldest. Otherwise the newcomer replaces the connection that has been idle longest or, if
/// none is idle, the one that has been sending longest beyond a time limit.
pub(crate) struct ConnectionSlots {
    open: Arc<Mutex<Open>>,
    capacity: usize,
    /// Time after which a connection that sends a response can be replaced.
    sending: Duration,
}

#[derive(Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, Connection>,
    /// Connections of each network.
    networks: Shares<Peer>,
    /// Connections of each site, which may have many networks.
    sites: Shares<Peer>,
}

struct Connection {
    activity: Arc<Activity>,
    network: Peer,
    site: Peer,
}

/// A network or a site with connections.
#[derive(Clone, Copy)]
struct ConnectionHolder {
    /// The network or the site of a connection.
    of: fn(&Connection) -> Peer,
    peer: Peer,
}

impl ConnectionHolder {
    fn has(&self, connection: &Connection) -> bool {
        (self.of)(connection) == self.peer
    }
}

/// The slot of one connection. Released when dropped.
pub(crate) struct ConnectionSlot {
    open: Arc<Mutex<Open>>,
    number: u64,
}

impl ConnectionSlots {
    pub(crate) fn new(capacity: usize, sending: Duration) -> Self {
        Self {
            open: Arc::default(),
            capacity: capacity.max(1),
            sending,
        }
    }

    /// Takes a slot for a connection from `peer`; `None` if no other connection gives way.
    pub(crate) fn take(&self, activity: &Arc<Activity>, peer: Peer) -> Option<ConnectionSlot> {
        // Held to the end: two newcomers would otherwise fill the same gap.
        let mut open = lock(&self.open);
        let network = peer.network();
        let site = peer.site();

        if open.connections.len() >= self.capacity
            && !open.evict_from_heavier(peer, self.capacity / NETWORK_SHARE)
            && !open.evict_one(self.sending)
        {
            return None;
        }

        let number = open.next;
        open.next += 1;
        open.networks.take(&network, 1);
        open.sites.take(&site, 1);
        open.connections.insert(
            number,
            Connection {
                activity: Arc::clone(activity),
                network,
                site,
            },
        );
        Some(ConnectionSlot {
            open: Arc::clone(&self.open),
            number,
        })
    }

    /// Closes the most dispensable connection. Returns whether there was one.
    pub(crate) fn evict_one(&self) -> bool {
        lock(&self.open).evict_one(self.sending)
    }
}

impl Open {
    /// Closes a connection of the network with the most connections, if it has at least two more
    /// than the network of `peer`, or else of the site. A busy connection is closed only if they
    /// exceed `share`.
    fn evict_from_heavier(&mut self, peer: Peer, share: usize) -> bool {
        let network = heavier(&self.networks, peer.network());
        let site = heavier(&self.sites, peer.site());

        network.is_some_and(|one| self.evict_from(one, share, |of| of.network))
            || site.is_some_and(|one| self.evict_from(one, share, |of| of.site))
    }

    /// Closes a connection of a network or a site.
    fn evict_from(
        &mut self,
        heaviest: Holding<Peer>,
        share: usize,
        of: fn(&Connection) -> Peer,
    ) -> bool {
        let amount = heaviest.amount;
        let holder = ConnectionHolder {
            of,
            peer: heaviest.holder,
        };

        // What is least missed goes first: idle connections, then those that only send. A
        // computation is cut off only if its network or site has more than its share.
        let mut oldest = self.oldest_of(holder, Activity::idle_since);
        if oldest.is_none() {
            oldest = self.oldest_of(holder, |activity| activity.sending_since(Duration::ZERO));
        }
        if oldest.is_none() && amount > share {
            oldest = self.oldest_of(holder, |_| Some(0));
        }
        oldest.is_some_and(|number| self.evict(number))
    }

    /// Closes the connection that has been idle longest, else the one that has been sending longest
    /// beyond the limit `sending`.
    fn evict_one(&mut self, sending: Duration) -> bool {
        let oldest = self
            .oldest(|connection| connection.activity.idle_since())
            .or_else(|| self.oldest(|connection| connection.activity.sending_since(sending)));

        oldest.is_some_and(|number| self.evict(number))
    }

    /// The connection of a network or site with the smallest time according to `since`.
    fn oldest_of(
        &self,
        holder: ConnectionHolder,
        since: impl Fn(&Activity) -> Option<u64>,
    ) -> Option<u64> {
        self.oldest(|connection| match holder.has(connection) {
            true => since(&connection.activity),
            false => None,
        })
    }

    /// The connection with the smallest time according to `since`, the first of equal ones.
    fn oldest(&self, since: impl Fn(&Connection) -> Option<u64>) -> Option<u64> {
        let all = self
            .connections
            .iter()
            .filter_map(|(number, one)| Some((since(one)?, *number)));
        all.min().map(|(_, number)| number)
    }

    /// Closes a connection. Returns whether it was open.
    fn evict(&mut self, number: u64) -> bool {
        let Some(activity) = self.remove(number) else {
            return false;
        };
        activity.evict();
        true
    }

    fn remove(&mut self, number: u64) -> Option<Arc<Activity>> {
        let Connection {
            activity,
            network,
            site,
        } = self.connections.remove(&number)?;

        self.networks.give_back(&network, 1);
        self.sites.give_back(&site, 1);
        Some(activity)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        lock(&self.open).remove(self.number);
    }
}

/// The holder with the most connections, if it has at least two more than `own`. With one more, the
/// two would take the connection from each other in turn.
fn heavier(shares: &Shares<Peer>, own: Peer) -> Option<Holding<Peer>> {
    shares.heaviest_above(shares.of(&own) + 1)
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
        let first = Activity::new();
        let second = Activity::new();
        let third = Activity::new();

        let kept = slots.take(&first, Peer::Local).unwrap();
        let busy = first.begin(Exchange::Serial);
        let _second = slots.take(&second, Peer::Local).unwrap();
        let _third = slots.take(&third, Peer::Local).unwrap();
        assert_eq!(lock(&slots.open).connections.len(), 2);

        let also_busy = third.begin(Exchange::Serial);
        assert!(slots.take(&Activity::new(), Peer::Local).is_none());

        drop((busy, also_busy));
        drop(kept);
        assert!(slots.take(&Activity::new(), Peer::Local).is_some());
        assert_eq!(lock(&slots.open).connections.len(), 1);
    }

    #[test]
    fn a_connection_that_sends_too_long_is_replaced() {
        for (sending, room) in [(Duration::ZERO, true), (Duration::from_secs(600), false)] {
            let slots = ConnectionSlots::new(1, sending);
            let slow = Activity::new();
            let _slot = slots.take(&slow, Peer::Local).unwrap();
            let mut request = slow.begin(Exchange::Multiplexed);
            assert!(
                slots.take(&Activity::new(), Peer::Local).is_none(),
                "its response is being computed"
            );

            request.send();
            std::thread::sleep(Duration::from_millis(5));
            request.moved();
            assert_eq!(slots.take(&Activity::new(), Peer::Local).is_some(), room);
        }
    }

    #[test]
    fn the_network_with_the_most_connections_gives_way() {
        let peer = |number: u32| Peer::Address(std::net::Ipv4Addr::from(number).into());
        let slots = ConnectionSlots::new(16, Duration::from_secs(600));
        let open: Vec<_> = (0..16)
            .map(|number| {
                let activity = Activity::new();
                let slot = slots.take(&activity, peer(number / 8)).unwrap();
                (activity.begin(Exchange::Serial), activity, slot)
            })
            .collect();
        let count = |network: u32| lock(&slots.open).networks.of(&peer(network));

        // All are busy, with eight connections each, and the share is two.
        let other: Vec<_> = (0..8)
            .map(|_| {
                let activity = Activity::new();
                let slot = slots.take(&activity, peer(9));
                (activity.begin(Exchange::Serial), slot)
            })
            .collect();

        assert_eq!((count(0) + count(1), count(9)), (11, 5));
        assert_eq!(
            other.iter().filter(|(_, slot)| slot.is_some()).count(),
            5,
            "it has as many then"
        );

        drop((open, other));
        assert!(lock(&slots.open).networks.is_empty());
    }

    #[test]
    fn a_site_with_many_networks_gives_way() {
        let slots = ConnectionSlots::new(16, Duration::from_secs(600));
        let peer = |text: String| Peer::Address(text.parse().unwrap());
        let take = |peer: Peer| {
            let activity = Activity::new();
            let slot = slots.take(&activity, peer);
            (activity.begin(Exchange::Serial), slot)
        };

        // All are busy, and no network has more than one.
        let flood: Vec<_> = (0..16)
            .map(|number| take(peer(format!("2001:db8:7:{number:x}::1"))))
            .collect();
        let others: Vec<_> = (0..4)
            .map(|number| take(peer(format!("10.0.0.{number}"))))
            .collect();
        assert!(others.iter().all(|(_, slot)| slot.is_some()));

        drop((flood, others));
        assert!(lock(&slots.open).sites.is_empty());
    }
}
