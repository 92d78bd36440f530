//! Storage of client keys, as they were sent.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::StoreError;
use super::id::ClientId;
use super::tables::Result;

/// Stores the keys of clients. What is stored is durable on return.
pub(super) trait KeyStorage: Send + Sync {
    /// Number of bytes of an upload that have arrived.
    fn offset(&self, id: ClientId) -> Result<u64>;

    /// Appends a part at `offset`. Returns false, and stores nothing, if the upload has another
    /// length.
    fn append(&self, id: ClientId, offset: u64, part: &[u8]) -> Result<bool>;

    /// Returns whether the upload, or the complete keys, of a client have these bytes as a part at
    /// `offset`.
    fn holds(&self, id: ClientId, offset: u64, part: &[u8]) -> Result<bool>;

    /// The bytes of an upload so far.
    fn read_upload(&self, id: ClientId) -> Result<Vec<u8>>;

    /// Turns a complete upload into the client's keys.
    fn finish(&self, id: ClientId) -> Result<()>;

    /// The keys of a client; `None` if they are not there.
    fn read(&self, id: ClientId) -> Result<Option<Vec<u8>>>;

    /// Removes the keys and the upload of a client, as far as possible now.
    fn remove(&self, id: ClientId);

    /// Removes the keys of unknown clients.
    fn sweep(&self, known: &HashSet<ClientId>) -> Result<()>;

    /// Stores [`ROOM`](super::tables::ROOM) bytes of no client, and removes them, to learn whether
    /// the storage works.
    fn probe(&self) -> Result<()>;
}

/// Storage of keys, with a note of its failures.
pub(super) struct WatchedKeys {
    storage: Box<dyn KeyStorage>,
    failing: AtomicBool,
}

impl WatchedKeys {
    pub(super) fn new(storage: Box<dyn KeyStorage>) -> Self {
        Self {
            storage,
            failing: AtomicBool::new(false),
        }
    }

    /// Returns true from a failure of the storage on until a probe succeeds.
    pub(super) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// Notes a failure of the storage. Failures of the tables are noted elsewhere, and damaged keys
    /// of one client are no failure of the storage.
    fn note<T>(&self, outcome: Result<T>) -> Result<T> {
        if outcome.as_ref().is_err_and(StoreError::is_of_files) {
            self.failing.store(true, Ordering::Relaxed);
        }
        outcome
    }
}

impl KeyStorage for WatchedKeys {
    fn offset(&self, id: ClientId) -> Result<u64> {
        self.note(self.storage.offset(id))
    }

    fn append(&self, id: ClientId, offset: u64, part: &[u8]) -> Result<bool> {
        self.note(self.storage.append(id, offset, part))
    }

    fn holds(&self, id: ClientId, offset: u64, part: &[u8]) -> Result<bool> {
        self.note(self.storage.holds(id, offset, part))
    }

    fn read_upload(&self, id: ClientId) -> Result<Vec<u8>> {
        self.note(self.storage.read_upload(id))
    }

    fn finish(&self, id: ClientId) -> Result<()> {
        self.note(self.storage.finish(id))
    }

    fn read(&self, id: ClientId) -> Result<Option<Vec<u8>>> {
        self.note(self.storage.read(id))
    }

    fn remove(&self, id: ClientId) {
        self.storage.remove(id);
    }

    fn sweep(&self, known: &HashSet<ClientId>) -> Result<()> {
        self.note(self.storage.sweep(known))
    }

    fn probe(&self) -> Result<()> {
        self.storage.probe()?;
        self.failing.store(false, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;
    use crate::clients::key_files::KeyFiles;

    #[test]
    fn keys_that_cannot_be_stored_are_noticed_until_a_probe_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        let keys = WatchedKeys::new(Box::new(KeyFiles::open(folder.path()).unwrap()));
        let id = ClientId::of(7);
        assert!(keys.append(id, 0, b"a part").unwrap() && !keys.is_failing());

        // A file in the folder's place.
        let place = folder.path().join("keys");
        let away = folder.path().join("away");
        fs::rename(&place, &away).unwrap();
        fs::write(&place, "").unwrap();
        assert!(keys.append(id, 6, b"another").is_err() && keys.is_failing());
        assert!(keys.probe().is_err() && keys.is_failing());

        fs::remove_file(&place).unwrap();
        fs::rename(&away, &place).unwrap();
        assert!(keys.append(id, 6, b"another").unwrap() && keys.is_failing());
        keys.probe().unwrap();
        assert!(!keys.is_failing());
        assert_eq!(
            fs::read_dir(&place).unwrap().count(),
            1,
            "the probe leaves nothing"
        );
    }
}
