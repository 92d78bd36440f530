//! Registry tables, durable in one file.
//!
//! Every change is one transaction and is on disk when the function returns.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use papir_core::Version;
use redb::{Database, ReadableDatabase, ReadableTable, Table, TableDefinition, WriteTransaction};

use super::error::StoreError;
use super::id::ClientId;
use super::key_files::make_private;
use super::row::{Row, Stage};

/// (database, client) → [`Row`].
const CLIENTS: TableDefinition<'_, (&str, u128), &[u8]> = TableDefinition::new("clients v1");
/// (client, version, number) → ticket.
pub(super) const TICKETS: TableDefinition<'_, (u128, u64, u64), &[u8]> = TableDefinition::new("tickets v1");
/// (client, number) → version and hash of the query that used the ticket.
pub(super) const USES: TableDefinition<'_, (u128, u64), (u64, [u8; 32])> = TableDefinition::new("uses v1");

pub(crate) type Result<T> = std::result::Result<T, StoreError>;

/// The table of clients, open for writing.
pub(super) type Clients<'t> = Table<'t, (&'static str, u128), &'static [u8]>;

/// Quota for all clients of a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    pub(crate) clients: u64,
    pub(crate) bytes: u64,
}

/// The tables.
pub(crate) struct Store {
    pub(super) tables: Database,
}

/// A version as a number in table keys.
pub(super) fn version_number(version: Version) -> u64 {
    u64::from_le_bytes(version.0)
}

impl Store {
    /// Opens or creates the file. Only one process can have it open.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        make_private(path)?;
        let tables = Database::create(path)?;
        let transaction = tables.begin_write()?;
        transaction.open_table(CLIENTS)?;
        transaction.open_table(TICKETS)?;
        transaction.open_table(USES)?;
        transaction.commit()?;
        Ok(Self { tables })
    }

    /// A client of a database.
    pub(crate) fn get(&self, database: &str, id: ClientId) -> Result<Option<Row>> {
        let clients = self.tables.begin_read()?.open_table(CLIENTS)?;
        clients.get((database, id.number()))?.map(|bytes| Ok(Row::decode(bytes.value())?)).transpose()
    }

    /// All clients of a database.
    pub(crate) fn clients(&self, database: &str) -> Result<Vec<(ClientId, Row)>> {
        let clients = self.tables.begin_read()?.open_table(CLIENTS)?;
        rows(&clients, database)
    }

    /// The databases that have clients.
    pub(crate) fn databases(&self) -> Result<BTreeSet<String>> {
        let clients = self.tables.begin_read()?.open_table(CLIENTS)?;
        let names = clients.iter()?.map(|entry| Ok(entry?.0.value().0.to_owned()));
        names.collect()
    }

    /// The clients of all databases.
    pub(crate) fn all_ids(&self) -> Result<HashSet<ClientId>> {
        let clients = self.tables.begin_read()?.open_table(CLIENTS)?;
        clients.iter()?.map(|entry| Ok(ClientId::of(entry?.0.value().1))).collect()
    }

    /// Adds a client. Returns the clients that were removed: expired ones, and the least recently
    /// used ones beyond the quota.
    pub(crate) fn add(&self, database: &str, id: ClientId, row: &Row, quota: Quota) -> Result<Vec<ClientId>> {
        let transaction = self.tables.begin_write()?;
        let gone = {
            let mut clients = transaction.open_table(CLIENTS)?;
            let gone = evictions(rows(&clients, database)?, row, quota);
            for id in &gone {
                clients.remove((database, id.number()))?;
            }
            clients.insert((database, id.number()), row.encode().as_slice())?;
            gone
        };
        gone.iter().try_for_each(|id| remove_tickets(&transaction, *id))?;
        transaction.commit()?;
        Ok(gone)
    }

    /// Changes a client's row. Returns whether the client exists.
    pub(crate) fn change(&self, database: &str, id: ClientId, change: impl FnOnce(&mut Row)) -> Result<bool> {
        let transaction = self.tables.begin_write()?;
        let found = {
            let mut clients = transaction.open_table(CLIENTS)?;
            change_row(&mut clients, database, id, change)?
        };
        transaction.commit()?;
        Ok(found)
    }

    /// Removes a client and its tickets. Returns whether it existed.
    pub(crate) fn remove(&self, database: &str, id: ClientId) -> Result<bool> {
        let transaction = self.tables.begin_write()?;
        let found = transaction.open_table(CLIENTS)?.remove((database, id.number()))?.is_some();
        if found {
            remove_tickets(&transaction, id)?;
        }
        transaction.commit()?;
        Ok(found)
    }

    /// Removes the expired clients of a database and returns them.
    pub(crate) fn remove_expired(&self, database: &str, now: u64) -> Result<Vec<ClientId>> {
        let mut gone = Vec::new();
        for (id, row) in self.clients(database)? {
            if row.is_expired(now) {
                self.remove(database, id)?;
                gone.push(id);
            }
        }
        Ok(gone)
    }
}

