//! The client registry: lookup, status and removal of clients.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use papir_core::erased::ErasedKeys;
use papir_core::{Version, short};
use papir_protocol::{ClientStatus, RegistryCounts};
use tokio::sync::Semaphore;

use super::clock::{Clock, microseconds};
use super::config::RegistryConfig;
use super::error::{ClientError, StoreError};
use super::id::ClientId;
use super::key_cache::KeyCache;
use super::keys::{KeyStorage, WatchedKeys};
use super::notify::WorkerNotify;
use super::numbers::{Numbers, TicketCounts};
use super::quota::Quota;
use super::row::{ClientRow, Stage};
use super::status;
use super::store::Store;
use crate::catalog::Database;
use crate::error::Error;

/// Threads that register clients at the same time.
const REGISTERING: usize = 4;

/// All registered clients of a service.
pub(crate) struct Registry {
    pub(super) config: RegistryConfig,
    pub(super) clock: Clock,
    pub(super) store: Store,
    pub(super) keys: WatchedKeys,
    pub(super) cache: KeyCache<ErasedKeys>,
    /// Uploads that a request is writing to.
    pub(super) writing: Mutex<BTreeSet<ClientId>>,
    /// Bounds the threads that register clients.
    pub(super) registering: Arc<Semaphore>,
    /// Held while a scheme checks uploaded keys. Large keys need much memory, so that only one
    /// upload is checked at a time.
    pub(super) accepting: Arc<tokio::sync::Mutex<()>>,
    /// Held while keys from disk are parsed, for the same reason.
    pub(super) parsing: Mutex<()>,
    /// Tickets that clients requested and that are not prepared yet.
    pub(super) demanded: Mutex<HashMap<ClientId, BTreeSet<u64>>>,
    pub(super) notify: WorkerNotify,
}

impl Registry {
    /// Opens or creates a registry, and removes key files left by a crash.
    pub(crate) fn open(config: &RegistryConfig) -> Result<Self, Error> {
        // The caller may run asynchronous tasks, which must not wait for a server.
        let joined = thread::scope(|scope| scope.spawn(|| Self::try_open(config)).join());

        // redb panics at some damage that it meets only when the rows are read.
        let opened = joined.unwrap_or_else(|_| Err(config.place.unreadable()));
        opened.map_err(|error| Error::Registry {
            place: config.place.to_string(),
            reason: error.to_string(),
        })
    }

    fn try_open(config: &RegistryConfig) -> Result<Self, StoreError> {
        let (store, keys) = config.place.open()?;
        let keys = WatchedKeys::new(keys);

        // A crash between the removals of a row and of its keys leaves the keys.
        keys.sweep(&store.all_ids()?)?;

        Ok(Self {
            config: config.clone(),
            clock: Clock::new(config.ttl.min(config.upload_ttl)),
            store,
            keys,
            cache: KeyCache::new(config.cached_bytes),
            writing: Mutex::default(),
            registering: Arc::new(Semaphore::new(REGISTERING)),
            accepting: Arc::default(),
            parsing: Mutex::default(),
            demanded: Mutex::default(),
            notify: WorkerNotify::default(),
        })
    }

    /// Returns true from a failure of the tables or keys on until both can be changed again.
    pub(crate) fn is_failing(&self) -> bool {
        self.store.storage.is_failing() || self.keys.is_failing()
    }

    /// Number of writes of the tables to disk since the start; `None` if a server makes them.
    pub(crate) fn syncs(&self) -> Option<u64> {
        self.store.storage.syncs()
    }

    /// Notices a recovery of the tables and keys.
    pub(crate) fn recover(&self) {
        if !self.is_failing() {
            return;
        }
        // A probe writes, so it is made after a failure only.
        match self.store.storage.probe().and_then(|()| self.keys.probe()) {
            Ok(()) => tracing::info!("the client registry works again"),
            Err(error) => tracing::debug!(%error, "the client registry does not work yet"),
        }
    }

    /// Returns whether anyone may list the clients.
    pub(crate) fn allows_list(&self) -> bool {
        self.config.allow_list
    }

    /// Totals over the clients of a database.
    pub(crate) fn counts(&self, database: &str) -> Result<RegistryCounts, StoreError> {
        let numbers = self.store.all_numbers(database)?;

        let mut counts = RegistryCounts::default();
        for (id, row) in self.store.clients(database)? {
            let tickets = numbers.get(&id).map(Numbers::counts).unwrap_or_default();
            status::count(&mut counts, &row, tickets);
        }
        Ok(counts)
    }

