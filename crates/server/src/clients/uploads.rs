//! Registration of clients.
//!
//! Keys arrive in one request or in parts, and the scheme checks them.

use std::sync::{Arc, PoisonError};

use papir_core::Version;
use papir_protocol::ClientStatus;
use papir_protocol::limit::PART_BYTES;
use tracing::Instrument;

use super::clock::microseconds;
use super::error::{ClientError, StoreError};
use super::id::ClientId;
use super::keys::KeyStorage;
use super::keys_digest::KeysDigest;
use super::known_keys::{Completed, KnownKeys, Repetition};
use super::registry::Registry;
use super::row::{ClientRow, Owner, Stage};
use super::store::Added;
use crate::catalog::{Database, QueryError};

/// Exclusive access to one upload. Released when dropped.
struct Writing<'r> {
    registry: &'r Registry,
    id: ClientId,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.registry
            .writing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.id);
    }
}

impl Registry {
    /// Checks the length of keys before anything is allocated or stored.
    pub(crate) fn check_keys_length(
        &self,
        database: &Database,
        found: u64,
    ) -> Result<(), ClientError> {
        let expected = database.description().sizes.keys;
        if found != expected {
            return Err(ClientError::WrongKeysLength { found, expected });
        }
        if found > self.config.max_bytes {
            return Err(ClientError::OverQuota {
                keys: found,
                quota: self.config.max_bytes,
            });
        }
        Ok(())
    }

