//! Order in which clients have tickets prepared.

use std::collections::{HashMap, HashSet};

use super::id::ClientId;
use super::row::{Owner, Site, site};

/// Turns of clients, their owners and the owners' sites.
///
/// A client is *established* once a query of it has used a ticket. As long as clients of both kinds
/// lack tickets, every second turn is that of an established one, however many clients register.
/// Among the clients of a kind, sites take turns, within a site its owners, and within an owner its
/// clients: whoever has more networks or clients has no more turns.
#[derive(Default)]
pub(super) struct TicketOrder {
    established: HashSet<ClientId>,
    /// Set if the last turn was that of an established client.
    was_established: bool,
    round: u64,
    of_established: LastRounds,
    of_others: LastRounds,
}

/// The round of each one's last turn.
#[derive(Default)]
struct LastRounds {
    sites: HashMap<Site, u64>,
    owners: HashMap<Owner, u64>,
    clients: HashMap<ClientId, u64>,
}

/// A client that lacks a ticket.
#[derive(Clone, Copy)]
pub(super) struct LackingClient {
    pub(super) id: ClientId,
    pub(super) owner: Owner,
    /// Set if the client requested the ticket.
    pub(super) demanded: bool,
    pub(super) tickets_ready: u64,
}

/// Urgency of a wanted ticket; the smallest value comes first.
///
/// Within the turn of an owner, requested tickets come first, then tickets of clients with the
/// fewest tickets, then tickets of clients that have waited longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Urgency {
    had_last_turn: bool,
    sites_last_round: u64,
    owners_last_round: u64,
    not_demanded: bool,
    tickets_ready: u64,
    last_round: u64,
}

impl TicketOrder {
    /// Notes that a query of a client has used a ticket.
    pub(super) fn establish(&mut self, id: ClientId) {
        self.established.insert(id);
    }

    /// The urgency of a client's ticket.
    pub(super) fn urgency(&self, client: &LackingClient) -> Urgency {
        let is_established = self.established.contains(&client.id);
        let last = if is_established {
            &self.of_established
        } else {
            &self.of_others
        };

        Urgency {
            had_last_turn: is_established == self.was_established,
            sites_last_round: last_of(&last.sites, &site(&client.owner)),
            owners_last_round: last_of(&last.owners, &client.owner),
            not_demanded: !client.demanded,
            tickets_ready: client.tickets_ready,
            last_round: last_of(&last.clients, &client.id),
        }
    }

    /// Notes that a client has its turn.
    pub(super) fn note_turn(&mut self, id: ClientId, owner: Owner) {
        self.round += 1;
        self.was_established = self.established.contains(&id);
        let last = if self.was_established {
            &mut self.of_established
        } else {
            &mut self.of_others
        };

        last.sites.insert(site(&owner), self.round);
        last.owners.insert(owner, self.round);
        last.clients.insert(id, self.round);
    }

    /// Forgets all but these clients and owners.
    pub(super) fn retain(&mut self, clients: &HashSet<ClientId>, owners: &HashSet<Owner>) {
        let sites: HashSet<Site> = owners.iter().map(site).collect();
        self.established.retain(|id| clients.contains(id));

        for last in [&mut self.of_established, &mut self.of_others] {
            last.sites.retain(|site, _| sites.contains(site));
            last.owners.retain(|owner, _| owners.contains(owner));
            last.clients.retain(|id, _| clients.contains(id));
        }
    }
}

/// The round of a turn; 0 for those that have had none.
fn last_of<K: Eq + std::hash::Hash>(rounds: &HashMap<K, u64>, key: &K) -> u64 {
    rounds.get(key).copied().unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::admission::ClientKey;
    use crate::clients::quota::owner;

    /// A client of an address, without tickets.
    fn client(number: u128, address: &str) -> LackingClient {
        LackingClient {
            id: ClientId::of(number),
            owner: owner(&ClientKey::Address(address.parse().unwrap())),
            demanded: false,
            tickets_ready: 0,
        }
    }

    /// Gives the next turns to clients that lack one ticket each time.
    fn turns(order: &mut TicketOrder, clients: &[LackingClient], count: usize) -> Vec<ClientId> {
        let mut served = Vec::new();
        for _ in 0..count {
            let first = clients
                .iter()
                .min_by_key(|client| order.urgency(client))
                .unwrap();
            order.note_turn(first.id, first.owner);
            served.push(first.id);
        }
        served
    }

    /// Registrations from as many networks of one site.
    fn flood(count: u128) -> Vec<LackingClient> {
        (0..count)
            .map(|number| client(1000 + number, &format!("2001:db8:7:{number:x}::")))
            .collect()
    }

    #[test]
    fn an_established_client_has_every_second_turn_whatever_registers() {
        let addresses = (0..1500).map(|number| {
            client(
                1000 + number,
                &format!("10.0.{}.{}", number / 250, number % 250),
            )
        });
        for clients in [flood(1500), addresses.collect()] {
            let mut order = TicketOrder::default();
            let old = client(1, "10.9.9.9");
            order.establish(old.id);

            let all = [&clients[..], &[old]].concat();
            for _ in 0..3 {
                let served = turns(&mut order, &all, 8);
                assert_eq!(served.iter().filter(|id| **id == old.id).count(), 4);
            }
        }
    }

    #[test]
    fn networks_of_a_site_share_its_turns() {
        let mut order = TicketOrder::default();
        let mut all = flood(1500);
        all.push(client(1, "2001:db8:8::"));
        all.push(client(2, "10.9.9.9"));

        // Three sites: the newcomers need not wait for the 1,500 networks.
        let served = turns(&mut order, &all, 9);
        for newcomer in [1, 2].map(ClientId::of) {
            assert_eq!(served.iter().filter(|id| **id == newcomer).count(), 3);
        }
    }

    #[test]
    fn established_clients_of_a_site_are_not_behind_its_newcomers() {
        let mut order = TicketOrder::default();
        let old = client(1, "2001:db8:7:ffff::");
        order.establish(old.id);
        let all = [&flood(100)[..], &[old]].concat();

        let served = turns(&mut order, &all, 20);
        assert_eq!(served.iter().filter(|id| **id == old.id).count(), 10);
    }

    #[test]
    fn requested_tickets_come_first_in_the_turn_of_their_owner() {
        let mut order = TicketOrder::default();
        let first = client(1, "10.0.0.1");
        order.note_turn(first.id, first.owner);

        let other = client(2, "10.0.0.2");
        let requested = |client: LackingClient| LackingClient {
            demanded: true,
            ..client
        };
        assert!(
            order.urgency(&other) < order.urgency(&requested(first)),
            "another owner waits longer"
        );
        assert!(order.urgency(&requested(first)) < order.urgency(&first));
    }

    #[test]
    fn clients_that_are_gone_are_forgotten() {
        let mut order = TicketOrder::default();
        for client in flood(10) {
            order.establish(client.id);
            order.note_turn(client.id, client.owner);
        }
        order.retain(&HashSet::new(), &HashSet::new());
        assert!(order.established.is_empty());
        for last in [&order.of_established, &order.of_others] {
            assert!(last.sites.is_empty() && last.owners.is_empty() && last.clients.is_empty());
        }
    }
}