    /// The clients of a database whose short messages to its version have this handle: none, or
    /// mostly one.
    pub(crate) fn with_handle(
        &self,
        database: &Database,
        handle: [u8; short::OVERHEAD],
    ) -> Result<Vec<ClientId>, StoreError> {
        let mut found = Vec::new();
        for (id, _) in self.store.clients(database.name())? {
            let binding = database.binding(&id.to_string());
            if binding.is_some_and(|binding| binding.handle() == handle) {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// The version that last accepted the keys of a client whose short messages to it have this
    /// handle; `None` if there is no such client.
    pub(crate) fn version_with_handle(
        &self,
        database: &Database,
        handle: [u8; short::OVERHEAD],
    ) -> Result<Option<Version>, StoreError> {
        for (id, row) in self.store.clients(database.name())? {
            let binding = database.binding_to(row.version, &id.to_string());
            if binding.is_some_and(|binding| binding.handle() == handle) {
                return Ok(Some(row.version));
            }
        }
        Ok(None)
    }

    /// Status of all clients of a database.
    pub(crate) fn list(&self, database: &Database) -> Result<Vec<ClientStatus>, StoreError> {
        let rows = self.store.clients(database.name())?;
        rows.iter()
            .map(|(id, row)| self.status(database, *id, row))
            .collect()
    }

    /// Status of one client.
    pub(crate) fn show(
        &self,
        database: &Database,
        id: ClientId,
    ) -> Result<ClientStatus, ClientError> {
        let row = self.row(database.name(), id)?;
        Ok(self.status(database, id, &row)?)
    }

    /// Removes a client with its keys and tickets. Fails if it does not exist.
    pub(crate) fn evict(&self, database: &str, id: ClientId) -> Result<(), ClientError> {
        if self.remove(database, id)? {
            Ok(())
        } else {
            Err(ClientError::Gone)
        }
    }

    /// The row of a client that has not expired.
    pub(super) fn row(&self, database: &str, id: ClientId) -> Result<ClientRow, ClientError> {
        match self.store.get(database, id)? {
            Some(row) if !row.is_expired(self.clock.expiry()) => Ok(row),
            // The sweep comes seconds later, and an expired client must not query until then.
            Some(_) => {
                self.remove(database, id)?;
                Err(ClientError::Gone)
            }
            None => Err(ClientError::Gone),
        }
    }

    /// Removes a client with its keys and tickets. Returns whether it existed.
    pub(super) fn remove(&self, database: &str, id: ClientId) -> Result<bool, StoreError> {
        let found = self.store.remove(database, id)?;
        // A client of another database keeps its keys.
        if found {
            self.forget(id);
        }
        Ok(found)
    }

    /// Removes a client's data outside the tables.
    pub(super) fn forget(&self, id: ClientId) {
        self.cache.remove(id);
        self.keys.remove(id);
        self.demanded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id);
    }

    /// Marks a client as used now.
    pub(super) fn touch(&self, row: &mut ClientRow) {
        row.used = self.clock.now();
        row.expires = row.used.saturating_add(microseconds(self.config.ttl));
    }

    pub(super) fn quota(&self) -> Quota {
        Quota {
            clients: self.config.max_clients.max(1),
            bytes: self.config.max_bytes,
        }
    }

    /// Tickets prepared ahead for each client of a database that has queried.
    pub(super) fn most_ahead(&self, database: &Database) -> u64 {
        self.config
            .tickets_ahead
            .max(database.queries_per_lookup() as u64)
    }

    /// Tickets prepared ahead for one client. Before its first query it has the tickets of one
    /// lookup, so that registering buys little work.
    pub(super) fn ahead(&self, database: &Database, row: &ClientRow) -> u64 {
        if row.queried {
            self.most_ahead(database)
        } else {
            database.queries_per_lookup() as u64
        }
    }

    pub(super) fn status(
        &self,
        database: &Database,
        id: ClientId,
        row: &ClientRow,
    ) -> Result<ClientStatus, StoreError> {
        let uploaded = if row.stage == Stage::Uploading {
            self.keys.offset(id)?
        } else {
            0
        };

        // The client goes by this number, so the tickets of numbers that it skipped do not count.
        let numbers = self.store.numbers(id)?;
        let ready = numbers.ready_from(database.version(), row.next_ticket);
        let tickets = TicketCounts {
            ready,
            ..numbers.counts()
        };

        let ahead = self.ahead(database, row);
        Ok(status::status(id, row, uploaded, tickets, ahead))
    }
}
