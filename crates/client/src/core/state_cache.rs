//! In-memory cache of client state.

use std::sync::{Arc, Mutex, PoisonError};

use papir_core::Version;
use papir_core::erased::{ErasedClient, ErasedState};
use zeroize::Zeroizing;

use crate::error::Result;

/// The decoded state of a registration as it was last stored, with work done in advance. Clones
/// share the cache.
#[derive(Clone, Default)]
pub(crate) struct StateCache(Arc<Mutex<Option<Cached>>>);

struct Cached {
    version: Version,
    /// The stored encoding of the state.
    bytes: Zeroizing<Vec<u8>>,
    state: ErasedState,
}

impl StateCache {
    /// Returns the state whose stored encoding is `bytes`: from the cache, which it leaves empty,
    /// or else decoded.
    pub(crate) fn take(&self, client: &dyn ErasedClient, bytes: &[u8]) -> Result<ErasedState> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Compared with the stored bytes: another process may have used the state meanwhile.
        match cached.filter(|cached| cached.version == client.version() && *cached.bytes == bytes) {
            Some(cached) => Ok(cached.state),
            None => Ok(client.require_registered()?.load_state(bytes)?),
        }
    }

    /// Caches the state whose stored encoding is `bytes`.
    pub(crate) fn put(&self, client: &dyn ErasedClient, bytes: &[u8], state: ErasedState) {
        let cached = Cached {
            version: client.version(),
            bytes: Zeroizing::new(bytes.to_vec()),
            state,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(cached);
    }
}
