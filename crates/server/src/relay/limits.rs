//! Limits on the requests that a relay forwards at once.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::RelayProblem;
use crate::admission::{ClientKey, ClientLimiter, ClientLimits, ClientSlot, Rate};
use crate::listen::Peer;

/// Most requests at once. Each has the buffers of two connections, up to about a megabyte.
const MAX_REQUESTS: usize = 512;
/// Part of the requests that one of several gateways may have at once: a half. One that hangs then
/// leaves places for the others.
const GATEWAY_SHARE: usize = 2;
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
    _of_gateway: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
}

/// The places of requests to one gateway, a part of all.
pub(super) struct GatewayPlaces {
    authority: Arc<str>,
    places: Arc<Semaphore>,
}

impl GatewayPlaces {
    /// The places of one of `gateways` gateways: all of them for the only one, else a share.
    pub(super) fn new(authority: Arc<str>, gateways: usize) -> Self {
        let most = match gateways {
            0 | 1 => MAX_REQUESTS,
            _ => (MAX_REQUESTS / GATEWAY_SHARE).max(1),
        };
        Self {
            authority,
            places: Arc::new(Semaphore::new(most)),
        }
    }

    fn take(&self) -> Result<OwnedSemaphorePermit, RelayProblem> {
        let taken = Arc::clone(&self.places).try_acquire_owned();
        taken.map_err(|_| RelayProblem::GatewayBusy {
            authority: Arc::clone(&self.authority),
        })
    }
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

    /// Takes a place for a request from `peer` to a gateway.
    pub(super) fn admit(
        &self,
        peer: Peer,
        gateway: &GatewayPlaces,
    ) -> Result<RelayPlace, RelayProblem> {
        // First: a request that finds no place is not charged to its client.
        let of_gateway = gateway.take()?;
        let place = Arc::clone(&self.places)
            .try_acquire_owned()
            .map_err(|_| RelayProblem::Busy)?;

        let client = self
            .clients
            .admit(key(peer), 1, Instant::now())
            .map_err(|after| RelayProblem::TooMany { after })?;

        Ok(RelayPlace {
            _client: client.into(),
            _of_gateway: of_gateway,
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

    /// The places of one of some gateways.
    fn gateway(gateways: usize) -> GatewayPlaces {
        GatewayPlaces::new("gateway.example".into(), gateways)
    }

    #[test]
    fn one_address_has_a_part_of_the_places() {
        let limits = RelayLimits::new(None);
        let gateway = gateway(1);
        let mut held: Vec<RelayPlace> = (0..PER_CLIENT)
            .map(|_| limits.admit(peer(1), &gateway).unwrap())
            .collect();

        let refused = limits.admit(peer(1), &gateway).err();
        assert!(matches!(refused, Some(RelayProblem::TooMany { .. })));
        assert!(limits.admit(peer(2), &gateway).is_ok());

        held.pop();
        assert!(limits.admit(peer(1), &gateway).is_ok());
    }

    #[test]
    fn all_addresses_together_have_the_places_and_no_more() {
        let limits = RelayLimits::new(None);
        let gateways = [gateway(2), gateway(2), gateway(2)];
        let held: Vec<RelayPlace> = (0..MAX_REQUESTS)
            .map(|number| limits.admit(peer(number as u8), &gateways[number % 2]))
            .collect::<Result<_, _>>()
            .unwrap();

        assert_eq!(
            limits.admit(peer(0), &gateways[2]).err(),
            Some(RelayProblem::Busy)
        );
        drop(held);
        assert!(limits.admit(peer(0), &gateways[2]).is_ok());
    }

    #[test]
    fn one_of_several_gateways_has_a_part_of_the_places() {
        let limits = RelayLimits::new(None);
        let hanging = gateway(2);
        let share = MAX_REQUESTS / GATEWAY_SHARE;
        let mut held: Vec<RelayPlace> = (0..share)
            .map(|number| limits.admit(peer(number as u8), &hanging).unwrap())
            .collect();

        let refused = limits.admit(peer(0), &hanging).err().unwrap();
        assert_eq!((refused.code(), refused.status()), ("busy", 429));
        assert!(refused.to_string().contains("gateway.example"), "{refused}");
        assert!(limits.admit(peer(0), &gateway(2)).is_ok());

        held.pop();
        assert!(limits.admit(peer(0), &hanging).is_ok());
    }
}
