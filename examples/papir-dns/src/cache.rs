//! Values with a lifetime, bounded in number.

use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;

/// A cache of at most a number of values. The value that was used least recently makes room.
pub(crate) struct Cache<K: Hash + Eq, V>(Mutex<LruCache<K, Stored<V>>>);

/// A value and its times.
struct Stored<V> {
    value: V,
    since: Instant,
    lifetime: Duration,
}

/// A value, and the time since it was stored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cached<V> {
    pub(crate) value: V,
    pub(crate) age: Duration,
}

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    pub(crate) fn new(capacity: NonZeroUsize) -> Self {
        Self(Mutex::new(LruCache::sparse(capacity)))
    }

    /// Returns the value of a key, unless its lifetime has ended at `now`.
    pub(crate) fn get(&self, key: &K, now: Instant) -> Option<Cached<V>> {
        let mut values = self.lock();
        let stored = values.get(key)?;
        let age = now.saturating_duration_since(stored.since);

        if age < stored.lifetime {
            return Some(Cached {
                value: stored.value.clone(),
                age,
            });
        }
        values.pop(key);
        None
    }

    /// Stores a value from `now` on; a value without a lifetime is not stored.
    pub(crate) fn put(&self, key: K, value: V, lifetime: Duration, now: Instant) {
        if lifetime.is_zero() {
            return;
        }
        let stored = Stored {
            value,
            since: now,
            lifetime,
        };
        self.lock().put(key, stored);
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<K, Stored<V>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn cache(capacity: usize) -> Cache<&'static str, u32> {
        Cache::new(NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN))
    }

    #[test]
    fn a_value_has_an_age_and_ends_with_its_lifetime() {
        let now = Instant::now();
        let cache = cache(4);
        cache.put("a", 1, 3 * SECOND, now);

        let cached = cache.get(&"a", now + 2 * SECOND);
        let expected = Cached {
            value: 1,
            age: 2 * SECOND,
        };
        assert_eq!(cached, Some(expected));
        assert_eq!(cache.get(&"a", now + 3 * SECOND), None);
        assert_eq!(cache.lock().len(), 0);
    }

    #[test]
    fn the_value_that_was_not_used_makes_room() {
        let now = Instant::now();
        let cache = cache(2);
        cache.put("a", 1, SECOND, now);
        cache.put("b", 2, SECOND, now);
        assert!(cache.get(&"a", now).is_some());

        cache.put("c", 3, SECOND, now);
        assert!(cache.get(&"a", now).is_some());
        assert!(cache.get(&"b", now).is_none());
        assert_eq!(cache.lock().len(), 2);
    }

    #[test]
    fn a_value_without_a_lifetime_is_not_stored() {
        let now = Instant::now();
        let cache = cache(2);
        cache.put("a", 1, Duration::ZERO, now);
        assert_eq!(cache.get(&"a", now), None);
    }
}
