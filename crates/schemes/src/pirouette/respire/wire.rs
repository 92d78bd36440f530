//! Messages of Respire; answers, keys but for their parts, and client states are Pirouette's.
//!
//! ```text
//! query    seed of the mask (32), words of the body at multiples of the stride, packed
//! ```

use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_kernels::bits;
use papir_ring::prg::Seed;

use super::params::{RespireParams, SEED_BYTES};

/// An RLWE encryption of what selects an item.
pub struct RespireQuery {
    /// From which the mask is expanded.
    pub(super) seed: Seed,
    /// The body's coefficients that hold something, rounded.
    pub(super) body: Vec<u64>,
}

impl Wire<RespireParams> for RespireQuery {
    fn encode(&self, params: &RespireParams) -> Vec<u8> {
        let mut packed = Vec::new();
        bits::pack(&self.body, params.query_bits(), &mut packed);
        [&self.seed.0[..], &packed].concat()
    }

    fn decode(params: &RespireParams, bytes: &[u8]) -> Result<Self> {
        let what = "respire's query";
        Error::check_length(what, bytes.len(), params.query_bytes())?;
        let (seed, packed) = bytes.split_first_chunk::<SEED_BYTES>().ok_or(Error::NotDecodable)?;
        let mut body = Vec::new();
        bits::unpack(packed, params.query_bits(), params.query_words(), &mut body)
            .map_err(|error| Error::malformed(what, error, "zeros after the last word"))?;
        Ok(Self { seed: Seed(*seed), body })
    }
}
