//! Keys and randomness for tests.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;

use crate::key::{Kind, SigningKey};

/// A deterministic generator with a seed of 32 equal bytes.
pub(crate) fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// A key that signs notes, for an owner or publisher.
#[allow(clippy::unwrap_used)]
pub(crate) fn key(name: &str, seed: u8) -> SigningKey {
    SigningKey::generate(name.parse().unwrap(), Kind::Note, &mut rng(seed))
}
