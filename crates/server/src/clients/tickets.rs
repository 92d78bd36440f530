//! Claims and tickets in the registry's tables.
//!
//! Each ticket is prepared, used by one query, kept for retries, and dropped.
//!
//! A client numbers its queries and uses tickets 0, 1, 2 and so on. The service sees a whole query
//! with its number. From then on the number belongs to this query, of this version, whether the
//! query is answered or refused: a second query with the number would reveal both indices. So the
//! claim is on disk before anything is returned. The last [`window`] numbers keep their tickets and
//! the hashes of their queries, so that an identical query is answered again. Older numbers are
//! refused.
//!
//! A client may send the key of a later query ahead: its ticket answers that key. The query itself
//! has the ticket's number with [`SENT_AHEAD`] added, and needs no ticket. The same rules hold for
//! it: a second query under one key would reveal both indices, too.
//!
//! | number | identical query | other query or version |
//! |---|---|---|
//! | not seen | claimed | |
//! | claimed, its ticket is prepared | answered | refused: used |
//! | claimed, its ticket is not prepared | refused: not ready | refused: used |
//! | claimed for a version that is not answered | refused: used | refused: used |
//! | older than the window | refused: used | refused: used |

use std::collections::HashMap;

use papir_core::Version;
use papir_core::scheme::SENT_AHEAD;

use super::error::StoreError;
use super::id::ClientId;
use super::numbers::{Claim, Numbers, TicketKey};
use super::row::ClientRow;
use super::store::Store;
use super::tables::{Result, Tables};

/// Number of ticket numbers before the next one that can still be used.
pub(crate) fn window(ahead: u64) -> u64 {
    ahead.saturating_mul(4).max(16)
}

/// The claim of a number by a query for a version that is not answered. No query has this hash.
fn unanswered(number: u64) -> Claim {
    Claim {
        number,
        version: Version([0; 8]),
        hash: [0; 32],
    }
}

/// Reason why tickets cannot be taken.
#[derive(Debug)]
pub(crate) enum TakeError {
    /// The client does not exist.
    Gone,
    /// Another query used the number, or it is older than the window.
    Used(u64),
    /// The ticket is not prepared yet.
    NotReady(u64),
    /// The tables failed.
    Storage(StoreError),
}

impl<E: Into<StoreError>> From<E> for TakeError {
    fn from(error: E) -> Self {
        Self::Storage(error.into())
    }
}

/// Outcome of claims that are made.
enum Taken {
    /// One ticket per claim; `None` for a query whose key was sent ahead.
    Tickets(Vec<Option<Vec<u8>>>),
    /// Another query used the number, or it is older than the window.
    Used(u64),
    /// The ticket is not prepared yet.
    NotReady(u64),
}

impl Store {
    /// The numbers of a client.
    pub(crate) fn numbers(&self, id: ClientId) -> Result<Numbers> {
        self.read(|tables| tables.numbers(id))
    }

    /// The numbers of all clients of a database. Clients without claims and tickets may be missing.
    pub(crate) fn all_numbers(&self, database: &str) -> Result<HashMap<ClientId, Numbers>> {
        self.read(|tables| tables.all_numbers(database))
    }

    /// Makes the claims of queries, and takes a ticket for each query whose key was not sent ahead.
    /// The claims are durable on return, also on an error, except if the client does not exist.
    /// [`TakeError::Used`] comes before [`TakeError::NotReady`].
    pub(crate) fn take_tickets(
        &self,
        database: &str,
        id: ClientId,
        claims: &[Claim],
        touch: impl Fn(&mut ClientRow),
        window: u64,
    ) -> std::result::Result<Vec<Option<Vec<u8>>>, TakeError> {
        let taken = self.write(|tables| {
            let Some(mut row) = tables.row(database, id)? else {
                return Ok(None);
            };
            let taken = match make_claims(tables, id, &mut row, claims, window)? {
                Some(number) => Taken::Used(number),
                None => prepared(tables, id, claims)?,
            };

            let dropped = drop_stale(tables, id, &row, window)?;
            row.ticket_bytes = row.ticket_bytes.saturating_sub(dropped);
            touch(&mut row);
            tables.put_row(database, id, &row)?;

            // `Some` for refused queries, too: the service has seen them, so the claims must last.
            Ok(Some(taken))
        })?;

        match taken {
            Some(Taken::Tickets(tickets)) => Ok(tickets),
            Some(Taken::Used(number)) => Err(TakeError::Used(number)),
            Some(Taken::NotReady(number)) => Err(TakeError::NotReady(number)),
            None => Err(TakeError::Gone),
        }
    }

