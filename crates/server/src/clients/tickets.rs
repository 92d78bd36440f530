//! Ticket tables: each ticket is prepared, used by one query, kept for retries, and dropped.
//!
//! A client numbers its queries and uses tickets 0, 1, 2 and so on. The service sees a whole query
//! with its number. From then on the number belongs to this query, of this version, whether the
//! query is answered or refused: a second query with the number would reveal both indices. So the
//! claim is on disk before anything is returned. The last [`window`] numbers keep their tickets and
//! the hashes of their queries, so that an identical query is answered again. Older numbers are
//! refused.
//!
//! | number | identical query | other query or version |
//! |---|---|---|
//! | not seen | claimed | |
//! | claimed, its ticket is prepared | answered | refused: used |
//! | claimed, its ticket is not prepared | refused: not ready | refused: used |
//! | claimed for a version that is not answered | refused: used | refused: used |
//! | older than the window | refused: used | refused: used |

use papir_core::Version;
use redb::{ReadableTable, Table};

use super::error::StoreError;
use super::id::ClientId;
use super::row::Row;
use super::store::{Result, Store, TICKETS, USES, change_row, clients_of, version_number};

/// The mark of queries for versions that are not answered. No query has this hash.
const UNANSWERED: (Version, [u8; 32]) = (Version([0; 8]), [0; 32]);

/// Number of ticket numbers before the next one that can still be used.
pub(crate) fn window(ahead: u64) -> u64 {
    ahead.saturating_mul(4).max(16)
}

/// The use of a ticket by a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TicketUse {
    pub(crate) number: u64,
    /// BLAKE3 hash of the query.
    pub(crate) hash: [u8; 32],
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

/// Number of tickets of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TicketCounts {
    pub(crate) ready: u64,
    pub(crate) used: u64,
}

type Tickets<'t> = Table<'t, (u128, u64, u64), &'static [u8]>;
type Uses<'t> = Table<'t, (u128, u64), (u64, [u8; 32])>;

impl Store {
    /// Claims the numbers of queries of one version, and takes their tickets. The claims are on disk
    /// on return, also on an error, except if the client does not exist.
    ///
    /// # Errors
    /// [`TakeError::Used`] before [`TakeError::NotReady`].
    pub(crate) fn take_tickets(
        &self,
        database: &str,
        id: ClientId,
        version: Version,
        uses: &[TicketUse],
        touch: impl Fn(&mut Row),
        window: u64,
    ) -> std::result::Result<Vec<Vec<u8>>, TakeError> {
        let taken = self.file.write(|transaction| {
            let mut clients = clients_of(transaction)?;
            let mut next = 0;
            if !change_row(&mut clients, database, id, |row| next = row.next_ticket)? {
                return Ok(None);
            }
            let mut tickets = transaction.open_table(TICKETS)?;
            let mut marks = transaction.open_table(USES)?;
            let (mut dropped, mut used) = (0, None);
            for &ticket_use in uses {
                if claim(&mut marks, id, version, ticket_use, next.saturating_sub(window))? {
                    next = next.max(ticket_use.number + 1);
                    dropped += drop_others(&mut tickets, id, version, ticket_use.number)?;
                } else {
                    used = used.or(Some(ticket_use.number));
                }
            }
            let taken = match used {
                Some(number) => Err(TakeError::Used(number)),
                None => prepared(&tickets, id, version, uses)?,
            };
            dropped += drop_before(&mut tickets, &mut marks, id, next.saturating_sub(window))?;
            change_row(&mut clients, database, id, |row| {
                (row.next_ticket, row.ticket_bytes) = (next, row.ticket_bytes.saturating_sub(dropped));
                touch(row);
            })?;
            Ok(Some(taken))
        })?;
        taken.unwrap_or(Err(TakeError::Gone))
    }

