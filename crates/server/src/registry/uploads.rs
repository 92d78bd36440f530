//! Registering: keys in one request or in parts, checked by the scheme before they count.

use std::sync::{Arc, PoisonError};

use super::id::ClientId;
use super::row::{Row, Stage};
use super::{ClientStatus, PART_BYTES, Refusal, Registry, microseconds, now};
use crate::database::Database;
use crate::problem::Problem;

/// One request at a time writes to an upload: held while it does.
pub(super) struct Writing<'r> {
    registry: &'r Registry,
    id: ClientId,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.registry.writing.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id.number());
    }
}

impl Registry {
    /// Checks a length of keys against the scheme's own, before anything is allocated or stored.
    pub(super) fn check_keys_length(&self, database: &Database, found: u64) -> Result<(), Problem> {
        let expected = database.description().sizes.keys;
        if found != expected {
            return Err(Refusal::WrongKeysLength { found, expected }.into());
        }
        if found > self.config.max_bytes {
            return Err(Refusal::OverQuota { keys: found, quota: self.config.max_bytes }.into());
        }
        Ok(())
    }

    /// Begins a registration whose keys come in parts.
    pub(super) fn begin(&self, database: &Database, length: u64) -> Result<(ClientId, Row), Problem> {
        self.check_keys_length(database, length)?;
        let id = ClientId::random().ok_or(Problem::Internal)?;
        let row = Row::new(length, database.version(), now(), microseconds(self.config.upload_ttl));
        for gone in self.store.add(database.name(), id, &row, self.quota())? {
            self.forget(gone);
        }
        Ok((id, row))
    }

    /// Registers keys that came whole.
    pub(super) async fn register(
        self: &Arc<Self>,
        database: &Arc<Database>,
        keys: Vec<u8>,
    ) -> Result<ClientStatus, Problem> {
        let (id, _) = self.begin(database, keys.len() as u64)?;
        match self.append(database, id, 0, keys).await {
            Ok(status) => Ok(status),
            Err(problem) => {
                self.remove(database.name(), id)?;
                Err(problem)
            }
        }
    }

    /// Appends a part; the last one makes the client registered, or, where the scheme refuses the
    /// keys, removes it.
    pub(super) async fn append(
        self: &Arc<Self>,
        database: &Arc<Database>,
        id: ClientId,
        offset: u64,
        part: Vec<u8>,
    ) -> Result<ClientStatus, Problem> {
        let (registry, to) = (Arc::clone(self), Arc::clone(database));
        let writing = tokio::task::spawn_blocking(move || registry.append_part(&to, id, offset, &part));
        let status = writing.await.map_err(|_| Problem::Internal)??;
        if status.uploaded_bytes < status.keys_bytes {
            return Ok(status);
        }
        let _turn = self.accepting.lock().await;
        let (registry, to) = (Arc::clone(self), Arc::clone(database));
        let accepting = tokio::task::spawn_blocking(move || registry.accept(&to, id));
        accepting.await.map_err(|_| Problem::Internal)?
    }

    /// Writes one part durably.
    fn append_part(
        &self,
        database: &Database,
        id: ClientId,
        offset: u64,
        part: &[u8],
    ) -> Result<ClientStatus, Problem> {
        let _writing = self.write_to(id)?;
        let row = self.row(database.name(), id)?;
        if row.stage == Stage::Registered {
            return Err(Refusal::AlreadyRegistered.into());
        }
        let found = self.offset(id)?;
        if offset != found {
            return Err(Refusal::WrongOffset { offset: found }.into());
        }
        let left = row.keys_bytes.saturating_sub(found);
        if part.len() as u64 > left {
            return Err(Problem::TooLong { limit: left.min(PART_BYTES as u64) as usize });
        }
        self.files.append(id, part).map_err(super::Failed::from)?;
        let later = |row: &mut Row| {
            row.used = now();
            row.expires = row.used.saturating_add(microseconds(self.config.upload_ttl));
        };
        if !self.store.change(database.name(), id, later)? {
            // Removed meanwhile: what was written must not stay.
            self.forget(id);
            return Err(Refusal::ClientGone.into());
        }
        let row = self.row(database.name(), id)?;
        Ok(self.status(database, id, &row)?)
    }

    /// Has the scheme check whole keys. Keys that it refuses leave nothing behind.
    fn accept(&self, database: &Database, id: ClientId) -> Result<ClientStatus, Problem> {
        let _writing = self.write_to(id)?;
        let bytes = self.files.read_part(id).map_err(super::Failed::from)?;
        let keys = match database.erased().accept_keys(&bytes) {
            Ok(keys) => keys,
            Err(source) => {
                self.remove(database.name(), id)?;
                return Err(match source {
                    papir_core::Error::WrongVersion { .. } => {
                        Problem::WrongVersion { current: database.version() }
                    }
                    source => Refusal::BadKeys { source }.into(),
                });
            }
        };
        self.files.finish(id).map_err(super::Failed::from)?;
        let registered = |row: &mut Row| {
            (row.stage, row.version) = (Stage::Registered, database.version());
            self.touch(row);
        };
        if !self.store.change(database.name(), id, registered)? {
            self.forget(id);
            return Err(Refusal::ClientGone.into());
        }
        self.cache.put(id, database.version(), Arc::new(keys), bytes.len() as u64);
        self.bell.ring();
        let row = self.row(database.name(), id)?;
        Ok(self.status(database, id, &row)?)
    }

    /// How many bytes of an upload are there.
    fn offset(&self, id: ClientId) -> Result<u64, Problem> {
        Ok(self.files.offset(id).map_err(super::Failed::from)?)
    }

    fn write_to(&self, id: ClientId) -> Result<Writing<'_>, Problem> {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if !writing.insert(id.number()) {
            return Err(Problem::Busy { after: std::time::Duration::from_secs(1) });
        }
        Ok(Writing { registry: self, id })
    }
}
