//! Places for requests that wait or run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::limits::ClientKey;
use crate::shares::Shares;

/// A fixed number of places.
pub(super) struct Places {
    capacity: usize,
    taken: Mutex<Shares<ClientKey>>,
}

/// A place of one client. Free again when dropped.
pub(super) struct Place {
    places: Arc<Places>,
    client: ClientKey,
}

impl Places {
    pub(super) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            capacity,
            taken: Mutex::default(),
        })
    }

    /// Number of places.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Number of places that are taken.
    pub(super) fn taken(&self) -> usize {
        self.lock().total()
    }

    /// Takes a place; `None` if none is free.
    fn take(self: &Arc<Self>, client: &ClientKey) -> Option<Place> {
        let mut taken = self.lock();
        if taken.total() >= self.capacity {
            return None;
        }

        taken.take(client, 1);
        Some(Place {
            places: Arc::clone(self),
            client: client.clone(),
        })
    }

    /// Takes a place. If none is free, calls `shed` with a client that has more places, and
    /// takes the place that this frees.
    pub(super) fn take_or(
        self: &Arc<Self>,
        client: &ClientKey,
        shed: impl FnOnce(&ClientKey) -> bool,
    ) -> Option<Place> {
        if let Some(place) = self.take(client) {
            return Some(place);
        }

        // Outside the lock: the shed request frees its place.
        let heavier = self.heavier_than(client)?;
        if shed(&heavier) {
            self.take(client)
        } else {
            None
        }
    }

    /// The client with the most places, if it has at least two more than `client`: it can give one
    /// up and still has no fewer.
    pub(super) fn heavier_than(&self, client: &ClientKey) -> Option<ClientKey> {
        let taken = self.lock();
        let heaviest = taken.heaviest_above(taken.of(client) + 1)?;
        Some(heaviest.holder)
    }

    fn lock(&self) -> MutexGuard<'_, Shares<ClientKey>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().give_back(&self.client, 1);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn key(number: u32) -> ClientKey {
        ClientKey::Address(std::net::Ipv4Addr::from(number).into())
    }

    #[test]
    fn the_heaviest_client_gives_way_to_lighter_ones_only() {
        let places = Places::new(4);
        let flood: Vec<_> = (0..3).map(|_| places.take(&key(1)).unwrap()).collect();
        let other = places.take(&key(2)).unwrap();

        assert!(places.take(&key(3)).is_none());
        assert_eq!(places.heavier_than(&key(3)), Some(key(1)));
        assert_eq!(places.heavier_than(&key(2)), Some(key(1)));
        assert_eq!(places.heavier_than(&key(1)), None);

        drop(flood);
        assert_eq!((places.taken(), places.heavier_than(&key(3))), (1, None));

        drop(other);
        assert!(places.lock().is_empty());
    }
}
