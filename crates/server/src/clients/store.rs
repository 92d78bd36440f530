//! Registry tables, durable in one file.
//!
//! Every change is one transaction and is on disk when the function returns.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::time::Duration;

use papir_core::Version;
use redb::{ReadableTable, Table, TableDefinition, WriteTransaction};

use super::error::StoreError;
use super::id::ClientId;
use super::quota::{Quota, make_room};
use super::row::Row;
use super::table_file::TableFile;

/// (database, client) → [`Row`].
const CLIENTS: TableDefinition<'_, (&str, u128), &[u8]> = TableDefinition::new("clients v1");
/// (client, version, number) → ticket.
pub(super) const TICKETS: TableDefinition<'_, (u128, u64, u64), &[u8]> = TableDefinition::new("tickets v1");
/// (client, number) → version and hash of the query that used the ticket.
pub(super) const USES: TableDefinition<'_, (u128, u64), (u64, [u8; 32])> = TableDefinition::new("uses v1");

pub(crate) type Result<T> = std::result::Result<T, StoreError>;

/// The table of clients, open for writing.
pub(super) type Clients<'t> = Table<'t, (&'static str, u128), &'static [u8]>;

/// The outcome of adding a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// These clients were removed for it.
    InPlaceOf(Vec<ClientId>),
    /// The quota is used up. The advised retry delay.
    Full(Duration),
}

/// The tables.
pub(crate) struct Store {
    pub(super) file: TableFile,
}

/// A version as a number in table keys.
pub(super) fn version_number(version: Version) -> u64 {
    u64::from_le_bytes(version.0)
}

impl Store {
    /// Opens or creates the file. Only one process can have it open.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = TableFile::open(path)?;
        file.write(|transaction| {
            transaction.open_table(CLIENTS)?;
            transaction.open_table(TICKETS)?;
            transaction.open_table(USES)?;
            Ok(Some(()))
        })?;
        Ok(Self { file })
    }

    /// A client of a database.
    pub(crate) fn get(&self, database: &str, id: ClientId) -> Result<Option<Row>> {
        self.file.read(|transaction| {
            let clients = transaction.open_table(CLIENTS)?;
            clients.get((database, id.number()))?.map(|bytes| Ok(Row::decode(bytes.value())?)).transpose()
        })
    }

    /// All clients of a database.
    pub(crate) fn clients(&self, database: &str) -> Result<Vec<(ClientId, Row)>> {
        self.file.read(|transaction| rows(&transaction.open_table(CLIENTS)?, database))
    }

    /// The databases that have clients.
    pub(crate) fn databases(&self) -> Result<BTreeSet<String>> {
        self.file.read(|transaction| {
            let clients = transaction.open_table(CLIENTS)?;
            let names = clients.iter()?.map(|entry| Ok(entry?.0.value().0.to_owned()));
            names.collect()
        })
    }

    /// The clients of all databases.
    pub(crate) fn all_ids(&self) -> Result<HashSet<ClientId>> {
        self.file.read(|transaction| {
            let clients = transaction.open_table(CLIENTS)?;
            clients.iter()?.map(|entry| Ok(ClientId::of(entry?.0.value().1))).collect()
        })
    }

    /// Adds a client, if the quota allows it. Others expire by the time `expiry`.
    pub(crate) fn add(
        &self,
        database: &str,
        id: ClientId,
        row: &Row,
        (quota, expiry): (Quota, u64),
    ) -> Result<Added> {
        let mut full = Added::Full(Duration::ZERO);
        let added = self.file.write(|transaction| {
            let gone = {
                let mut clients = transaction.open_table(CLIENTS)?;
                let gone = match make_room(rows(&clients, database)?, row, quota, expiry) {
                    Ok(gone) => gone,
                    Err(delay) => {
                        full = Added::Full(delay);
                        return Ok(None);
                    }
                };
                for id in &gone {
                    clients.remove((database, id.number()))?;
                }
                clients.insert((database, id.number()), row.encode().as_slice())?;
                gone
            };
            gone.iter().try_for_each(|id| remove_tickets(transaction, *id))?;
            Ok(Some(Added::InPlaceOf(gone)))
        })?;
        Ok(added.unwrap_or(full))
    }

    /// Changes a client's row. Returns whether the client exists.
    pub(crate) fn change(&self, database: &str, id: ClientId, change: impl FnOnce(&mut Row)) -> Result<bool> {
        let changed = self.file.write(|transaction| {
            let found = change_row(&mut clients_of(transaction)?, database, id, change)?;
            Ok(found.then_some(()))
        })?;
        Ok(changed.is_some())
    }

    /// Removes a client and its tickets. Returns whether it existed.
    pub(crate) fn remove(&self, database: &str, id: ClientId) -> Result<bool> {
        let removed = self.file.write(|transaction| {
            if transaction.open_table(CLIENTS)?.remove((database, id.number()))?.is_none() {
                return Ok(None);
            }
            remove_tickets(transaction, id).map(Some)
        })?;
        Ok(removed.is_some())
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const QUOTA: Quota = Quota { clients: 3, bytes: 1000 };

    fn id(number: u128) -> ClientId {
        ClientId::of(number)
    }

    fn row(now: u64) -> Row {
        Row::new([0; 16], 10, Version([0; 8]), now, 1000)
    }

    #[test]
    fn each_database_has_its_own_quota() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("registry.redb")).unwrap();
        let added =
            |database, number, row: &Row| store.add(database, id(number), row, (QUOTA, row.created)).unwrap();
        for number in 1..=3 {
            assert_eq!(added("a", number, &row(10)), Added::InPlaceOf(vec![]));
        }
        assert!(matches!(added("a", 4, &row(11)), Added::Full(_)));
        assert_eq!(added("b", 9, &row(11)), Added::InPlaceOf(vec![]));
        assert_eq!(store.all_ids().unwrap(), [1, 2, 3, 9].map(id).into());
        assert_eq!(store.databases().unwrap().into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn expired_clients_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("registry.redb")).unwrap();
        store.add("a", id(1), &row(10), (QUOTA, 10)).unwrap();
        store.add("a", id(2), &row(500), (QUOTA, 500)).unwrap();
        assert_eq!(store.add("a", id(3), &row(1010), (QUOTA, 1010)).unwrap(), Added::InPlaceOf(vec![id(1)]));
        assert_eq!(store.remove_expired("a", 1499).unwrap(), []);
        assert_eq!(store.remove_expired("a", 1500).unwrap(), [id(2)]);
        assert_eq!(store.all_ids().unwrap(), HashSet::from([id(3)]));
    }
}
