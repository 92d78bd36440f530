//! Who has the key: computes the function, also of elements that it does not see.

use papir_core::{Error, Result};
use rand_core::CryptoRng;
use rayon::prelude::*;
use voprf::{BlindedElement, OprfServer, Ristretto255};
use zeroize::Zeroizing;

use crate::{ELEMENT_BYTES, Value, check, refused, value};

/// What a key is derived for.
const INFO: &[u8] = b"papir set intersection";
/// Bytes of the seed that a key is derived from, as it is kept.
pub const SEED_BYTES: usize = 32;

/// The function's key. Erased on drop, never printed.
pub struct Key {
    seed: Zeroizing<[u8; SEED_BYTES]>,
    server: OprfServer<Ristretto255>,
}

impl Key {
    /// A fresh key.
    ///
    /// # Errors
    /// As [`Key::from_seed`].
    pub fn generate(rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        rng.fill_bytes(&mut *seed);
        Self::from_seed(&*seed)
    }

    /// The key of a secret seed (`DeriveKeyPair` of RFC 9497).
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::Malformed`] for a seed that gives no key, with probability 2⁻²⁵⁶.
    pub fn from_seed(bytes: &[u8]) -> Result<Self> {
        Error::check_length("the seed of a key", bytes.len(), SEED_BYTES)?;
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        seed.copy_from_slice(bytes);
        let server = OprfServer::new_from_seed(bytes, INFO).map_err(refused)?;
        Ok(Self { seed, server })
    }

    /// The seed, which is as secret as the key.
    pub fn seed(&self) -> &[u8; SEED_BYTES] {
        &self.seed
    }

    /// The function at an element of one's own.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for elements of 2¹⁶ bytes and more.
    pub fn value(&self, element: &[u8]) -> Result<Value> {
        check(element)?;
        let mut output = self.server.evaluate(element).map_err(refused)?;
        Ok(value(&mut output))
    }

    /// The answer to the message of [`Blinding::new`](crate::Blinding::new), as long as it.
    ///
    /// # Errors
    /// [`Error::Length`] for no whole number of elements, [`Error::Malformed`] for bytes that are none.
    pub fn evaluate(&self, blinded: &[u8]) -> Result<Vec<u8>> {
        let whole = blinded.len().next_multiple_of(ELEMENT_BYTES);
        Error::check_length("blinded elements", blinded.len(), whole)?;
        let mut evaluated = vec![0; blinded.len()];
        let pairs =
            evaluated.par_chunks_exact_mut(ELEMENT_BYTES).zip(blinded.par_chunks_exact(ELEMENT_BYTES));
        pairs.try_for_each(|(out, bytes)| {
            let element = BlindedElement::deserialize(bytes).map_err(refused)?;
            out.copy_from_slice(&self.server.blind_evaluate(&element).serialize());
            Ok(())
        })?;
        Ok(evaluated)
    }
}
