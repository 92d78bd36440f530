//! Messages of doubly-efficient PIR.
//!
//! ```text
//! public   nothing
//! query    seed of the masks (32); the bodies of m ciphertexts, of each its values modulo each
//!          prime in bit-reversed order of the transform, packed
//! answer   for each chunk of a record, for each power of Y from 0 to D, the coefficients modulo
//!          each prime that is kept, packed
//! ```

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_lattice::bv::key::mask;
use papir_ring::prg::Seed;

use super::params::DepirParams;
use crate::shared::messages::{pack, read_all, unpack_u32};

/// A query: the encrypted points of up to n indices.
pub struct DepirQuery {
    pub(super) seed: Seed,
    /// Bodies of the ciphertexts: for each coordinate, values modulo each prime.
    pub(super) bodies: Vec<u32>,
}

/// An answer: the encrypted values of each chunk's polynomial.
pub struct DepirAnswer {
    pub(super) words: Vec<u32>,
}

impl DepirAnswer {
    /// Creates an answer from the words that [`super::server::DepirServer::switch`] returns for
    /// each chunk.
    pub fn new(words: Vec<u32>) -> Self {
        Self { words }
    }
}

/// Returns the mask of one coordinate's ciphertext.
pub(super) fn coordinate_mask(params: &DepirParams, seed: &Seed, coordinate: usize) -> Vec<u32> {
    mask(params.bv(), seed, "depir/query", coordinate as u64)
}

impl Wire<DepirParams> for DepirQuery {
    fn encode(&self, params: &DepirParams) -> Vec<u8> {
        let mut bytes = self.seed.0.to_vec();
        pack(&self.bodies, params.word_bits(), &mut bytes);
        bytes
    }

    fn decode(params: &DepirParams, bytes: &[u8]) -> Result<Self> {
        let count = params.query_words();
        let primes = params.bv().ring().primes();
        read_all("depir's query", bytes, |reader| {
            let seed = Seed(reader.array()?);
            Ok(Self {
                seed,
                bodies: residues(reader, "depir's query", params, count, &primes)?,
            })
        })
    }
}

impl Wire<DepirParams> for DepirAnswer {
    fn encode(&self, params: &DepirParams) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(&self.words, params.word_bits(), &mut bytes);
        bytes
    }

    fn decode(params: &DepirParams, bytes: &[u8]) -> Result<Self> {
        let count = params.answer_words();
        let primes = params.bv().ring().primes();
        read_all("depir's answer", bytes, |reader| {
            Ok(Self {
                words: residues(
                    reader,
                    "depir's answer",
                    params,
                    count,
                    &primes[..params.kept],
                )?,
            })
        })
    }
}

/// Reads `count` residues in rows of n, modulo these primes in turn.
fn residues(
    reader: &mut Reader<'_>,
    what: &'static str,
    params: &DepirParams,
    count: usize,
    primes: &[u32],
) -> Result<Vec<u32>> {
    let words = unpack_u32(reader, what, params.word_bits(), count)?;

    // Every residue is checked: kernels rely on reduced ones.
    let rows = words.chunks_exact(params.ring_degree());
    for (row, &prime) in rows.zip(primes.iter().cycle()) {
        if let Some(found) = row.iter().find(|&&word| word >= prime) {
            return Err(Error::malformed(
                what,
                found,
                format!("residues below {prime}"),
            ));
        }
    }

    Ok(words)
}
