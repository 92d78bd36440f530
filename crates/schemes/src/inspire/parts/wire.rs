//! Messages of stacked InsPIRe.
//!
//! ```text
//! public   a seed for each part (32)
//! query    m·columns selector entries, part after part, packed; the packing key, y_g and y_h, as InsPIRe has it
//! answer   InsPIRe's: a mask and a body a chunk
//! ```

use std::ops::Range;

use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_kernels::bits;
use papir_ring::prg::Seed;

use super::params::PartsParams;
use crate::inspire;

/// What a client starts from: the seed of each part's masks and whitening; the first part's also expands to the
/// masks of packing keys, unless another database's does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsPublic {
    /// One a part.
    pub seeds: Vec<Seed>,
}

/// A selector a part, and one packing key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsQuery {
    /// Entries of `query_bits` bits, part after part.
    pub selectors: Vec<u64>,
    /// The packing key, as in [`inspire::Query::keys`].
    pub keys: Vec<u64>,
}

/// InsPIRe's answer; each part has d/m words of every chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsAnswer(pub inspire::Answer);

impl Wire<PartsParams> for PartsPublic {
    fn encode(&self, _params: &PartsParams) -> Vec<u8> {
        self.seeds.iter().flat_map(|seed| seed.0).collect()
    }

    fn decode(params: &PartsParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length("the seeds of stacked InsPIRe", bytes.len(), 32 * params.parts())?;
        Ok(Self { seeds: bytes.as_chunks::<32>().0.iter().map(|seed| Seed(*seed)).collect() })
    }
}

impl Wire<PartsParams> for PartsQuery {
    fn encode(&self, params: &PartsParams) -> Vec<u8> {
        let mut bytes = Vec::new();
        bits::pack(&self.selectors, params.below().literal().query_bits, &mut bytes);
        bytes.extend(inspire::wire::pack_elements(params.below(), &self.keys));
        bytes
    }

    fn decode(params: &PartsParams, bytes: &[u8]) -> Result<Self> {
        let (selector_bytes, key_bytes) = (params.selector_bytes(), params.key_bytes());
        Error::check_length("a query of stacked InsPIRe", bytes.len(), selector_bytes + key_bytes)?;
        let (selectors, keys) = bytes.split_at(selector_bytes);
        let (width, count) = (params.below().literal().query_bits, params.parts() * params.part().columns);
        Ok(Self {
            selectors: inspire::wire::unpack(selectors, width, count)?,
            keys: inspire::wire::unpack_elements(params.below(), keys)?,
        })
    }

    /// The packing key.
    fn shared(params: &PartsParams) -> Range<usize> {
        params.selector_bytes()..params.selector_bytes() + params.key_bytes()
    }
}

impl Wire<PartsParams> for PartsAnswer {
    fn encode(&self, params: &PartsParams) -> Vec<u8> {
        self.0.encode(params.below())
    }

    fn decode(params: &PartsParams, bytes: &[u8]) -> Result<Self> {
        Ok(Self(inspire::Answer::decode(params.below(), bytes)?))
    }
}
