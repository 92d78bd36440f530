//! LRU cache of parsed client keys.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use papir_core::Version;

use super::id::ClientId;

/// Parsed keys by client and version, limited by their size as sent.
pub(crate) struct KeyCache<K> {
    limit: u64,
    inner: Mutex<Inner<K>>,
}

struct Inner<K> {
    entries: LruCache<(ClientId, Version), CachedKeys<K>>,
    /// Size of all entries in bytes.
    bytes: u64,
}

/// A client's parsed keys.
struct CachedKeys<K> {
    keys: Arc<K>,
    /// Size in bytes.
    bytes: u64,
}

impl<K> KeyCache<K> {
    /// Keeps keys of up to `limit` bytes in total, but always the most recent ones.
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            limit,
            inner: Mutex::new(Inner {
                entries: LruCache::unbounded(),
                bytes: 0,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<K>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, id: ClientId, version: Version) -> Option<Arc<K>> {
        self.lock()
            .entries
            .get(&(id, version))
            .map(|entry| Arc::clone(&entry.keys))
    }

    pub(crate) fn put(&self, id: ClientId, version: Version, keys: Arc<K>, bytes: u64) {
        let mut inner = self.lock();
        let replaced = inner.entries.put((id, version), CachedKeys { keys, bytes });
        inner.bytes += bytes;
        inner.bytes -= replaced.map_or(0, |entry| entry.bytes);

        // The newest entry stays, however long: its query is about to use it.
        while inner.bytes > self.limit && inner.entries.len() > 1 {
            if let Some((_, oldest)) = inner.entries.pop_lru() {
                inner.bytes -= oldest.bytes;
            }
        }
    }

    /// Removes all keys of a client.
    pub(crate) fn remove(&self, id: ClientId) {
        let Inner { entries, bytes } = &mut *self.lock();
        entries.retain(|(client, _), entry| {
            let stays = *client != id;
            if !stays {
                *bytes -= entry.bytes;
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u128 = 1;
    const OTHER: u128 = 2;

    fn put(cache: &KeyCache<()>, client: u128, version: u8, bytes: u64) {
        cache.put(
            ClientId::of(client),
            Version([version; 8]),
            Arc::new(()),
            bytes,
        );
    }

    /// The versions whose keys are kept.
    fn kept(cache: &KeyCache<()>, client: u128) -> Vec<u8> {
        (0..9)
            .filter(|version| {
                cache
                    .get(ClientId::of(client), Version([*version; 8]))
                    .is_some()
            })
            .collect()
    }

    #[test]
    fn keys_used_least_recently_give_way() {
        let cache = KeyCache::new(10);
        for version in 0..3 {
            put(&cache, OWN, version, 3);
        }
        cache.get(ClientId::of(OWN), Version([0; 8]));
        put(&cache, OWN, 3, 4);
        assert_eq!(kept(&cache, OWN), [0, 2, 3]);

        put(&cache, OWN, 2, 1);
        put(&cache, OTHER, 4, 2);
        assert_eq!(
            (kept(&cache, OWN), kept(&cache, OTHER)),
            (vec![0, 2, 3], vec![4]),
            "10 bytes fit"
        );
    }

    #[test]
    fn the_most_recent_keys_are_kept_at_any_size() {
        let cache = KeyCache::new(10);
        put(&cache, OWN, 0, 3);
        put(&cache, OWN, 1, 11);
        assert_eq!(kept(&cache, OWN), [1]);

        put(&cache, OWN, 2, 10);
        assert_eq!(kept(&cache, OWN), [2]);
    }

    #[test]
    fn all_keys_of_a_client_are_removed() {
        let cache = KeyCache::new(10);
        for version in 0..2 {
            put(&cache, OWN, version, 4);
            put(&cache, OTHER, version, 1);
        }

        cache.remove(ClientId::of(OWN));
        assert_eq!(
            (kept(&cache, OWN), kept(&cache, OTHER)),
            (vec![], vec![0, 1])
        );

        put(&cache, OTHER, 2, 8);
        assert_eq!(
            kept(&cache, OTHER),
            [0, 1, 2],
            "the bytes of the other client are free"
        );
    }
}
