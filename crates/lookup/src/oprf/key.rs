//! The key holder's side: direct and blinded evaluation.

use papir_core::{Error, Result};
use rand_core::CryptoRng;
use rayon::prelude::*;
use voprf::{BlindedElement, OprfServer, Ristretto255};
use zeroize::Zeroizing;

use super::value::{ELEMENT_BYTES, Value, check, refused, value};

/// Context string of the key derivation.
const INFO: &[u8] = b"papir set intersection";
/// Length in bytes of the seed from which a key is derived, and as which it is stored.
pub const SEED_BYTES: usize = 32;

/// A key of the function. It is erased on drop and never printed.
pub struct Key {
    seed: Zeroizing<[u8; SEED_BYTES]>,
    server: OprfServer<Ristretto255>,
}

impl Key {
    /// Draws a fresh key.
    ///
    /// # Errors
    /// The errors of [`Key::from_seed`].
    pub fn generate(rng: &mut dyn CryptoRng) -> Result<Self> {
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        rng.fill_bytes(&mut *seed);
        Self::from_seed(&*seed)
    }

    /// Derives the key from a secret seed (`DeriveKeyPair` of RFC 9497).
    ///
    /// # Errors
    /// [`Error::Length`] unless the seed has [`SEED_BYTES`] bytes; [`Error::Malformed`] for a seed
    /// that derives no key, with probability 2⁻²⁵⁶.
    pub fn from_seed(bytes: &[u8]) -> Result<Self> {
        Error::check_length("the seed of a key", bytes.len(), SEED_BYTES)?;
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        seed.copy_from_slice(bytes);
        let server = OprfServer::new_from_seed(bytes, INFO).map_err(refused)?;
        Ok(Self { seed, server })
    }

    /// The seed of the key, which is as secret as the key.
    pub fn seed(&self) -> &[u8; SEED_BYTES] {
        &self.seed
    }

    /// Evaluates the function at one of the key holder's own elements.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for elements of 2¹⁶ bytes or more.
    pub fn value(&self, element: &[u8]) -> Result<Value> {
        check(element)?;
        let mut output = self.server.evaluate(element).map_err(refused)?;
        Ok(value(&mut output))
    }

    /// Evaluates the blinded elements in a message of [`Blinding::new`](super::Blinding::new). The
    /// answer has the same length.
    ///
    /// # Errors
    /// [`Error::Length`] for a message that is not whole elements, [`Error::Malformed`] for invalid
    /// elements.
    pub fn evaluate(&self, blinded: &[u8]) -> Result<Vec<u8>> {
        let whole = blinded.len().next_multiple_of(ELEMENT_BYTES);
        Error::check_length("blinded elements", blinded.len(), whole)?;

        // Elements are independent, so a batch is evaluated in parallel.
        let mut evaluated = vec![0; blinded.len()];
        let pairs = evaluated
            .par_chunks_exact_mut(ELEMENT_BYTES)
            .zip(blinded.par_chunks_exact(ELEMENT_BYTES));
        pairs.try_for_each(|(out, bytes)| {
            let element = BlindedElement::deserialize(bytes).map_err(refused)?;
            out.copy_from_slice(&self.server.blind_evaluate(&element).serialize());
            Ok(())
        })?;
        Ok(evaluated)
    }
}
