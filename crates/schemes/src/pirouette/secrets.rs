//! Secrets of a client: those it keeps, and those of one query.

use std::sync::Arc;

use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_lattice::secret::SecretKey;
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use super::chain::{DEGREE, RESPONSE_DEGREE};
use super::common::RetrievalParams;

/// Long-term secrets: the ring's key, which queries are encrypted under, and the response ring's
/// key.
pub struct Secrets {
    pub(crate) ring: SecretKey,
    pub(crate) response: SecretKey,
}

/// State of a registered client.
///
/// ```text
/// state    the ring's key (2048), the response ring's (1024): a coefficient a byte, signed
/// ```
pub struct State(pub(super) Arc<Secrets>);

impl State {
    /// Fresh secrets.
    pub(crate) fn generate<P: RetrievalParams>(
        params: &P,
        kept: Option<&Self>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let ring = params.ring_key(kept.map(|kept| &kept.0.ring), rng)?;
        let response = SecretKey::generate(&params.chain().response, rng);
        Ok(Self(Arc::new(Secrets { ring, response })))
    }

    /// The keys.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.0
    }
}

impl<P: RetrievalParams> Wire<P> for State {
    fn encode(&self, _params: &P) -> Vec<u8> {
        let keys = [&self.0.ring, &self.0.response];
        let mut bytes = Vec::with_capacity(DEGREE + RESPONSE_DEGREE);
        bytes.extend(keys.into_iter().flat_map(SecretKey::coefficients).map(|&c| c as i8 as u8));
        bytes
    }

    fn decode(params: &P, bytes: &[u8]) -> Result<Self> {
        Error::check_length("pirouette's client state", bytes.len(), DEGREE + RESPONSE_DEGREE)?;
        let coefficients = |bytes: &[u8]| Zeroizing::new(bytes.iter().map(|&c| i32::from(c as i8)).collect());
        let (ring, response) = bytes.split_at(DEGREE);
        let bound = params.chain().response.error().bound();
        let within = |bytes: &[u8], bound| bytes.iter().all(|&c| i32::from(c as i8).abs() <= bound);
        if !(within(ring, 1) && within(response, bound)) {
            let found = "a coefficient outside of its key's range";
            let expected = format!("a ternary key, and one of coefficients up to {bound}");
            return Err(Error::malformed("pirouette's client state", found, expected));
        }
        let chain = params.chain();
        Ok(Self(Arc::new(Secrets {
            ring: SecretKey::from_coefficients(&chain.rlwe, coefficients(ring)),
            response: SecretKey::from_coefficients(&chain.response, coefficients(response)),
        })))
    }
}

/// Secret of one query: the keys, and the record's place in its item.
pub struct RetrievalSecret {
    pub(super) secrets: Arc<Secrets>,
    pub(super) slot: u64,
}

impl Drop for RetrievalSecret {
    fn drop(&mut self) {
        self.slot.zeroize();
    }
}
