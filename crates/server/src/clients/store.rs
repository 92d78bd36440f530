//! The clients in the registry's tables.
//!
//! Every change is one transaction and is durable when the function returns.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::time::Duration;

use super::embedded::Embedded;
use super::error::StoreError;
use super::id::ClientId;
use super::quota::{Quota, make_room};
use super::row::ClientRow;
use super::tables::{ReadTables, Result, Storage, Tables};

/// The outcome of adding a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// The clients that were removed for it.
    InPlaceOf(Vec<ClientId>),
    /// The advised retry delay: the quota is used up.
    Full(Duration),
}

/// The tables.
pub(crate) struct Store {
    pub(super) storage: Box<dyn Storage>,
}

impl Store {
    /// Opens or creates a file. Only one process can have it open.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Ok(Self {
            storage: Box::new(Embedded::open(path)?),
        })
    }

    /// Reads a consistent state of the tables.
    pub(super) fn read<T>(&self, work: impl FnOnce(&mut dyn ReadTables) -> Result<T>) -> Result<T> {
        let mut work = Some(work);
        let mut found = None;
        self.storage.read(&mut |tables| {
            if let Some(work) = work.take() {
                found = Some(work(tables)?);
            }
            Ok(())
        })?;
        found.ok_or_else(StoreError::aborted)
    }

    /// Changes the tables, unless `work` returns `None` or fails. The change is durable on return.
    pub(super) fn write<T>(
        &self,
        work: impl FnOnce(&mut dyn Tables) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let mut work = Some(work);
        let mut outcome = None;
        self.storage.write(&mut |tables| {
            if let Some(work) = work.take() {
                outcome = work(tables)?;
            }
            Ok(outcome.is_some())
        })?;
        Ok(outcome)
    }

    /// A client of a database.
    pub(crate) fn get(&self, database: &str, id: ClientId) -> Result<Option<ClientRow>> {
        self.read(|tables| tables.row(database, id))
    }

    /// All clients of a database.
    pub(crate) fn clients(&self, database: &str) -> Result<Vec<(ClientId, ClientRow)>> {
        self.read(|tables| tables.rows(database))
    }

    /// The databases that have clients.
    pub(crate) fn databases(&self) -> Result<BTreeSet<String>> {
        self.read(|tables| tables.databases())
    }

    /// The clients of all databases.
    pub(crate) fn all_ids(&self) -> Result<HashSet<ClientId>> {
        self.read(|tables| tables.ids())
    }

    /// Adds a client, if the quota allows it. Others expire by the time `expiry`.
    pub(crate) fn add(
        &self,
        database: &str,
        id: ClientId,
        row: &ClientRow,
        quota: Quota,
        expiry: u64,
    ) -> Result<Added> {
        let mut full = Added::Full(Duration::ZERO);
        let added = self.write(|tables| {
            let gone = match make_room(tables.rows(database)?, row, quota, expiry) {
                Ok(gone) => gone,
                Err(delay) => {
                    full = Added::Full(delay);
                    return Ok(None);
                }
            };

            for id in &gone {
                tables.remove_row(database, *id)?;
            }
            tables.put_row(database, id, row)?;
            Ok(Some(Added::InPlaceOf(gone)))
        })?;
        Ok(added.unwrap_or(full))
    }

    /// Changes a client's row. Returns whether the client exists.
    pub(crate) fn change(
        &self,
        database: &str,
        id: ClientId,
        change: impl FnOnce(&mut ClientRow),
    ) -> Result<bool> {
        let changed = self.write(|tables| {
            let Some(mut row) = tables.row(database, id)? else {
                return Ok(None);
            };
            change(&mut row);
            tables.put_row(database, id, &row).map(Some)
        })?;
        Ok(changed.is_some())
    }

    /// Removes a client and its tickets. Returns whether it existed.
    pub(crate) fn remove(&self, database: &str, id: ClientId) -> Result<bool> {
        let removed = self.write(|tables| Ok(tables.remove_row(database, id)?.then_some(())))?;
        Ok(removed.is_some())
    }

    /// Removes the expired clients of a database and returns them.
    pub(crate) fn remove_expired(&self, database: &str, now: u64) -> Result<Vec<ClientId>> {
        let mut gone = Vec::new();
        for (id, row) in self.clients(database)? {
            if row.is_expired(now) {
                // A change of its own: others must not wait for all of them.
                self.remove(database, id)?;
                gone.push(id);
            }
        }
        Ok(gone)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::Version;

    use super::*;
    use crate::clients::test_stores::TestStore;

    const QUOTA: Quota = Quota {
        clients: 3,
        bytes: 1000,
    };

    fn id(number: u128) -> ClientId {
        ClientId::of(number)
    }

    fn row(now: u64) -> ClientRow {
        ClientRow::new([0; 16], 10, Version([0; 8]), now, 1000)
    }

    #[test]
    fn each_database_has_its_own_quota() {
        TestStore::of_each_kind()
            .iter()
            .for_each(|store| check_quotas(store));
    }

    fn check_quotas(store: &Store) {
        let added = |database, number, row: &ClientRow| {
            store
                .add(database, id(number), row, QUOTA, row.created)
                .unwrap()
        };

        for number in 1..=3 {
            assert_eq!(added("a", number, &row(10)), Added::InPlaceOf(vec![]));
        }

        assert!(matches!(added("a", 4, &row(11)), Added::Full(_)));
        assert_eq!(added("b", 9, &row(11)), Added::InPlaceOf(vec![]));
        assert_eq!(store.all_ids().unwrap(), [1, 2, 3, 9].map(id).into());
        assert_eq!(
            store.databases().unwrap().into_iter().collect::<Vec<_>>(),
            ["a", "b"]
        );
    }

    #[test]
    fn probes_leave_nothing() {
        for store in TestStore::of_each_kind() {
            store.add("a", id(1), &row(10), QUOTA, 10).unwrap();

            for _ in 0..3 {
                store.storage.probe().unwrap();
            }

            assert_eq!(store.all_ids().unwrap(), HashSet::from([id(1)]));
            assert!(!store.storage.is_failing());
        }
    }

    #[test]
    fn expired_clients_are_removed() {
        TestStore::of_each_kind()
            .iter()
            .for_each(|store| check_expiry(store));
    }

    fn check_expiry(store: &Store) {
        store.add("a", id(1), &row(10), QUOTA, 10).unwrap();
        store.add("a", id(2), &row(500), QUOTA, 500).unwrap();

        assert_eq!(
            store.add("a", id(3), &row(1010), QUOTA, 1010).unwrap(),
            Added::InPlaceOf(vec![id(1)])
        );
        assert_eq!(store.remove_expired("a", 1499).unwrap(), []);
        assert_eq!(store.remove_expired("a", 1500).unwrap(), [id(2)]);
        assert_eq!(store.all_ids().unwrap(), HashSet::from([id(3)]));
    }
}
