//! Tickets: prepared, used once, kept for a retry, dropped.
//!
//! A client counts its queries and takes ticket number 0, 1, 2 and so on. A number is used by one
//! query of one version, for ever: the use is on disk before the answer is computed. The last
//! [`window`] numbers keep their tickets and the hashes of the queries that used them, so that the
//! identical query is answered again; everything before is refused.

use papir_core::Version;
use redb::{ReadableDatabase, ReadableTable, Table};

use super::id::ClientId;
use super::row::Row;
use super::store::{Failed, Result, Store, TICKETS, USES, change_row, clients_of, number_of};

/// How many numbers before the next one can still be asked for.
pub(crate) fn window(ahead: u64) -> u64 {
    ahead.saturating_mul(4).max(16)
}

/// One query's ticket: its number, and the hash of the query.
pub(crate) type Use = (u64, [u8; 32]);

/// Why tickets are not given.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// There is no such client.
    Gone,
    /// The number was used by another query, or lies behind the window.
    Used(u64),
    /// The ticket is not prepared.
    NotReady(u64),
    /// The tables failed.
    Failed(Failed),
}

impl<E: Into<Failed>> From<E> for NotTaken {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// How many tickets a client has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TicketCounts {
    pub(crate) ready: u64,
    pub(crate) used: u64,
}

type Tickets<'t> = Table<'t, (u128, u64, u64), &'static [u8]>;
type Uses<'t> = Table<'t, (u128, u64), (u64, [u8; 32])>;

impl Store {
    /// The tickets for some queries of one version, all or none. When this returns, their use is on disk.
    pub(crate) fn take_tickets(
        &self,
        database: &str,
        id: ClientId,
        version: Version,
        uses: &[Use],
        touch: impl Fn(&mut Row),
        window: u64,
    ) -> std::result::Result<Vec<Vec<u8>>, NotTaken> {
        let transaction = self.tables.begin_write().map_err(Failed::from)?;
        let mut taken = Vec::with_capacity(uses.len());
        {
            let mut clients = clients_of(&transaction)?;
            let mut next = 0;
            if !change_row(&mut clients, database, id, |row| next = row.next_ticket)? {
                return Err(NotTaken::Gone);
            }
            let mut tickets = transaction.open_table(TICKETS).map_err(Failed::from)?;
            let mut marks = transaction.open_table(USES).map_err(Failed::from)?;
            let mut dropped = 0;
            for &one in uses {
                let floor = next.saturating_sub(window);
                taken.push(take(&tickets, &mut marks, (id, version), one, floor)?);
                next = next.max(one.0.saturating_add(1));
                dropped += drop_others(&mut tickets, id, version, one.0)?;
            }
            dropped += drop_before(&mut tickets, &mut marks, id, next.saturating_sub(window))?;
            change_row(&mut clients, database, id, |row| {
                (row.next_ticket, row.ticket_bytes) = (next, row.ticket_bytes.saturating_sub(dropped));
                touch(row);
            })?;
        }
        transaction.commit().map_err(Failed::from)?;
        Ok(taken)
    }

