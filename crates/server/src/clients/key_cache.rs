//! LRU cache of parsed client keys.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use papir_core::Version;
use papir_core::erased::ErasedKeys;

use super::id::ClientId;

/// Parsed keys by client and version, limited by their size as sent.
pub(crate) struct KeyCache {
    limit: u64,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    entries: HashMap<(ClientId, Version), Entry>,
    bytes: u64,
    clock: u64,
}

struct Entry {
    keys: Arc<ErasedKeys>,
    bytes: u64,
    used: u64,
}

impl KeyCache {
    /// Keeps keys of up to `limit` bytes in total, but always the most recent ones.
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, inner: Mutex::default() }
    }

    pub(crate) fn get(&self, id: ClientId, version: Version) -> Option<Arc<ErasedKeys>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.clock += 1;
        let clock = inner.clock;
        let entry = inner.entries.get_mut(&(id, version))?;
        entry.used = clock;
        Some(Arc::clone(&entry.keys))
    }

    pub(crate) fn put(&self, id: ClientId, version: Version, keys: Arc<ErasedKeys>, bytes: u64) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.clock += 1;
        let entry = Entry { keys, bytes, used: inner.clock };
        inner.remove((id, version));
        while inner.bytes.saturating_add(bytes) > self.limit && inner.drop_oldest() {}
        inner.bytes += bytes;
        inner.entries.insert((id, version), entry);
    }

    /// Removes all keys of a client.
    pub(crate) fn remove(&self, id: ClientId) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let versions: Vec<_> = inner.entries.keys().filter(|(client, _)| *client == id).copied().collect();
        versions.into_iter().for_each(|key| inner.remove(key));
    }
}

impl Inner {
    fn remove(&mut self, key: (ClientId, Version)) {
        if let Some(entry) = self.entries.remove(&key) {
            self.bytes -= entry.bytes;
        }
    }

    /// Removes the least recently used keys. Returns whether there were any.
    fn drop_oldest(&mut self) -> bool {
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| *key);
        oldest.map(|key| self.remove(key)).is_some()
    }
}
