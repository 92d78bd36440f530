//! Messages of SimplePIR.
//!
//! ```text
//! public   seed (32), hint (rows × n words of 4 bytes, row by row)
//! query    columns × 4 bytes: one LWE ciphertext's b for each column
//! answer   rows × answer bits, packed
//! ```

use bytemuck::cast_slice;
use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Blob, Error, Result};
use papir_ring::prg::Seed;

use super::params::SimpleParams;
use crate::shared::messages::{pack, read_hint, unpack};

/// Public part: the seed of A, and the hint D·A.
#[derive(Clone, Debug)]
pub struct SimplePublic {
    pub(crate) seed: Seed,
    /// Hint, with rows × n words.
    pub(super) hint: Blob,
}

/// A query: the encrypted unit vector of one column.
#[derive(Clone, Debug)]
pub struct SimpleQuery {
    pub(super) values: Vec<u32>,
}

/// An answer: D times the query, rounded.
#[derive(Clone, Debug)]
pub struct SimpleAnswer {
    pub(super) values: Vec<u64>,
}

impl Wire<SimpleParams> for SimplePublic {
    fn encode(&self, _params: &SimpleParams) -> Vec<u8> {
        [&self.seed.0, &*self.hint].concat()
    }

    fn decode(params: &SimpleParams, bytes: &[u8]) -> Result<Self> {
        let length = params.hint_bytes();
        let (seed, hint) = read_hint("simple's public part", bytes, "simple's hint", length)?;
        Ok(Self { seed, hint })
    }
}

impl Wire<SimpleParams> for SimpleQuery {
    fn encode(&self, _params: &SimpleParams) -> Vec<u8> {
        cast_slice(&self.values).to_vec()
    }

    fn decode(params: &SimpleParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length("simple's query", bytes.len(), params.query_bytes())?;
        Ok(Self {
            values: bytes
                .as_chunks()
                .0
                .iter()
                .map(|word| u32::from_le_bytes(*word))
                .collect(),
        })
    }
}

impl Wire<SimpleParams> for SimpleAnswer {
    fn encode(&self, params: &SimpleParams) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(&self.values, params.answer_bits(), &mut bytes);
        bytes
    }

    fn decode(params: &SimpleParams, bytes: &[u8]) -> Result<Self> {
        let what = "simple's answer";
        Error::check_length(what, bytes.len(), params.answer_bytes())?;
        let mut reader = Reader::new(what, bytes);
        Ok(Self {
            values: unpack(&mut reader, what, params.answer_bits(), params.layout.rows)?,
        })
    }
}
