//! A generator whose output counts as undefined.

use std::slice;

use chacha20::ChaCha20Rng;
use rand_core::{Infallible, Rng, SeedableRng, TryCryptoRng, TryRng};

use crate::memcheck::hide;

/// A generator of undefined bytes. All that a client derives from them is undefined, too: its
/// hedged generators, its secret keys and its errors.
pub(crate) struct HiddenRng(ChaCha20Rng);

impl HiddenRng {
    /// The generator of the same bytes as `ChaCha20Rng` under this seed.
    pub(crate) fn from_seed(seed: [u8; 32]) -> Self {
        Self(ChaCha20Rng::from_seed(seed))
    }
}

impl TryRng for HiddenRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut word = self.0.next_u32();
        hide(slice::from_mut(&mut word));
        Ok(word)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut word = self.0.next_u64();
        hide(slice::from_mut(&mut word));
        Ok(word)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        hide(bytes);
        Ok(())
    }
}

impl TryCryptoRng for HiddenRng {}
