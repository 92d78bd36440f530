//! Limits on the requests that a relay forwards at once.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::RelayProblem;
use crate::admission::{ClientKey, ClientLimiter, ClientLimits, ClientSlot, Rate};
use crate::listen::Peer;

/// Most requests at once. Each has the buffers of two connections, up to about a megabyte.
const MAX_REQUESTS: usize = 512;
/// Most requests of one address at once. An address may be that of a whole office.
const PER_CLIENT: usize = 64;
/// Requests that an address may send at once after a pause, where rates are limited.
const BURST: u32 = 20;

/// Counts the requests that are running, of each client and in total.
pub(super) struct RelayLimits {
    clients: Arc<ClientLimiter>,
    places: Arc<Semaphore>,
}

/// The place of a running request. Given back when dropped.
pub(super) struct RelayPlace {
    _client: ClientSlot,
    _place: OwnedSemaphorePermit,
}

impl RelayLimits {
    pub(super) fn new(rate: Option<Rate>) -> Self {
        let limits = ClientLimits {
            rate,
            burst: BURST,
            per_client: PER_CLIENT,
        };
        Self {
            clients: ClientLimiter::new(limits),
            places: Arc::new(Semaphore::new(MAX_REQUESTS)),
        }
    }

    /// Takes a place for a request from `peer`.
    pub(super) fn admit(&self, peer: Peer) -> Result<RelayPlace, RelayProblem> {
        // First: a request that finds no place is not charged to its client.
        let place = Arc::clone(&self.places)
            .try_acquire_owned()
            .map_err(|_| RelayProblem::Busy)?;

        let client = self
            .clients
            .admit(key(peer), 1, Instant::now())
            .map_err(|after| RelayProblem::TooMany { after })?;

        Ok(RelayPlace {
            _client: client.into(),
            _place: place,
        })
    }
}

/// The client that a peer counts as.
fn key(peer: Peer) -> ClientKey {
    match peer.network() {
        Peer::Address(address) => ClientKey::Address(address),
        Peer::Local => ClientKey::Local,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn peer(last: u8) -> Peer {
        Peer::Address([192, 0, 2, last].into())
    }

    #[test]
    fn one_address_has_a_part_of_the_places() {
        let limits = RelayLimits::new(None);
        let mut held: Vec<RelayPlace> = (0..PER_CLIENT)
            .map(|_| limits.admit(peer(1)).unwrap())
            .collect();

        let refused = limits.admit(peer(1)).err();
        assert!(matches!(refused, Some(RelayProblem::TooMany { .. })));
        assert!(limits.admit(peer(2)).is_ok());

        held.pop();
        assert!(limits.admit(peer(1)).is_ok());
    }

    #[test]
    fn all_addresses_together_have_the_places_and_no_more() {
        let limits = RelayLimits::new(None);
        let held: Vec<RelayPlace> = (0..MAX_REQUESTS)
            .map(|number| limits.admit(peer(number as u8)).unwrap())
            .collect();

        assert!(matches!(
            limits.admit(peer(0)).err(),
            Some(RelayProblem::Busy)
        ));
        drop(held);
        assert!(limits.admit(peer(0)).is_ok());
    }
}
