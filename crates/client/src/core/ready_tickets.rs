//! Knowledge of the tickets that the service has prepared.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use papir_protocol::ClientStatus;

/// Longest pause between two requests for a client's status.
const MAX_PAUSE: Duration = Duration::from_secs(8);

/// The last known tickets of a client. Clones share this knowledge.
#[derive(Clone, Default)]
pub(crate) struct ReadyTickets(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    client: String,
    /// Numbers of tickets that are ready and not yet used.
    numbers: Range<u64>,
    /// Number of tickets that the service prepares ahead.
    ahead: u64,
    /// The largest ticket number among the held keys that were used, plus one.
    next_sent_ahead: u64,
}

/// The next step for queries that need tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// Send the queries.
    Ready,
    /// Wait: the service is preparing tickets for the queries.
    Preparing,
    /// Register again: the client is gone, or the state is an old copy.
    Unusable,
}

impl ReadyTickets {
    /// Stores the tickets in a status as the last known ones.
    pub(crate) fn note(&self, status: &ClientStatus) {
        let numbers = status.next_ticket..ready_end(status);
        let ahead = status.tickets_ahead;
        let next_sent_ahead = status.next_sent_ahead;
        *self.known() = Known {
            client: status.id.clone(),
            numbers,
            ahead,
            next_sent_ahead,
        };
    }

    /// The number of tickets that the service prepares ahead, as last known.
    pub(crate) fn ahead(&self) -> u64 {
        self.known().ahead
    }

    /// The client's id if all its known tickets are used; `None` otherwise.
    pub(crate) fn used_up_client(&self) -> Option<String> {
        let known = self.known();
        (known.numbers.is_empty() && !known.client.is_empty()).then(|| known.client.clone())
    }

    /// Notes that a client has used the tickets with numbers below `end`.
    pub(crate) fn use_up(&self, client: &str, end: u64) {
        let mut known = self.known();
        if known.client == client {
            known.numbers.start = known.numbers.start.max(end);
        }
    }

    /// Returns true if the tickets with these numbers are known to be ready and unused. False for
    /// numbers of an old state, which this process has used before.
    pub(crate) fn covers(&self, client: &str, numbers: &Range<u64>) -> bool {
        let known = self.known();
        known.client == client
            && known.numbers.start <= numbers.start
            && numbers.end <= known.numbers.end
    }

    /// Returns true if the held key with this ticket number is known to be unused.
    pub(crate) fn is_unused(&self, client: &str, number: u64) -> bool {
        let known = self.known();
        known.client == client && number >= known.next_sent_ahead
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number after the last ticket that is ready.
fn ready_end(status: &ClientStatus) -> u64 {
    status.next_ticket.saturating_add(status.tickets_ready)
}

/// The next step for queries that need the tickets with these numbers.
pub(crate) fn readiness(status: &ClientStatus, numbers: &Range<u64>) -> Readiness {
    // The service prepares tickets up to this number. It prepares later ones only for queries that
    // it has seen: if it missed queries, a client that waited for them would wait for ever.
    let planned_end = status.next_ticket.saturating_add(status.tickets_ahead);

    if status.is_uploading() || numbers.start < status.next_ticket {
        Readiness::Unusable
    } else if numbers.end <= ready_end(status) || numbers.end > planned_end {
        Readiness::Ready
    } else {
        Readiness::Preparing
    }
}

/// The pause after `looks` requests for the status: 1 s, then twice as long each time up to
/// [`MAX_PAUSE`].
pub(crate) fn pause(looks: u32) -> Duration {
    Duration::from_secs(1 << looks.min(8)).min(MAX_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(next_ticket: u64, tickets_ready: u64, tickets_ahead: u64) -> ClientStatus {
        ClientStatus {
            id: "a".into(),
            status: ClientStatus::REGISTERED.into(),
            created: 0,
            used: 0,
            expires: 0,
            keys_bytes: 0,
            uploaded_bytes: 0,
            part_bytes: 0,
            version: String::new(),
            tickets_ready,
            tickets_used: 0,
            ticket_bytes: 0,
            tickets_ahead,
            next_ticket,
            next_sent_ahead: 0,
        }
    }

    #[test]
    fn queries_wait_only_for_tickets_that_are_being_prepared() {
        use Readiness::{Preparing, Ready, Unusable};

        for (counts, numbers, expected) in [
            ((5, 2, 4), 5..7, Ready),
            ((5, 2, 4), 5..8, Preparing),
            ((5, 2, 4), 8..9, Preparing),
            ((5, 0, 4), 5..9, Preparing),
            // Never prepared unless the service sees the query.
            ((5, 2, 4), 8..10, Ready),
            ((5, 0, 0), 5..6, Ready),
            ((0, 4, 4), u64::MAX..u64::MAX, Ready),
            ((6, 4, 4), 5..6, Unusable),
            ((u64::MAX, u64::MAX, u64::MAX), 5..6, Unusable),
            ((0, u64::MAX, u64::MAX), 5..6, Ready),
            ((0, 0, u64::MAX), 5..6, Preparing),
        ] {
            let (next_ticket, ready, ahead) = counts;
            let found = readiness(&status(next_ticket, ready, ahead), &numbers);
            assert_eq!(found, expected, "{counts:?} {numbers:?}");
        }

        let uploading = ClientStatus {
            status: ClientStatus::UPLOADING.into(),
            ..status(0, 4, 4)
        };
        assert_eq!(readiness(&uploading, &(0..1)), Unusable);
    }

    #[test]
    fn known_tickets_are_those_of_one_client() {
        let ready = ReadyTickets::default();
        assert!(!ready.covers("a", &(0..1)));

        ready.note(&status(3, 2, 4));
        ready.use_up("b", 100);
        assert!(
            ready.covers("a", &(3..5))
                && !ready.covers("a", &(3..6))
                && !ready.covers("b", &(3..4))
        );

        ready.clone().use_up("a", 4);
        assert!(ready.covers("a", &(4..5)) && !ready.covers("a", &(4..6)));
        assert!(!ready.covers("a", &(3..5)), "a number that was used before");
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        assert_eq!(
            [0, 1, 2, 3, 4, u32::MAX].map(|looks| pause(looks).as_secs()),
            [1, 2, 4, 8, 8, 8]
        );
    }
}
