//! Messages of doubly-efficient PIR.
//!
//! ```text
//! public   nothing
//! query    seed of the masks (32); the bodies of m ciphertexts, of each its values modulo each prime in bit-reversed
//!          order of the transform, packed
//! answer   for each chunk of a record, for each power of Y from 0 to D, the coefficients modulo each prime that is
//!          kept, packed
//! ```

use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_kernels::bits;
use papir_lattice::bv::key::mask;
use papir_ring::prg::Seed;

use super::params::{DepirParams, SEED_BYTES};

/// The encrypted points of up to n indices.
pub struct DepirQuery {
    pub(super) seed: Seed,
    /// For each coordinate, values modulo each prime.
    pub(super) bodies: Vec<u32>,
}

/// The values of each chunk's polynomial there.
pub struct DepirAnswer {
    pub(super) words: Vec<u32>,
}

impl DepirAnswer {
    /// For each chunk what [`super::server::DepirServer::switch`] gives.
    pub fn new(words: Vec<u32>) -> Self {
        Self { words }
    }
}

/// The mask of one coordinate's ciphertext.
pub(super) fn coordinate_mask(params: &DepirParams, seed: &Seed, coordinate: usize) -> Vec<u32> {
    mask(params.bv(), seed, "depir/query", coordinate as u64)
}

impl Wire<DepirParams> for DepirQuery {
    fn encode(&self, params: &DepirParams) -> Vec<u8> {
        [&self.seed.0[..], &packed(params, &self.bodies)].concat()
    }

    fn decode(params: &DepirParams, bytes: &[u8]) -> Result<Self> {
        let what = "depir's query";
        let words = bits::packed_len(params.query_words(), params.word_bits());
        Error::check_length(what, bytes.len(), SEED_BYTES + words)?;
        let mut seed = Seed([0; SEED_BYTES]);
        seed.0.copy_from_slice(&bytes[..SEED_BYTES]);
        let primes = params.bv().ring().primes();
        Ok(Self {
            seed,
            bodies: unpacked(what, params, &bytes[SEED_BYTES..], params.query_words(), &primes)?,
        })
    }
}

impl Wire<DepirParams> for DepirAnswer {
    fn encode(&self, params: &DepirParams) -> Vec<u8> {
        packed(params, &self.words)
    }

    fn decode(params: &DepirParams, bytes: &[u8]) -> Result<Self> {
        let what = "depir's answer";
        let words = bits::packed_len(params.answer_words(), params.word_bits());
        Error::check_length(what, bytes.len(), words)?;
        let primes = &params.bv().ring().primes()[..params.kept()];
        Ok(Self { words: unpacked(what, params, bytes, params.answer_words(), primes)? })
    }
}

fn packed(params: &DepirParams, words: &[u32]) -> Vec<u8> {
    let words: Vec<u64> = words.iter().map(|&word| word.into()).collect();
    let mut bytes = Vec::new();
    bits::pack(&words, params.word_bits(), &mut bytes);
    bytes
}

/// Rows of n residues modulo these primes in turn.
fn unpacked(
    what: &'static str,
    params: &DepirParams,
    bytes: &[u8],
    count: usize,
    primes: &[u32],
) -> Result<Vec<u32>> {
    let mut words = Vec::new();
    bits::unpack(bytes, params.word_bits(), count, &mut words)
        .map_err(|error| Error::malformed(what, error, "zeros after the last word"))?;
    for (row, &prime) in words.chunks_exact(params.ring_degree()).zip(primes.iter().cycle()) {
        if let Some(found) = row.iter().find(|&&word| word >= prime.into()) {
            return Err(Error::malformed(what, found, format!("residues below {prime}")));
        }
    }
    Ok(words.into_iter().map(|word| word as u32).collect())
}
