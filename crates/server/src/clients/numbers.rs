//! The claimed numbers and the tickets of a client.

use papir_core::Version;
use papir_core::scheme::SENT_AHEAD;

/// A number that belongs to one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// A ticket's number, with [`SENT_AHEAD`] added for a query whose key was sent ahead.
    pub(crate) number: u64,
    pub(crate) version: Version,
    /// BLAKE3 hash of the query.
    pub(crate) hash: [u8; 32],
}

/// A prepared ticket of a client, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TicketKey {
    pub(crate) version: Version,
    pub(crate) number: u64,
    /// Length of the ticket.
    pub(crate) bytes: u64,
}

/// Number of tickets of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TicketCounts {
    pub(crate) ready: u64,
    pub(crate) used: u64,
}

/// The claimed numbers and the tickets of a client.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    pub(super) claims: Vec<Claim>,
    /// In the order of their numbers within each version.
    pub(super) tickets: Vec<TicketKey>,
}

impl Numbers {
    fn claim(&self, number: u64) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.number == number)
    }

    /// Returns true if the number is claimed for another version.
    pub(super) fn is_of_another(&self, version: Version, number: u64) -> bool {
        self.claim(number)
            .is_some_and(|claim| claim.version != version)
    }

    /// Returns true if the ticket is not prepared, and its number is not claimed for another
    /// version.
    pub(crate) fn lacks(&self, version: Version, number: u64) -> bool {
        let is_prepared = self
            .tickets
            .iter()
            .any(|key| (key.version, key.number) == (version, number));
        !is_prepared && !self.is_of_another(version, number)
    }

    /// Number of prepared tickets with the numbers from `next` on, without a gap.
    pub(crate) fn ready_from(&self, version: Version, next: u64) -> u64 {
        let of_version = self
            .tickets
            .iter()
            .filter(|key| key.version == version && key.number >= next);
        of_version
            .zip(next..)
            .take_while(|(key, expected)| key.number == *expected)
            .count() as u64
    }

    /// Returns true if a query has claimed a number whose ticket is prepared.
    pub(crate) fn has_used_ticket(&self) -> bool {
        self.tickets.iter().any(|key| {
            self.claim(key.number)
                .is_some_and(|claim| claim.version == key.version)
        })
    }

    /// Counts the tickets of all versions.
    pub(crate) fn counts(&self) -> TicketCounts {
        let ready = self
            .tickets
            .iter()
            .filter(|key| self.claim(key.number).is_none());
        let used = self.claims.iter().filter(|claim| claim.number < SENT_AHEAD);

        TicketCounts {
            ready: ready.count() as u64,
            used: used.count() as u64,
        }
    }
}
