//! Relays, and the keys of gateways that a session has verified.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use papir_checkpoint::GatewayKeys;
use papir_core::without_passwords;

use super::address::Address;

/// The relay of Oblivious HTTP through which a service is reached.
#[derive(Clone, Debug)]
pub struct ServiceRelay {
    url: String,
    carries_keys: bool,
}

impl ServiceRelay {
    /// The relay at an address. `carries_keys` is true unless the caller has the keys of the
    /// service's gateway from elsewhere: sessions then verify the keys that the relay carries, if
    /// the owner of the database names keys.
    pub fn at(address: &Address, carries_keys: bool) -> Self {
        Self {
            url: without_passwords(address.base()),
            carries_keys,
        }
    }

    /// The relay's address without a password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns true if the relay carries the keys of the service's gateway.
    pub fn carries_keys(&self) -> bool {
        self.carries_keys
    }
}

/// The keys of gateways for which the requests of one session may be sealed. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct GatewayGate {
    /// Set if a token is held back until there are verified keys.
    is_required: bool,
    /// The keys that the owner names; `None` until they are verified.
    keys: Arc<Mutex<Option<Arc<GatewayKeys>>>>,
}

impl GatewayGate {
    /// A gate without verified keys. With `is_required`, the owner must name keys.
    pub(crate) fn new(is_required: bool) -> Self {
        Self {
            is_required,
            keys: Arc::default(),
        }
    }

    /// Returns true if the owner must name keys.
    pub(crate) fn is_required(&self) -> bool {
        self.is_required
    }

    /// Returns true if the owner must name keys, and none are verified yet.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_required && self.keys().is_none()
    }

    /// The verified keys; `None` if any key may be used.
    pub(crate) fn keys(&self) -> Option<Arc<GatewayKeys>> {
        self.lock().clone()
    }

    /// Replaces the verified keys.
    pub(crate) fn open(&self, keys: GatewayKeys) {
        *self.lock() = Some(Arc::new(keys));
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<GatewayKeys>>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_is_named_without_a_password() {
        let address = Address::parse("https://name:word@r.example/relay/").unwrap();
        for carries_keys in [false, true] {
            let relay = ServiceRelay::at(&address, carries_keys);
            assert_eq!(relay.url(), "https://name:***@r.example/relay");
            assert_eq!(relay.carries_keys(), carries_keys);
        }
    }

    #[test]
    fn a_gate_is_closed_until_keys_are_verified() {
        for is_required in [false, true] {
            let gate = GatewayGate::new(is_required);
            let shared = gate.clone();
            assert_eq!(
                (gate.is_closed(), gate.keys().is_none()),
                (is_required, true)
            );

            shared.open(GatewayKeys::new(None, &[[7; 32]]).unwrap());
            assert!(!gate.is_closed());
            assert!(gate.keys().unwrap().contains(&[7; 32]));
        }
    }
}
