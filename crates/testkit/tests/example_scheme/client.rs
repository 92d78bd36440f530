//! The client of the example scheme.

use std::hint::black_box;

use papir_core::scheme::{Client, Never, Parameters, Scheme, check_indices};
use papir_core::{Error, Record, Result, Shape, extract_bits};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::Example;
use crate::params::{BATCH, ExampleParams, NONCE_BYTES};
use crate::wire::{ExampleAnswer, ExamplePublic, ExampleQuery};

/// Opens one answer. Erased on drop, and neither `Clone` nor `Debug`.
pub(crate) struct ExampleSecret {
    nonce: [u8; NONCE_BYTES],
    indices: Zeroizing<Vec<u64>>,
}

/// A client of one version of a database.
pub(crate) struct ExampleClient {
    params: ExampleParams,
}

impl Client<Example> for ExampleClient {
    fn new(params: ExampleParams, _public: ExamplePublic) -> Result<Self> {
        Ok(Self { params })
    }

    fn params(&self) -> &ExampleParams {
        &self.params
    }

    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(ExampleSecret, ExampleQuery)> {
        check_indices(Example::NAME, &self.params.shape(), indices, BATCH)?;
        let mut nonce = [0; NONCE_BYTES];
        rng.fill_bytes(&mut nonce);
        let secret = ExampleSecret {
            nonce,
            indices: Zeroizing::new(indices.to_vec()),
        };
        Ok((secret, ExampleQuery { nonce }))
    }

    fn extract(&self, secret: ExampleSecret, answer: ExampleAnswer) -> Result<Vec<Record>> {
        if secret.nonce != answer.nonce {
            return Err(Error::NotDecodable);
        }
        let shape = self.params.shape();
        Ok(secret
            .indices
            .iter()
            .map(|&index| select(&shape, &answer.packed, index))
            .collect())
    }
}

/// The record at a secret index. Reads every record, so that no address depends on the index.
fn select(shape: &Shape, packed: &[u8], index: u64) -> Record {
    let mut selected = vec![0; shape.record_bytes()];
    for i in 0..shape.records() {
        let mask = equality_mask(i, index);
        let record = extract_bits(packed, i * shape.record_bits(), shape.record_bits());
        selected
            .iter_mut()
            .zip(record)
            .for_each(|(byte, value)| *byte |= mask & value);
    }
    selected
}

/// All ones if the numbers are equal, otherwise zero; without a branch.
fn equality_mask(a: u64, b: u64) -> u8 {
    let difference = black_box(a ^ b);
    // The top bit of x | −x is set for every x except zero.
    let differs = (difference | difference.wrapping_neg()) >> 63;
    black_box(differs as u8).wrapping_sub(1)
}
