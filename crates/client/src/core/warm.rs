//! Client state in memory, with the work done ahead for its next queries.

use std::sync::{Arc, Mutex, PoisonError};

use papir_core::Version;
use papir_core::erased::{ErasedClient, ErasedState};
use zeroize::Zeroizing;

use crate::error::Result;

/// The state of a registration as last stored, with its work done ahead. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Warm(Arc<Mutex<Option<Kept>>>);

struct Kept {
    version: Version,
    /// The state as stored.
    bytes: Zeroizing<Vec<u8>>,
    state: ErasedState,
}

impl Warm {
    /// The state that was stored as these bytes: the one in memory if it matches, else decoded.
    ///
    /// # Errors
    /// As [`ErasedClient::load_state`].
    pub(crate) fn take(&self, client: &dyn ErasedClient, bytes: &[u8]) -> Result<ErasedState> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match kept.filter(|kept| kept.version == client.version() && *kept.bytes == bytes) {
            Some(kept) => Ok(kept.state),
            None => Ok(client.load_state(bytes)?),
        }
    }

    /// Keeps a state that is stored as these bytes.
    pub(crate) fn keep(&self, client: &dyn ErasedClient, bytes: &[u8], state: ErasedState) {
        let kept = Kept { version: client.version(), bytes: Zeroizing::new(bytes.to_vec()), state };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }
}
