//! Ticket tables: each ticket is prepared, used by one query, kept for retries, and dropped.
//!
//! A client numbers its queries and uses tickets 0, 1, 2 and so on. Each number can be used by one
//! query of one version only, and the use is on disk before the answer is computed. The last
//! [`window`] numbers keep their tickets and the hashes of the queries that used them, so that an
//! identical query is answered again. Older numbers are refused.

use papir_core::Version;
use redb::{ReadableDatabase, ReadableTable, Table};

use super::error::StoreError;
use super::id::ClientId;
use super::row::Row;
use super::store::{Result, Store, TICKETS, USES, change_row, clients_of, version_number};

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
    /// Takes the tickets for queries of one version, all or none. Their use is on disk on return.
    pub(crate) fn take_tickets(
        &self,
        database: &str,
        id: ClientId,
        version: Version,
        uses: &[TicketUse],
        touch: impl Fn(&mut Row),
        window: u64,
    ) -> std::result::Result<Vec<Vec<u8>>, TakeError> {
        let transaction = self.tables.begin_write().map_err(StoreError::from)?;
        let mut taken = Vec::with_capacity(uses.len());
        {
            let mut clients = clients_of(&transaction)?;
            let mut next = 0;
            if !change_row(&mut clients, database, id, |row| next = row.next_ticket)? {
                return Err(TakeError::Gone);
            }
            let mut tickets = transaction.open_table(TICKETS).map_err(StoreError::from)?;
            let mut marks = transaction.open_table(USES).map_err(StoreError::from)?;
            let mut dropped = 0;
            for &ticket_use in uses {
                let floor = next.saturating_sub(window);
                taken.push(take(&tickets, &mut marks, id, version, ticket_use, floor)?);
                next = next.max(ticket_use.number.saturating_add(1));
                dropped += drop_others(&mut tickets, id, version, ticket_use.number)?;
            }
            dropped += drop_before(&mut tickets, &mut marks, id, next.saturating_sub(window))?;
            change_row(&mut clients, database, id, |row| {
                (row.next_ticket, row.ticket_bytes) = (next, row.ticket_bytes.saturating_sub(dropped));
                touch(row);
            })?;
        }
        transaction.commit().map_err(StoreError::from)?;
        Ok(taken)
    }

    /// Stores a ticket, unless its number was used or the client was removed meanwhile. Returns
    /// whether the ticket was stored.
    pub(crate) fn put_ticket(
        &self,
        database: &str,
        id: ClientId,
        version: Version,
        number: u64,
        ticket: &[u8],
    ) -> Result<bool> {
        let transaction = self.tables.begin_write()?;
        {
            let mut clients = clients_of(&transaction)?;
            let used = transaction.open_table(USES)?.get((id.number(), number))?.is_some();
            let stored = !used
                && change_row(&mut clients, database, id, |row| {
                    row.ticket_bytes = row.ticket_bytes.saturating_add(ticket.len() as u64);
                })?;
            if !stored {
                return Ok(false);
            }
            let key = (id.number(), version_number(version), number);
            transaction.open_table(TICKETS)?.insert(key, ticket)?;
        }
        transaction.commit()?;
        Ok(true)
    }

    /// A prepared and unused ticket.
    pub(crate) fn unused_ticket(
        &self,
        id: ClientId,
        version: Version,
        number: u64,
    ) -> Result<Option<Vec<u8>>> {
        let transaction = self.tables.begin_read()?;
        if transaction.open_table(USES)?.get((id.number(), number))?.is_some() {
            return Ok(None);
        }
        let key = (id.number(), version_number(version), number);
        Ok(transaction.open_table(TICKETS)?.get(key)?.map(|ticket| ticket.value().to_vec()))
    }

    /// Returns whether the ticket is neither prepared nor used.
    pub(crate) fn lacks_ticket(&self, id: ClientId, version: Version, number: u64) -> Result<bool> {
        let transaction = self.tables.begin_read()?;
        let used = transaction.open_table(USES)?.get((id.number(), number))?.is_some();
        let key = (id.number(), version_number(version), number);
        Ok(!used && transaction.open_table(TICKETS)?.get(key)?.is_none())
    }

    /// Drops the tickets of all versions except `versions`.
    pub(crate) fn keep_versions(&self, database: &str, id: ClientId, versions: &[Version]) -> Result<()> {
        let kept: Vec<u64> = versions.iter().map(|version| version_number(*version)).collect();
        let all = (id.number(), 0, 0)..=(id.number(), u64::MAX, u64::MAX);
        let stale = |key: (u128, u64, u64)| !kept.contains(&key.1);
        let tickets = self.tables.begin_read()?.open_table(TICKETS)?;
        let mut found = false;
        for entry in tickets.range(all.clone())? {
            found |= stale(entry?.0.value());
        }
        if !found {
            return Ok(());
        }
        let transaction = self.tables.begin_write()?;
        {
            let mut dropped = 0;
            transaction.open_table(TICKETS)?.retain_in(all, |key, ticket| {
                let stale = stale(key);
                dropped += if stale { ticket.len() as u64 } else { 0 };
                !stale
            })?;
            let mut clients = clients_of(&transaction)?;
            change_row(&mut clients, database, id, |row| {
                row.ticket_bytes = row.ticket_bytes.saturating_sub(dropped);
            })?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Counts a client's tickets of one version, or of all versions if `None`.
    pub(crate) fn count_tickets(&self, id: ClientId, version: Option<Version>) -> Result<TicketCounts> {
        let transaction = self.tables.begin_read()?;
        let (tickets, marks) = (transaction.open_table(TICKETS)?, transaction.open_table(USES)?);
        let (id, wanted) = (id.number(), version.map(version_number));
        let mut counts = TicketCounts::default();
        for entry in tickets.range((id, 0, 0)..=(id, u64::MAX, u64::MAX))? {
            let (_, version, number) = entry?.0.value();
            if wanted.is_none_or(|wanted| wanted == version) && marks.get((id, number))?.is_none() {
                counts.ready += 1;
            }
        }
        counts.used = marks.range((id, 0)..=(id, u64::MAX))?.count() as u64;
        Ok(counts)
    }
}

/// Takes one ticket and marks its use.
fn take(
    tickets: &Tickets<'_>,
    marks: &mut Uses<'_>,
    id: ClientId,
    version: Version,
    TicketUse { number, hash }: TicketUse,
    floor: u64,
) -> std::result::Result<Vec<u8>, TakeError> {
    if number < floor || number == u64::MAX {
        return Err(TakeError::Used(number));
    }
    let (mark_key, mark) = ((id.number(), number), (version_number(version), hash));
    let used = marks.get(mark_key)?.map(|mark| mark.value());
    if used.is_some_and(|used| used != mark) {
        return Err(TakeError::Used(number));
    }
    let ticket = tickets.get((id.number(), mark.0, number))?.map(|ticket| ticket.value().to_vec());
    let missing = if used.is_some() { TakeError::Used(number) } else { TakeError::NotReady(number) };
    let ticket = ticket.ok_or(missing)?;
    marks.insert(mark_key, mark)?;
    Ok(ticket)
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
mod tests {
    use super::super::store::Quota;
    use super::*;

    const OLD: Version = Version([1; 8]);
    const NEW: Version = Version([2; 8]);
    const QUOTA: Quota = Quota { clients: 10, bytes: 1000 };

    struct Table {
        _folder: tempfile::TempDir,
        store: Store,
    }

    impl Table {
        /// A client with tickets 0 to 3 of the old version.
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(&folder.path().join("registry.redb")).unwrap();
            store.add("a", id(), &Row::new(10, OLD, 0, 1000), QUOTA).unwrap();
            let table = Self { _folder: folder, store };
            (0..4).for_each(|number| table.put(OLD, number));
            table
        }

        fn put(&self, version: Version, number: u64) {
            assert!(self.store.put_ticket("a", id(), version, number, &[number as u8; 3]).unwrap());
        }

        fn take(&self, version: Version, uses: &[(u64, u8)]) -> std::result::Result<Vec<Vec<u8>>, TakeError> {
            let ticket_use = |&(number, hash): &(u64, u8)| TicketUse { number, hash: [hash; 32] };
            let uses: Vec<TicketUse> = uses.iter().map(ticket_use).collect();
            self.store.take_tickets("a", id(), version, &uses, |_| {}, 16)
        }

        fn row(&self) -> Row {
            self.store.get("a", id()).unwrap().unwrap()
        }
    }

    fn id() -> ClientId {
        ClientId::of(7)
    }

    #[test]
    fn a_used_ticket_is_available_only_to_the_identical_query() {
        let table = Table::new();
        for _ in 0..3 {
            assert_eq!(table.take(OLD, &[(1, 9)]).unwrap(), [[1; 3]]);
        }
        assert!(matches!(table.take(OLD, &[(1, 8)]), Err(TakeError::Used(1))));
        assert_eq!(table.row().next_ticket, 2);
        assert_eq!(table.take(OLD, &[(0, 8)]).unwrap(), [[0; 3]], "an older ticket that is ready");
        assert_eq!(table.row().next_ticket, 2);
        assert!(matches!(table.take(OLD, &[(4, 8)]), Err(TakeError::NotReady(4))));
        let uses = [TicketUse { number: 2, hash: [0; 32] }];
        let stranger = table.store.take_tickets("a", ClientId::of(8), OLD, &uses, |_| {}, 16);
        assert!(matches!(stranger, Err(TakeError::Gone)));
    }

    #[test]
    fn tickets_are_taken_all_or_none() {
        let table = Table::new();
        assert!(matches!(table.take(OLD, &[(2, 1), (3, 1), (4, 1)]), Err(TakeError::NotReady(4))));
        assert_eq!(table.row().next_ticket, 0);
        assert!(matches!(table.take(OLD, &[(2, 1), (2, 2)]), Err(TakeError::Used(2))));
        assert_eq!(table.take(OLD, &[(2, 2), (3, 1)]).unwrap(), [[2; 3], [3; 3]], "nothing was marked");
        let counts = table.store.count_tickets(id(), Some(OLD)).unwrap();
        assert_eq!(counts, TicketCounts { ready: 2, used: 2 });
    }

    #[test]
    fn a_number_is_used_in_one_version_only() {
        let table = Table::new();
        (0..4).for_each(|number| table.put(NEW, number));
        assert_eq!(table.row().ticket_bytes, 8 * 3);
        table.take(OLD, &[(0, 1)]).unwrap();
        assert!(matches!(table.take(NEW, &[(0, 1)]), Err(TakeError::Used(0))));
        assert!(!table.store.put_ticket("a", id(), NEW, 0, b"late").unwrap(), "used meanwhile");
        assert!(!table.store.lacks_ticket(id(), NEW, 0).unwrap());
        assert_eq!(table.row().ticket_bytes, 7 * 3);
        table.store.keep_versions("a", id(), &[NEW]).unwrap();
        assert_eq!(table.row().ticket_bytes, 3 * 3);
        assert!(table.store.lacks_ticket(id(), OLD, 1).unwrap());
        assert_eq!(table.take(NEW, &[(1, 1)]).unwrap(), [[1; 3]]);
    }

    #[test]
    fn numbers_older_than_the_window_are_dropped_and_refused() {
        let table = Table::new();
        table.take(OLD, &[(0, 1)]).unwrap();
        table.put(OLD, 18);
        table.take(OLD, &[(18, 1)]).unwrap();
        assert_eq!(table.row().ticket_bytes, 2 * 3, "tickets 3 and 18 are left");
        for (number, hash) in [(0, 1), (0, 2), (2, 1)] {
            assert!(matches!(table.take(OLD, &[(number, hash)]), Err(TakeError::Used(_))), "{number}");
        }
        assert_eq!(table.take(OLD, &[(3, 1)]).unwrap(), [[3; 3]]);
        assert_eq!(table.store.count_tickets(id(), None).unwrap(), TicketCounts { ready: 0, used: 2 });
    }
}
