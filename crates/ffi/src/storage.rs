//! Client state in a storage of the application.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread;

use papir_client::core::StoreLock;
use papir_client::{Error, Result, StateEntry, StateStorage};
use zeroize::{Zeroize, Zeroizing};

/// A failure of the application's storage.
#[derive(Debug, thiserror::Error, uniffi::Error)]
pub enum StorageError {
    /// The storage cannot be read or written.
    #[error("{reason}")]
    Failed {
        /// The reason.
        reason: String,
    },
}

/// An exception that the storage does not declare.
impl From<uniffi::UnexpectedUniFFICallbackError> for StorageError {
    fn from(error: uniffi::UnexpectedUniFFICallbackError) -> Self {
        Self::Failed {
            reason: error.reason,
        }
    }
}

/// Storage of client state. A slot has the entries of one database or of one service; its name is
/// 32 hexadecimal digits and does not reveal the service. Calls come from several threads. `state`,
/// `keys`, `root`, `owner`, `name`, `tokens` and `version` are changed with the slot's lock held;
/// everything may be read, and `public` replaced, without it.
///
/// A registered client must never use a part of its state twice, so an earlier state must not come
/// back: keep the storage out of backups and synchronization.
#[uniffi::export(with_foreign)]
pub trait Storage: Send + Sync {
    /// Waits until nothing else holds the slot's lock, in this process or another, and takes it.
    fn lock(&self, slot: String) -> Result<(), StorageError>;

    /// Releases the lock, mostly on another thread than that of `lock`.
    fn unlock(&self, slot: String) -> Result<(), StorageError>;

    /// Reads an entry; none if it is missing. Its name is one of `state`, `keys`, `root`, `owner`,
    /// `name`, `tokens`, `version`, `filter` and `public`.
    fn read(&self, slot: String, entry: String) -> Result<Option<Vec<u8>>, StorageError>;

    /// Stores an entry, or replaces it as a whole. It must be durable on return, except for
    /// `public`, which may be lost at any time.
    fn replace(&self, slot: String, entry: String, bytes: Vec<u8>) -> Result<(), StorageError>;

    /// Removes an entry, if there is one.
    fn remove(&self, slot: String, entry: String) -> Result<(), StorageError>;
}

/// The application's storage, for the client.
pub(crate) struct ApplicationStorage(pub(crate) Arc<dyn Storage>);

impl fmt::Debug for ApplicationStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApplicationStorage")
    }
}

/// A held lock of a slot.
struct LockGuard {
    storage: Arc<dyn Storage>,
    slot: String,
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        // A cancelled call drops its lock on the caller's thread, which may be the one of the user
        // interface. The storage has no way left to report a failure.
        let storage = Arc::clone(&self.storage);
        let slot = self.slot.clone();
        let spawned = thread::Builder::new().spawn(move || drop(storage.unlock(slot)));
        if spawned.is_err() {
            let _ = self.storage.unlock(self.slot.clone());
        }
    }
}

impl ApplicationStorage {
    fn failed(&self, slot: &str, entry: StateEntry, error: StorageError) -> Error {
        Error::StateFile {
            path: self.location(slot, entry),
            source: io::Error::other(error),
        }
    }
}

impl StateStorage for ApplicationStorage {
    fn lock(&self, slot: &str) -> Result<StoreLock> {
        self.0
            .lock(slot.to_owned())
            .map_err(|error| self.failed(slot, StateEntry::Registration, error))?;
        Ok(StoreLock::new(LockGuard {
            storage: Arc::clone(&self.0),
            slot: slot.to_owned(),
        }))
    }

    fn read(
        &self,
        slot: &str,
        entry: StateEntry,
        limit: u64,
    ) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let read = self.0.read(slot.to_owned(), entry.name().to_owned());
        let bytes = read
            .map_err(|error| self.failed(slot, entry, error))?
            .map(Zeroizing::new);

        Ok(bytes.map(|mut bytes| {
            let kept = usize::try_from(limit).map_or(bytes.len(), |limit| limit.min(bytes.len()));
            // Truncation alone would leave the rest of a secret in memory.
            bytes[kept..].zeroize();
            bytes.truncate(kept);
            bytes
        }))
    }

    fn replace(&self, slot: &str, entry: StateEntry, bytes: &[u8]) -> Result<()> {
        let replaced = self
            .0
            .replace(slot.to_owned(), entry.name().to_owned(), bytes.to_vec());
        replaced.map_err(|error| self.failed(slot, entry, error))
    }

    fn remove(&self, slot: &str, entry: StateEntry) -> Result<()> {
        let removed = self.0.remove(slot.to_owned(), entry.name().to_owned());
        removed.map_err(|error| self.failed(slot, entry, error))
    }
}
