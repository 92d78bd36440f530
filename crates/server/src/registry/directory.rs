//! A registry without its service: what an operator may look at and evict while nothing runs.

use std::path::Path;

use super::files::KeyFiles;
use super::id::ClientId;
use super::row::{Row, Stage};
use super::store::{Failed, Store};
use super::{ClientStatus, RegistryCounts, TABLES};
use crate::Error;

/// A registry's directory whose service does not run.
pub struct RegistryDirectory {
    store: Store,
    files: KeyFiles,
}

impl RegistryDirectory {
    /// Opens a registry that is there already.
    ///
    /// # Errors
    /// [`Error::Registry`] where there is none, it is damaged, or a service has it open.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        let failed = |reason: String| Error::Registry { directory: directory.to_owned(), reason };
        let tables = directory.join(TABLES);
        if !tables.is_file() {
            return Err(failed(format!("no registry is here: expected the file {TABLES}")));
        }
        let store = Store::open(&tables)
            .map_err(|error| failed(format!("{error} (of a running service, ask the service)")))?;
        let files = KeyFiles::open(directory).map_err(|error| failed(error.to_string()))?;
        Ok(Self { store, files })
    }

    /// The clients by database.
    ///
    /// # Errors
    /// [`Error::Io`] when the tables or files cannot be read.
    pub fn list(&self) -> Result<Vec<(String, RegistryCounts, Vec<ClientStatus>)>, Error> {
        self.try_list().map_err(unreadable)
    }

    fn try_list(&self) -> Result<Vec<(String, RegistryCounts, Vec<ClientStatus>)>, Failed> {
        let mut databases = Vec::new();
        for name in self.store.databases()? {
            let (mut counts, mut clients) = (RegistryCounts::default(), Vec::new());
            for (id, row) in self.store.clients(&name)? {
                counts.add(&row, self.store.count_tickets(id, None)?);
                clients.push(self.status(id, &row)?);
            }
            databases.push((name, counts, clients));
        }
        Ok(databases)
    }

    fn status(&self, id: ClientId, row: &Row) -> Result<ClientStatus, Failed> {
        let uploaded = if row.stage == Stage::Uploading { self.files.offset(id)? } else { 0 };
        Ok(ClientStatus::new(id, row, uploaded, self.store.count_tickets(id, None)?, 0))
    }

    /// Removes a client, whatever its database; whether there was one.
    ///
    /// # Errors
    /// [`Error::Io`] when the tables cannot be written.
    pub fn evict(&self, id: &str) -> Result<bool, Error> {
        let Ok(id) = id.parse::<ClientId>() else {
            return Ok(false);
        };
        let mut found = false;
        for name in self.store.databases().map_err(unreadable)? {
            found |= self.store.remove(&name, id).map_err(unreadable)?;
        }
        self.files.remove(id);
        Ok(found)
    }
}

fn unreadable(error: Failed) -> Error {
    Error::Io { what: "the client registry", source: std::io::Error::other(error.to_string()) }
}
