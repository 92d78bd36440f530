//! State with what was done ahead for its next queries, in memory between two requests.

use std::sync::{Arc, Mutex, PoisonError};

use papir_core::Version;
use papir_core::erased::{ErasedClient, ErasedState};
use zeroize::Zeroizing;

use crate::Result;

/// The state of an account as it was stored last, with what it has ahead. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Warm(Arc<Mutex<Option<Kept>>>);

struct Kept {
    version: Version,
    /// What was stored.
    bytes: Zeroizing<Vec<u8>>,
    state: ErasedState,
}

impl Warm {
    /// The state that was stored as these bytes: the one in memory where it is that, else from the bytes.
    ///
    /// # Errors
    /// As [`ErasedClient::load_state`].
    pub(crate) fn take(&self, client: &dyn ErasedClient, bytes: &[u8]) -> Result<ErasedState> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let same = |kept: &Kept| kept.version == client.version() && *kept.bytes == bytes;
        match kept.filter(same) {
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