    /// Claims the numbers of queries for a version that is not answered: no query gets a ticket for
    /// them. The claims are durable on return. Does nothing if the client does not exist.
    pub(crate) fn claim_unanswered(
        &self,
        database: &str,
        id: ClientId,
        numbers: &[u64],
        window: u64,
    ) -> Result<()> {
        let claims: Vec<Claim> = numbers.iter().copied().map(unanswered).collect();
        match self.take_tickets(database, id, &claims, |_| {}, window) {
            Err(TakeError::Storage(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// Stores a ticket, unless its number was claimed for another version, it is stored already, or
    /// the client was removed meanwhile. Returns whether the ticket was stored.
    pub(crate) fn put_ticket(
        &self,
        database: &str,
        id: ClientId,
        version: Version,
        number: u64,
        ticket: &[u8],
    ) -> Result<bool> {
        let stored = self.write(|tables| {
            let Some(mut row) = tables.row(database, id)? else {
                return Ok(None);
            };
            // Looked up with the client locked: a query may have claimed the number while its
            // ticket was computed.
            if !tables.numbers(id)?.lacks(version, number) {
                return Ok(None);
            }

            row.ticket_bytes = row.ticket_bytes.saturating_add(ticket.len() as u64);
            tables.put_row(database, id, &row)?;
            tables.put_ticket(id, version, number, ticket).map(Some)
        })?;
        Ok(stored.is_some())
    }

    /// A prepared and unused ticket.
    pub(crate) fn unused_ticket(
        &self,
        id: ClientId,
        version: Version,
        number: u64,
    ) -> Result<Option<Vec<u8>>> {
        self.read(|tables| {
            let claims = tables.claims(id)?;
            if claims.iter().any(|claim| claim.number == number) {
                return Ok(None);
            }
            tables.ticket(id, version, number)
        })
    }

    /// Drops the tickets of a database for all versions except those that this service or others
    /// answer.
    pub(crate) fn keep_versions(&self, database: &str, versions: &[Version]) -> Result<()> {
        // Of all services: another one may still answer a version that this one has dropped.
        let answered = self.storage.note_versions(database, versions)?;
        for (id, numbers) in self.all_numbers(database)? {
            if has_stale(&numbers.tickets, &answered) {
                self.drop_tickets(database, id, &answered)?;
            }
        }
        Ok(())
    }

    /// Drops the tickets of a client for all versions except `answered`.
    fn drop_tickets(&self, database: &str, id: ClientId, answered: &[Version]) -> Result<()> {
        self.write(|tables| {
            let Some(mut row) = tables.row(database, id)? else {
                return Ok(None);
            };

            // Read again: the tickets may have changed since they were listed.
            let mut keys = tables.ticket_keys(id)?;
            keys.retain(|key| !answered.contains(&key.version));
            tables.remove_tickets(id, &keys)?;

            row.ticket_bytes = row.ticket_bytes.saturating_sub(total(&keys));
            tables.put_row(database, id, &row).map(Some)
        })?;
        Ok(())
    }
}

/// Makes all claims, and moves the client's next numbers on. Returns the first number that another
/// query used or that is older than the window.
fn make_claims(
    tables: &mut dyn Tables,
    id: ClientId,
    row: &mut ClientRow,
    claims: &[Claim],
    window: u64,
) -> Result<Option<u64>> {
    let mut used = None;
    for &claim in claims {
        let number = claim.number % SENT_AHEAD;
        let next = if claim.number >= SENT_AHEAD {
            &mut row.next_sent_ahead
        } else {
            &mut row.next_ticket
        };

        // Goes on after a refused number: the service has seen the other queries as well.
        if number < next.saturating_sub(window) || tables.claim(id, claim)? != claim {
            used = used.or(Some(claim.number));
        } else {
            *next = (*next).max(number + 1);
        }
    }
    Ok(used)
}

/// The tickets of claimed numbers; none for queries whose keys were sent ahead.
fn prepared(tables: &mut dyn Tables, id: ClientId, claims: &[Claim]) -> Result<Taken> {
    let mut taken = Vec::with_capacity(claims.len());
    for claim in claims {
        if claim.number >= SENT_AHEAD {
            taken.push(None);
            continue;
        }
        match tables.ticket(id, claim.version, claim.number)? {
            Some(ticket) => taken.push(Some(ticket)),
            None => return Ok(Taken::NotReady(claim.number)),
        }
    }
    Ok(Taken::Tickets(taken))
}

/// Returns whether some of these tickets are for a version that is not answered.
fn has_stale(tickets: &[TicketKey], answered: &[Version]) -> bool {
    tickets.iter().any(|key| !answered.contains(&key.version))
}

/// Drops claims and tickets that are older than the window, and tickets whose number is claimed for
/// another version. Returns the bytes of the tickets.
fn drop_stale(tables: &mut dyn Tables, id: ClientId, row: &ClientRow, window: u64) -> Result<u64> {
    let numbers = tables.numbers(id)?;
    let floor = row.next_ticket.saturating_sub(window);
    let sent_ahead = SENT_AHEAD..SENT_AHEAD + row.next_sent_ahead.saturating_sub(window);

    let mut stale = numbers.tickets.clone();
    stale.retain(|key| key.number < floor || numbers.is_of_another(key.version, key.number));
    tables.remove_tickets(id, &stale)?;

    let mut old: Vec<u64> = numbers.claims.iter().map(|claim| claim.number).collect();
    old.retain(|number| *number < floor || sent_ahead.contains(number));
    tables.remove_claims(id, &old)?;
    Ok(total(&stale))
}

/// Bytes of these tickets.
fn total(keys: &[TicketKey]) -> u64 {
    keys.iter().map(|key| key.bytes).sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod model;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
