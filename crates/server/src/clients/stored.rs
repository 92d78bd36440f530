//! Access to a client registry without its services.

use papir_protocol::{ClientStatus, RegistryCounts};

use super::config::RegistryPlace;
use super::error::StoreError;
use super::id::ClientId;
use super::keys::KeyStorage;
use super::open::TABLES;
use super::row::{ClientRow, Stage};
use super::status;
use super::store::Store;
use crate::error::Error;

/// A registry that the operator opens: in a directory whose service is not running, or in
/// PostgreSQL.
pub struct StoredRegistry {
    store: Store,
    keys: Box<dyn KeyStorage>,
}

impl StoredRegistry {
    /// Opens an existing registry. In PostgreSQL, missing tables are created.
    ///
    /// # Errors
    /// [`Error::Registry`] if there is none, it is damaged, or a service has its directory open.
    pub fn open(place: &RegistryPlace) -> Result<Self, Error> {
        let mut hint = "";
        if let RegistryPlace::Directory(directory) = place {
            if !directory.join(TABLES).is_file() {
                let reason = format!("not a registry: expected the file {TABLES}");
                return Err(not_opened(place, reason));
            }
            hint = " (if its service is running, query the service instead)";
        }

        let (store, keys) = place
            .open()
            .map_err(|error| not_opened(place, format!("{error}{hint}")))?;
        Ok(Self { store, keys })
    }

    /// The clients of each database, with their totals.
    ///
    /// # Errors
    /// [`Error::Io`] if the tables or files cannot be read.
    pub fn list(&self) -> Result<Vec<(String, RegistryCounts, Vec<ClientStatus>)>, Error> {
        self.try_list().map_err(unreadable)
    }

    fn try_list(&self) -> Result<Vec<(String, RegistryCounts, Vec<ClientStatus>)>, StoreError> {
        let mut databases = Vec::new();
        for name in self.store.databases()? {
            let mut counts = RegistryCounts::default();
            let mut clients = Vec::new();
            for (id, row) in self.store.clients(&name)? {
                status::count(&mut counts, &row, self.store.numbers(id)?.counts());
                clients.push(self.status(id, &row)?);
            }
            databases.push((name, counts, clients));
        }
        Ok(databases)
    }

    fn status(&self, id: ClientId, row: &ClientRow) -> Result<ClientStatus, StoreError> {
        let uploaded = if row.stage == Stage::Uploading {
            self.keys.offset(id)?
        } else {
            0
        };

        // No worker runs here, so no tickets are prepared ahead.
        let tickets = self.store.numbers(id)?.counts();
        Ok(status::status(id, row, uploaded, tickets, 0))
    }

    /// Removes a client from all databases. Returns whether it existed.
    ///
    /// # Errors
    /// [`Error::Io`] if the tables cannot be written.
    pub fn evict(&self, id: &str) -> Result<bool, Error> {
        let Ok(id) = id.parse::<ClientId>() else {
            return Ok(false);
        };

        // The rows first: a crash may leave keys without a row, which the next start removes.
        let mut found = false;
        for name in self.store.databases().map_err(unreadable)? {
            found |= self.store.remove(&name, id).map_err(unreadable)?;
        }
        self.keys.remove(id);
        Ok(found)
    }
}

fn not_opened(place: &RegistryPlace, reason: String) -> Error {
    Error::Registry {
        place: place.to_string(),
        reason,
    }
}

fn unreadable(error: StoreError) -> Error {
    Error::Io {
        what: "the client registry",
        source: std::io::Error::other(error.to_string()),
    }
}
