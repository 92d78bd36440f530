//! Messages of InsPIRe in parts.
//!
//! ```text
//! public   a seed for each part (32)
//! query    m·columns selector entries, part after part, packed; the packing key, y_g and y_h, as in InsPIRe
//! answer   as in InsPIRe: a mask and a body for each chunk
//! ```

use std::ops::Range;

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_ring::prg::Seed;

use super::params::PartsParams;
use crate::inspire;
use crate::inspire::wire::{pack_elements, unpack_elements};
use crate::shared::messages::{SEED_BYTES, pack, unpack};

/// Seeds of each part's masks and whitening. The first one also expands to the masks of packing
/// keys, unless another database's seed does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsPublic {
    /// One for each part.
    pub seeds: Vec<Seed>,
}

/// A selector for each part, and one packing key.
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
        Error::check_length("the seeds of stacked InsPIRe", bytes.len(), SEED_BYTES * params.parts())?;
        Ok(Self { seeds: bytes.as_chunks::<32>().0.iter().map(|seed| Seed(*seed)).collect() })
    }
}

impl Wire<PartsParams> for PartsQuery {
    fn encode(&self, params: &PartsParams) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(&self.selectors, params.below().literal().query_bits, &mut bytes);
        pack_elements(params.below(), &self.keys, &mut bytes);
        bytes
    }

    fn decode(params: &PartsParams, bytes: &[u8]) -> Result<Self> {
        let what = "a query of InsPIRe in parts";
        Error::check_length(what, bytes.len(), params.selector_bytes() + params.key_bytes())?;
        let mut reader = Reader::new(what, bytes);
        let (width, count) = (params.below().literal().query_bits, params.parts() * params.part().columns);
        let selectors = unpack(&mut reader, what, width, count)?;
        Ok(Self { selectors, keys: unpack_elements(params.below(), &mut reader)? })
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