    /// Stores a ticket, unless its number was used meanwhile or the client has gone; whether it did.
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
            let added =
                |row: &mut Row| row.ticket_bytes = row.ticket_bytes.saturating_add(ticket.len() as u64);
            if used || !change_row(&mut clients, database, id, added)? {
                return Ok(false);
            }
            let key = (id.number(), number_of(version), number);
            transaction.open_table(TICKETS)?.insert(key, ticket)?;
        }
        transaction.commit()?;
        Ok(true)
    }

    /// The ticket of this number for a version, where it is prepared and unused.
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
        let key = (id.number(), number_of(version), number);
        Ok(transaction.open_table(TICKETS)?.get(key)?.map(|ticket| ticket.value().to_vec()))
    }

    /// Whether a ticket of this number is wanted: neither prepared nor used.
    pub(crate) fn lacks_ticket(&self, id: ClientId, version: Version, number: u64) -> Result<bool> {
        let transaction = self.tables.begin_read()?;
        let used = transaction.open_table(USES)?.get((id.number(), number))?.is_some();
        let key = (id.number(), number_of(version), number);
        Ok(!used && transaction.open_table(TICKETS)?.get(key)?.is_none())
    }

    /// Drops the tickets of versions that are not in `versions`.
    pub(crate) fn keep_versions(&self, database: &str, id: ClientId, versions: &[Version]) -> Result<()> {
        let kept: Vec<u64> = versions.iter().map(|version| number_of(*version)).collect();
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
            let less = |row: &mut Row| row.ticket_bytes = row.ticket_bytes.saturating_sub(dropped);
            change_row(&mut clients, database, id, less)?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// How many tickets of a version a client has; of all versions where `None`.
    pub(crate) fn count_tickets(&self, id: ClientId, version: Option<Version>) -> Result<TicketCounts> {
        let transaction = self.tables.begin_read()?;
        let (tickets, marks) = (transaction.open_table(TICKETS)?, transaction.open_table(USES)?);
        let (id, wanted) = (id.number(), version.map(number_of));
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

/// One ticket for one query, and the mark of its use.
fn take(
    tickets: &Tickets<'_>,
    marks: &mut Uses<'_>,
    (id, version): (ClientId, Version),
    (number, hash): Use,
    floor: u64,
) -> std::result::Result<Vec<u8>, NotTaken> {
    if number < floor || number == u64::MAX {
        return Err(NotTaken::Used(number));
    }
    let (mark_key, mark) = ((id.number(), number), (number_of(version), hash));
    let used = marks.get(mark_key)?.map(|mark| mark.value());
    if used.is_some_and(|used| used != mark) {
        return Err(NotTaken::Used(number));
    }
    let ticket = tickets.get((id.number(), mark.0, number))?.map(|ticket| ticket.value().to_vec());
    let missing = if used.is_some() { NotTaken::Used(number) } else { NotTaken::NotReady(number) };
    let ticket = ticket.ok_or(missing)?;
    marks.insert(mark_key, mark)?;
    Ok(ticket)
}

/// Drops the tickets of this number for other versions: the number is used. Gives their bytes.
fn drop_others(tickets: &mut Tickets<'_>, id: ClientId, version: Version, number: u64) -> Result<u64> {
    let id = id.number();
    drop_where(tickets, id, |key| key.2 == number && key.1 != number_of(version))
}

/// Drops what lies before the window. Gives the tickets' bytes.
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

        fn take(&self, version: Version, uses: &[(u64, u8)]) -> std::result::Result<Vec<Vec<u8>>, NotTaken> {
            let uses: Vec<Use> = uses.iter().map(|&(number, hash)| (number, [hash; 32])).collect();
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
    fn a_ticket_is_given_again_to_the_identical_query_only() {
        let table = Table::new();
        for _ in 0..3 {
            assert_eq!(table.take(OLD, &[(1, 9)]).unwrap(), [[1; 3]]);
        }
        assert!(matches!(table.take(OLD, &[(1, 8)]), Err(NotTaken::Used(1))));
        assert_eq!(table.row().next_ticket, 2);
        assert_eq!(table.take(OLD, &[(0, 8)]).unwrap(), [[0; 3]], "an older one that is ready");
        assert_eq!(table.row().next_ticket, 2);
        assert!(matches!(table.take(OLD, &[(4, 8)]), Err(NotTaken::NotReady(4))));
        let stranger = table.store.take_tickets("a", ClientId::of(8), OLD, &[(2, [0; 32])], |_| {}, 16);
        assert!(matches!(stranger, Err(NotTaken::Gone)));
    }

    #[test]
    fn several_tickets_are_taken_together_or_not_at_all() {
        let table = Table::new();
        assert!(matches!(table.take(OLD, &[(2, 1), (3, 1), (4, 1)]), Err(NotTaken::NotReady(4))));
        assert_eq!(table.row().next_ticket, 0);
        assert!(matches!(table.take(OLD, &[(2, 1), (2, 2)]), Err(NotTaken::Used(2))));
        assert_eq!(table.take(OLD, &[(2, 2), (3, 1)]).unwrap(), [[2; 3], [3; 3]], "nothing was marked");
        let counts = table.store.count_tickets(id(), Some(OLD)).unwrap();
        assert_eq!(counts, TicketCounts { ready: 2, used: 2 });
    }

    #[test]
    fn a_number_is_used_in_one_version() {
        let table = Table::new();
        (0..4).for_each(|number| table.put(NEW, number));
        assert_eq!(table.row().ticket_bytes, 8 * 3);
        table.take(OLD, &[(0, 1)]).unwrap();
        assert!(matches!(table.take(NEW, &[(0, 1)]), Err(NotTaken::Used(0))));
        assert!(!table.store.put_ticket("a", id(), NEW, 0, b"late").unwrap(), "used meanwhile");
        assert!(!table.store.lacks_ticket(id(), NEW, 0).unwrap());
        assert_eq!(table.row().ticket_bytes, 7 * 3);
        table.store.keep_versions("a", id(), &[NEW]).unwrap();
        assert_eq!(table.row().ticket_bytes, 3 * 3);
        assert!(table.store.lacks_ticket(id(), OLD, 1).unwrap());
        assert_eq!(table.take(NEW, &[(1, 1)]).unwrap(), [[1; 3]]);
    }

    #[test]
    fn what_lies_before_the_window_is_dropped_and_refused() {
        let table = Table::new();
        table.take(OLD, &[(0, 1)]).unwrap();
        table.put(OLD, 18);
        table.take(OLD, &[(18, 1)]).unwrap();
        assert_eq!(table.row().ticket_bytes, 2 * 3, "3 and 18 are left");
        for (number, hash) in [(0, 1), (0, 2), (2, 1)] {
            assert!(matches!(table.take(OLD, &[(number, hash)]), Err(NotTaken::Used(_))), "{number}");
        }
        assert_eq!(table.take(OLD, &[(3, 1)]).unwrap(), [[3; 3]]);
        assert_eq!(table.store.count_tickets(id(), None).unwrap(), TicketCounts { ready: 0, used: 2 });
    }
}