/// The rows of a database.
fn rows(
    clients: &impl ReadableTable<(&'static str, u128), &'static [u8]>,
    database: &str,
) -> Result<Vec<(ClientId, Row)>> {
    let range = clients.range((database, 0)..=(database, u128::MAX))?;
    range
        .map(|entry| {
            let (key, bytes) = entry?;
            Ok((ClientId::of(key.value().1), Row::decode(bytes.value())?))
        })
        .collect()
}

/// Changes one row within a transaction.
pub(super) fn change_row(
    clients: &mut Clients<'_>,
    database: &str,
    id: ClientId,
    change: impl FnOnce(&mut Row),
) -> Result<bool> {
    let key = (database, id.number());
    let Some(mut row) = clients.get(key)?.map(|bytes| Row::decode(bytes.value())).transpose()? else {
        return Ok(false);
    };
    change(&mut row);
    clients.insert(key, row.encode().as_slice())?;
    Ok(true)
}

/// Opens the table of clients within a transaction.
pub(super) fn clients_of(transaction: &WriteTransaction) -> Result<Clients<'_>> {
    Ok(transaction.open_table(CLIENTS)?)
}

/// Removes all tickets of a client.
fn remove_tickets(transaction: &WriteTransaction, id: ClientId) -> Result<()> {
    let id = id.number();
    transaction.open_table(TICKETS)?.retain_in((id, 0, 0)..=(id, u64::MAX, u64::MAX), |_, _| false)?;
    transaction.open_table(USES)?.retain_in((id, 0)..=(id, u64::MAX), |_, _| false)?;
    Ok(())
}

/// The clients to remove so that `new` fits: the expired ones, then the least recently used ones.
fn evictions(mut rows: Vec<(ClientId, Row)>, new: &Row, quota: Quota) -> Vec<ClientId> {
    // Uploads are removed before registered clients: starting an upload is free, and must not evict
    // clients that completed theirs.
    rows.sort_by_key(|(_, row)| (!row.is_expired(new.created), row.stage == Stage::Registered, row.used));
    let mut count = rows.len() as u64 + 1;
    let mut bytes = rows.iter().fold(new.bytes(), |sum, (_, row)| sum.saturating_add(row.bytes()));
    let mut gone = Vec::new();
    for (id, row) in rows {
        if !row.is_expired(new.created) && count <= quota.clients && bytes <= quota.bytes {
            break;
        }
        count -= 1;
        bytes = bytes.saturating_sub(row.bytes());
        gone.push(id);
    }
    gone
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const QUOTA: Quota = Quota { clients: 3, bytes: 100 };

    fn id(number: u128) -> ClientId {
        ClientId::of(number)
    }

    fn row(now: u64, bytes: u64) -> Row {
        Row::new(bytes, Version([0; 8]), now, 1000)
    }

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("registry.redb")).unwrap();
        (folder, store)
    }

    #[test]
    fn the_least_recently_used_clients_are_evicted_beyond_the_quota() {
        let (_folder, store) = store();
        for (number, now) in [(1, 10), (2, 20), (3, 30)] {
            assert_eq!(store.add("a", id(number), &row(now, 10), QUOTA).unwrap(), []);
        }
        assert_eq!(
            store.add("b", id(9), &row(31, 10), QUOTA).unwrap(),
            [],
            "each database has its own quota"
        );
        store.change("a", id(1), |row| row.used = 35).unwrap();
        assert_eq!(store.add("a", id(4), &row(40, 10), QUOTA).unwrap(), [id(2)]);
        assert_eq!(store.add("a", id(5), &row(50, 85), QUOTA).unwrap(), [id(3), id(1)]);
        let left: Vec<_> = store.clients("a").unwrap().into_iter().map(|(id, _)| id).collect();
        assert_eq!(left, [id(4), id(5)]);
        assert_eq!(store.databases().unwrap().into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn expired_clients_are_removed_first() {
        let (_folder, store) = store();
        store.add("a", id(1), &row(10, 10), QUOTA).unwrap();
        store.add("a", id(2), &row(500, 10), QUOTA).unwrap();
        store.change("a", id(1), |row| row.used = 600).unwrap();
        assert_eq!(store.add("a", id(3), &row(1010, 10), QUOTA).unwrap(), [id(1)]);
        assert_eq!(store.remove_expired("a", 1499).unwrap(), []);
        assert_eq!(store.remove_expired("a", 1500).unwrap(), [id(2)]);
        assert_eq!(store.all_ids().unwrap(), HashSet::from([id(3)]));
    }
}
