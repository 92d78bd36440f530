//! The client without cryptography.

use papir_core::scheme::{Client, Never, Parameters, Scheme, check_indices};
use papir_core::{Error, Record, Result};
use rand_core::CryptoRng;

use super::params::PlainParams;
use super::wire::{NONCE_BYTES, PlainAnswer, PlainQuery};
use super::{BATCH, Plain};
use crate::shared::empty_public::EmptyPublic;

/// What ties an answer to its query. Hides nothing.
pub struct PlainSecret {
    nonce: [u8; NONCE_BYTES],
    indices: usize,
}

/// A client that sends indices in the clear.
pub struct PlainClient {
    params: PlainParams,
}

impl Client<Plain> for PlainClient {
    fn new(params: PlainParams, _public: EmptyPublic) -> Result<Self> {
        Ok(Self { params })
    }

    fn params(&self) -> &PlainParams {
        &self.params
    }

    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(PlainSecret, PlainQuery)> {
        check_indices(Plain::NAME, &self.params.shape(), indices, BATCH)?;
        let mut nonce = [0; NONCE_BYTES];
        rng.fill_bytes(&mut nonce);
        let secret = PlainSecret { nonce, indices: indices.len() };
        Ok((secret, PlainQuery { nonce, indices: indices.to_vec() }))
    }

    fn extract(&self, secret: PlainSecret, answer: PlainAnswer) -> Result<Vec<Record>> {
        if secret.nonce != answer.nonce {
            return Err(Error::NotDecodable);
        }
        let mut records = answer.records;
        records.truncate(secret.indices);
        Ok(records)
    }
}