    /// Starts a registration whose keys of `length` bytes will be uploaded in parts.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        database: &Arc<Database>,
        owner: Owner,
        length: u64,
    ) -> Result<ClientStatus, ClientError> {
        let turn = Arc::clone(&self.registering).acquire_owned().await;
        let registry = Arc::clone(self);
        let to = Arc::clone(database);
        blocking(move || {
            // Held here: a client that disconnects does not end this.
            let _turn = turn;
            let (id, row) = registry.add(&to, owner, length)?;
            Ok(registry.status(&to, id, &row)?)
        })
        .await
    }

    /// Adds a client that starts to upload. Others may be removed for it.
    fn add(
        &self,
        database: &Database,
        owner: Owner,
        length: u64,
    ) -> Result<(ClientId, ClientRow), ClientError> {
        self.check_keys_length(database, length)?;

        let id = ClientId::random().ok_or(ClientError::Internal)?;
        let ttl = microseconds(self.config.upload_ttl);
        let row = ClientRow {
            ticketed: database.description().limits.tickets,
            ..ClientRow::new(owner, length, database.version(), self.clock.now(), ttl)
        };

        let quota = self.quota();
        let expiry = self.clock.expiry();
        match self.store.add(database.name(), id, &row, quota, expiry)? {
            Added::InPlaceOf(gone) => gone.into_iter().for_each(|gone| self.forget(gone)),
            Added::Full(retry_after) => return Err(ClientError::Full { retry_after }),
        }
        Ok((id, row))
    }

    /// Registers keys that arrived in one request. `held` is dropped at the end.
    pub(crate) async fn register(
        self: &Arc<Self>,
        database: &Arc<Database>,
        owner: Owner,
        keys: Vec<u8>,
        held: impl Send + 'static,
    ) -> Result<ClientStatus, ClientError> {
        let registry = Arc::clone(self);
        let database = Arc::clone(database);

        // A task of its own: a client that disconnects leaves no unfinished upload behind, which
        // would count in its network's share.
        let registering = async move {
            let _held = held;
            registry.register_whole(&database, owner, keys).await
        };
        tokio::spawn(registering.in_current_span())
            .await
            .map_err(|_| ClientError::Internal)?
    }

    async fn register_whole(
        self: &Arc<Self>,
        database: &Arc<Database>,
        owner: Owner,
        keys: Vec<u8>,
    ) -> Result<ClientStatus, ClientError> {
        let digest = KeysDigest::of(&keys);
        // Looked up first: a repeated registration needs no place of its own.
        if let Some(status) = self.registered_before(database, owner, digest).await? {
            return Ok(status);
        }

        let status = self.begin(database, owner, keys.len() as u64).await?;
        let id: ClientId = status.id.parse().map_err(|()| ClientError::Internal)?;

        let appended = self.append(database, id, 0, keys).await;
        if appended.is_err() {
            let registry = Arc::clone(self);
            let from = Arc::clone(database);
            blocking(move || Ok(registry.take_back(&from, id, digest)?)).await?;
        }

        // The keys may be those of an earlier attempt of this client, which was still being checked
        // when they were looked up.
        if let Err(ClientError::KeysRepeated) = appended
            && let Some(status) = self.registered_before(database, owner, digest).await?
        {
            return Ok(status);
        }
        appended
    }

    /// The client of an earlier registration with these keys, whose response was lost. Fails with
    /// [`ClientError::KeysRepeated`] if another client has registered them.
    async fn registered_before(
        self: &Arc<Self>,
        database: &Arc<Database>,
        owner: Owner,
        digest: Option<KeysDigest>,
    ) -> Result<Option<ClientStatus>, ClientError> {
        let Some(digest) = digest else {
            return Ok(None);
        };

        let turn = Arc::clone(&self.registering).acquire_owned().await;
        let registry = Arc::clone(self);
        let to = Arc::clone(database);
        blocking(move || {
            let _turn = turn;
            let now = registry.clock.now();
            let repetition = Repetition { digest, owner, now };
            match registry.store.known_keys(to.name(), repetition)? {
                KnownKeys::Unknown => Ok(None),
                KnownKeys::Unanswered(id, row) => Ok(Some(registry.status(&to, id, &row)?)),
                KnownKeys::OfAnother => Err(ClientError::KeysRepeated),
            }
        })
        .await
    }

    /// Removes a client whose registration failed, and forgets its keys.
    fn take_back(
        &self,
        database: &Database,
        id: ClientId,
        digest: Option<KeysDigest>,
    ) -> Result<(), StoreError> {
        if self.store.take_back(database.name(), id, digest)? {
            self.forget(id);
        }
        Ok(())
    }

    /// Appends a part of the keys at `offset`.
    ///
    /// The last part completes the registration. If the scheme rejects the keys, the client is
    /// removed. The part that arrived last is answered again if it is sent again: its response may
    /// have been lost.
    pub(crate) async fn append(
        self: &Arc<Self>,
        database: &Arc<Database>,
        id: ClientId,
        offset: u64,
        part: Vec<u8>,
    ) -> Result<ClientStatus, ClientError> {
        let registry = Arc::clone(self);
        let to = Arc::clone(database);
        let status = blocking(move || registry.append_part(&to, id, offset, &part)).await?;
        if status.uploaded_bytes < status.keys_bytes {
            return Ok(status);
        }

        let turn = Arc::clone(&self.accepting).lock_owned().await;
        let registry = Arc::clone(self);
        let to = Arc::clone(database);
        blocking(move || {
            // Held here: a check goes on, and needs its memory, if the client disconnects.
            let _turn = turn;
            registry.accept(&to, id)
        })
        .await
    }

    /// Writes one part durably.
    fn append_part(
        &self,
        database: &Database,
        id: ClientId,
        offset: u64,
        part: &[u8],
    ) -> Result<ClientStatus, ClientError> {
        let _writing = self.write_to(id)?;
        let row = self.row(database.name(), id)?;
        // Before the stage is checked: the part may have completed the registration.
        if self.is_repeated(id, &row, offset, part)? {
            return self.show(database, id);
        }
        if row.stage == Stage::Registered {
            return Err(ClientError::AlreadyRegistered);
        }

        let left = row.keys_bytes.saturating_sub(offset);
        if part.len() as u64 > left {
            return Err(ClientError::PartTooLong {
                limit: left.min(PART_BYTES as u64) as usize,
            });
        }
        if !self.keys.append(id, offset, part)? {
            return Err(ClientError::WrongOffset {
                offset: self.keys.offset(id)?,
            });
        }

        let found = self.store.change(database.name(), id, |row| {
            row.used = self.clock.now();
            row.expires = row
                .used
                .saturating_add(microseconds(self.config.upload_ttl));
        })?;
        if !found {
            // The client was removed meanwhile: its part file must not stay.
            self.forget(id);
            return Err(ClientError::Gone);
        }
        self.show(database, id)
    }

    /// Returns whether a part is the one that arrived last. Another service may have received it.
    fn is_repeated(
        &self,
        id: ClientId,
        row: &ClientRow,
        offset: u64,
        part: &[u8],
    ) -> Result<bool, StoreError> {
        let is_registered = row.stage == Stage::Registered;
        let arrived = match row.stage {
            Stage::Registered => row.keys_bytes,
            Stage::Uploading => self.keys.offset(id)?,
        };
        if offset.checked_add(part.len() as u64) != Some(arrived) {
            return Ok(false);
        }

        // An empty part asks for the check of the keys, which those of a registered client have
        // passed.
        if part.is_empty() {
            return Ok(is_registered);
        }
        self.keys.holds(id, offset, part)
    }

    /// Has the scheme check complete keys. Rejected keys are removed with their client.
    fn accept(&self, database: &Database, id: ClientId) -> Result<ClientStatus, ClientError> {
        let _writing = self.write_to(id)?;
        if self.row(database.name(), id)?.stage == Stage::Registered {
            // By another request with the same last part, or one that appended nothing at the end.
            return self.show(database, id);
        }

        let bytes = self.keys.read_upload(id)?;
        let accepted = database
            .registered()
            .and_then(|registered| registered.accept_keys(&bytes));
        let keys = match accepted {
            Ok(keys) => keys,
            Err(source) => {
                self.remove(database.name(), id)?;
                return Err(rejection(source, database.version()));
            }
        };

        // The keys are durable before the row says that they are complete.
        self.keys.finish(id)?;
        let digest = KeysDigest::of(&bytes).ok_or(ClientError::Internal)?;
        let now = self.clock.now();
        let completed = self
            .store
            .complete(database.name(), id, digest, now, |row| {
                row.stage = Stage::Registered;
                row.version = database.version();
                self.touch(row);
            })?;
        match completed {
            Completed::Registered => {}
            Completed::Repeated => {
                self.remove(database.name(), id)?;
                return Err(ClientError::KeysRepeated);
            }
            Completed::Gone => {
                // The client was removed meanwhile: its keys must not stay.
                self.forget(id);
                return Err(ClientError::Gone);
            }
        }

        self.cache
            .put(id, database.version(), Arc::new(keys), bytes.len() as u64);
        self.notify.notify();
        self.show(database, id)
    }

    /// Exclusive access to an upload.
    fn write_to(&self, id: ClientId) -> Result<Writing<'_>, ClientError> {
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if !writing.insert(id) {
            return Err(ClientError::UploadBusy);
        }
        Ok(Writing { registry: self, id })
    }
}

/// Runs work of the registry on a thread that may block. The work is finished even if the caller is
/// dropped.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ClientError> + Send + 'static,
) -> Result<T, ClientError> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|_| ClientError::Internal)?
}

/// The answer to keys that the scheme rejects.
fn rejection(source: papir_core::Error, current: Version) -> ClientError {
    match source {
        papir_core::Error::WrongVersion { .. } => {
            ClientError::Query(QueryError::WrongVersion { current })
        }
        source => ClientError::BadKeys { source },
    }
}
