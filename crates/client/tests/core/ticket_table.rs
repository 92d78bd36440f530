//! A client's tickets at the scripted service, in virtual time.
#![allow(unreachable_pub)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use papir_core::scheme::SENT_AHEAD;
use papir_protocol::code;

/// Number of tickets prepared ahead for each client.
pub const AHEAD: u64 = 2;

/// Tickets of one client. They are prepared one after the other. The first query with a number
/// claims the number's ticket, as at the real service.
#[derive(Clone, Default)]
pub struct TicketTable {
    /// The largest claimed number plus one.
    pub next: u64,
    /// The same over the keys that were sent ahead and whose queries have come.
    pub next_sent_ahead: u64,
    /// Numbers with the version and the bytes of the query that claimed them.
    claims: BTreeMap<u64, (String, Vec<u8>)>,
    prepared: BTreeSet<(String, u64)>,
    requested: BTreeSet<u64>,
    /// The time up to which the service has worked on tickets.
    worked: Duration,
}

impl TicketTable {
    /// An empty table at `now`.
    pub fn new(now: Duration) -> Self {
        Self {
            worked: now,
            ..Self::default()
        }
    }

    /// Prepares tickets until `now`. Each takes the time `each`.
    pub fn work(&mut self, version: &str, now: Duration, each: Duration) {
        while let Some(number) = self.wanted(version) {
            if self.worked + each > now {
                return;
            }
            self.worked += each;
            self.prepared.insert((version.to_owned(), number));
        }
        self.worked = now;
    }

    /// The ticket to prepare next: a requested one, else one of the next numbers.
    fn wanted(&self, version: &str) -> Option<u64> {
        let lacks = |number: &u64| {
            !self.is_prepared(version, *number)
                && self
                    .claims
                    .get(number)
                    .is_none_or(|(claimed, _)| claimed == version)
        };
        self.requested
            .iter()
            .copied()
            .chain(self.next..self.next + AHEAD)
            .find(lacks)
    }

    fn is_prepared(&self, version: &str, number: u64) -> bool {
        self.prepared.contains(&(version.to_owned(), number))
    }

    /// Number of prepared tickets of a version from the next number on, without a gap.
    pub fn ready(&self, version: &str) -> u64 {
        (self.next..)
            .take_while(|number| self.is_prepared(version, *number))
            .count() as u64
    }

    /// Claims the numbers of queries. Returns the refusal's status and code if a number belongs to
    /// another query, or a ticket is not prepared.
    pub fn take(
        &mut self,
        version: &str,
        uses: &[(u64, &[u8])],
    ) -> Result<(), (u16, &'static str)> {
        let mut used = false;
        for &(number, query) in uses {
            let own = (version.to_owned(), query.to_vec());
            used |= *self.claims.entry(number).or_insert_with(|| own.clone()) != own;
            match number.checked_sub(SENT_AHEAD) {
                Some(number) => self.next_sent_ahead = self.next_sent_ahead.max(number + 1),
                None => self.next = self.next.max(number + 1),
            }
        }
        if used {
            return Err((410, code::TICKET_USED));
        }
        let mut tickets = uses
            .iter()
            .map(|(number, _)| *number)
            .filter(|number| *number < SENT_AHEAD);
        if tickets
            .clone()
            .all(|number| self.is_prepared(version, number))
        {
            return Ok(());
        }
        self.requested.extend(&mut tickets);
        Err((503, code::NO_TICKET))
    }
}