    /// Claims the numbers of queries for a version that is not answered: no query gets a ticket for
    /// them. The claims are on disk on return. Does nothing if the client does not exist.
    pub(crate) fn claim_unanswered(
        &self,
        database: &str,
        id: ClientId,
        numbers: &[u64],
        window: u64,
    ) -> Result<()> {
        let (version, hash) = UNANSWERED;
        let uses: Vec<TicketUse> = numbers.iter().map(|&number| TicketUse { number, hash }).collect();
        match self.take_tickets(database, id, version, &uses, |_| {}, window) {
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
        let stored = self.file.write(|transaction| {
            let key = (id.number(), version_number(version), number);
            let mut tickets = transaction.open_table(TICKETS)?;
            let is_wanted = is_open(&transaction.open_table(USES)?, id, version, number)?
                && tickets.get(key)?.is_none()
                && change_row(&mut clients_of(transaction)?, database, id, |row| {
                    row.ticket_bytes = row.ticket_bytes.saturating_add(ticket.len() as u64);
                })?;
            if is_wanted {
                tickets.insert(key, ticket)?;
            }
            Ok(is_wanted.then_some(()))
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
        self.file.read(|transaction| {
            if transaction.open_table(USES)?.get((id.number(), number))?.is_some() {
                return Ok(None);
            }
            let key = (id.number(), version_number(version), number);
            Ok(transaction.open_table(TICKETS)?.get(key)?.map(|ticket| ticket.value().to_vec()))
        })
    }

    /// Returns true if the ticket is not prepared, and its number is not claimed for another version.
    pub(crate) fn lacks_ticket(&self, id: ClientId, version: Version, number: u64) -> Result<bool> {
        let key = (id.number(), version_number(version), number);
        self.file.read(|transaction| {
            Ok(is_open(&transaction.open_table(USES)?, id, version, number)?
                && transaction.open_table(TICKETS)?.get(key)?.is_none())
        })
    }

    /// Drops the tickets of all versions except `versions`.
    pub(crate) fn keep_versions(&self, database: &str, id: ClientId, versions: &[Version]) -> Result<()> {
        let kept: Vec<u64> = versions.iter().map(|version| version_number(*version)).collect();
        let all = (id.number(), 0, 0)..=(id.number(), u64::MAX, u64::MAX);
        let stale = |key: (u128, u64, u64)| !kept.contains(&key.1);
        let found = self.file.read(|transaction| {
            let mut found = false;
            for entry in transaction.open_table(TICKETS)?.range(all.clone())? {
                found |= stale(entry?.0.value());
            }
            Ok(found)
        })?;
        if !found {
            return Ok(());
        }
        self.file.write(|transaction| {
            let mut dropped = 0;
            transaction.open_table(TICKETS)?.retain_in(all, |key, ticket| {
                let stale = stale(key);
                dropped += if stale { ticket.len() as u64 } else { 0 };
                !stale
            })?;
            change_row(&mut clients_of(transaction)?, database, id, |row| {
                row.ticket_bytes = row.ticket_bytes.saturating_sub(dropped);
            })?;
            Ok(Some(()))
        })?;
        Ok(())
    }

    /// Number of prepared tickets with the numbers from `next` on, without a gap.
    pub(crate) fn ready_from(&self, id: ClientId, version: Version, next: u64) -> Result<u64> {
        let key = |number| (id.number(), version_number(version), number);
        self.file.read(|transaction| {
            let tickets = transaction.open_table(TICKETS)?;
            let mut ready = 0;
            for (entry, expected) in tickets.range(key(next)..=key(u64::MAX))?.zip(next..) {
                if entry?.0.value() != key(expected) {
                    break;
                }
                ready += 1;
            }
            Ok(ready)
        })
    }

    /// Counts a client's tickets of one version, or of all versions if `None`.
    pub(crate) fn count_tickets(&self, id: ClientId, version: Option<Version>) -> Result<TicketCounts> {
        let (id, wanted) = (id.number(), version.map(version_number));
        self.file.read(|transaction| {
            let (tickets, marks) = (transaction.open_table(TICKETS)?, transaction.open_table(USES)?);
            let mut counts = TicketCounts::default();
            for entry in tickets.range((id, 0, 0)..=(id, u64::MAX, u64::MAX))? {
                let (_, version, number) = entry?.0.value();
                if wanted.is_none_or(|wanted| wanted == version) && marks.get((id, number))?.is_none() {
                    counts.ready += 1;
                }
            }
            counts.used = marks.range((id, 0)..=(id, u64::MAX))?.count() as u64;
            Ok(counts)
        })
    }
}

/// Claims a number for a query. Returns false if it is older than `floor`, or belongs to another
/// query or version.
fn claim(
    marks: &mut Uses<'_>,
    id: ClientId,
    version: Version,
    TicketUse { number, hash }: TicketUse,
    floor: u64,
) -> Result<bool> {
    if number < floor || number == u64::MAX {
        return Ok(false);
    }
    let (key, mark) = ((id.number(), number), (version_number(version), hash));
    if let Some(claimed) = marks.get(key)?.map(|mark| mark.value()) {
        return Ok(claimed == mark);
    }
    marks.insert(key, mark)?;
    Ok(true)
}

/// The tickets of claimed numbers.
fn prepared(
    tickets: &Tickets<'_>,
    id: ClientId,
    version: Version,
    uses: &[TicketUse],
) -> Result<std::result::Result<Vec<Vec<u8>>, TakeError>> {
    let mut taken = Vec::with_capacity(uses.len());
    for &TicketUse { number, .. } in uses {
        match tickets.get((id.number(), version_number(version), number))? {
            Some(ticket) => taken.push(ticket.value().to_vec()),
            None => return Ok(Err(TakeError::NotReady(number))),
        }
    }
    Ok(Ok(taken))
}

/// Returns true if a number is not claimed, or claimed for this version.
fn is_open(
    marks: &impl ReadableTable<(u128, u64), (u64, [u8; 32])>,
    id: ClientId,
    version: Version,
    number: u64,
) -> Result<bool> {
    let claimed = marks.get((id.number(), number))?.map(|mark| mark.value().0);
    Ok(claimed.is_none_or(|claimed| claimed == version_number(version)))
}

/// Drops the tickets for other versions with a number that is now used. Returns their bytes.
fn drop_others(tickets: &mut Tickets<'_>, id: ClientId, version: Version, number: u64) -> Result<u64> {
    let id = id.number();
    drop_where(tickets, id, |key| key.2 == number && key.1 != version_number(version))
}

/// Drops tickets and marks older than the window. Returns the tickets' bytes.
fn drop_before(tickets: &mut Tickets<'_>, marks: &mut Uses<'_>, id: ClientId, floor: u64) -> Result<u64> {
    let id = id.number();
    marks.retain_in((id, 0)..(id, floor), |_, _| false)?;
    drop_where(tickets, id, |key| key.2 < floor)
}

fn drop_where(tickets: &mut Tickets<'_>, id: u128, drops: impl Fn((u128, u64, u64)) -> bool) -> Result<u64> {
    let mut dropped = 0;
    tickets.retain_in((id, 0, 0)..=(id, u64::MAX, u64::MAX), |key, ticket| {
        let drop = drops(key);
        dropped += if drop { ticket.len() as u64 } else { 0 };
        !drop
    })?;
    Ok(dropped)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod model;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
