//! Messages of the set intersection. Numbers are little-endian and have as many bytes as n.
//!
//! ```text
//! request    seed of the hash functions (32), n,
//!            for each bin: u, v, for each power: 9 coefficients
//! response   for each bin, for each part: 9 coefficients
//! ```

use papir_core::{Error, Result};
use papir_ring::prg::Seed;

use super::PsiParams;
use crate::newton::fhe::RANK;
use crate::newton::modulus::{bytes_of, words_of};

const SEED_BYTES: usize = 32;

/// One bin of the receiver: powers of its element, encrypted under one point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptedBin {
    /// a³.
    pub u: Vec<u64>,
    /// b³.
    pub v: Vec<u64>,
    /// The coefficients c of y, y², y⁴, ….
    pub powers: Vec<Vec<u64>>,
}

impl EncryptedBin {
    /// Decodes the words of a bin, whose numbers have `words` words.
    fn decode(words: usize, bin: &[u64]) -> Self {
        let (cubes, powers) = bin.split_at(2 * words);
        let (u, v) = cubes.split_at(words);
        let powers = powers
            .chunks_exact(RANK * words)
            .map(<[u64]>::to_vec)
            .collect();
        Self {
            u: u.to_vec(),
            v: v.to_vec(),
            powers,
        }
    }
}

/// The receiver's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Seed of the hash functions.
    pub seed: Seed,
    /// n.
    pub modulus: Vec<u64>,
    /// The encrypted bins: [`PsiParams::bins`] of them.
    pub bins: Vec<EncryptedBin>,
}

/// The sender's message: nine integers for each bin and part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The encryptions of r·Π (y − x), by bin and part.
    pub bins: Vec<Vec<Vec<u64>>>,
}

impl Request {
    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = [&self.seed.0[..], &bytes_of(&self.modulus)].concat();
        for bin in &self.bins {
            for words in [&bin.u, &bin.v].into_iter().chain(&bin.powers) {
                bytes.extend(bytes_of(words));
            }
        }
        bytes
    }

    /// Decodes the message.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn decode(params: &PsiParams, bytes: &[u8]) -> Result<Self> {
        let words = params.number_words();
        let bin_words = (2 + RANK * params.powers()) * words;
        let expected = SEED_BYTES + 8 * (words + params.bins() * bin_words);
        Error::check_length("a request for an intersection", bytes.len(), expected)?;

        let (seed_bytes, rest) = bytes.split_at(SEED_BYTES);
        let mut seed = [0; SEED_BYTES];
        seed.copy_from_slice(seed_bytes);

        // The length is exact, so that the chunks below leave no words over.
        let numbers = words_of(rest);
        let (modulus, bins) = numbers.split_at(words);
        let bins = bins
            .chunks_exact(bin_words)
            .map(|bin| EncryptedBin::decode(words, bin))
            .collect();

        Ok(Self {
            seed: Seed(seed),
            modulus: modulus.to_vec(),
            bins,
        })
    }
}

impl Response {
    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        bytes_of(&self.bins.concat().concat())
    }

    /// Decodes the message.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn decode(params: &PsiParams, bytes: &[u8]) -> Result<Self> {
        let answer = RANK * params.number_words();
        let expected = 8 * params.bins() * params.parts() * answer;
        Error::check_length("an encrypted intersection", bytes.len(), expected)?;

        // Chunks leave nothing over, as in a request.
        let answers: Vec<Vec<u64>> = words_of(bytes)
            .chunks_exact(answer)
            .map(<[u64]>::to_vec)
            .collect();
        Ok(Self {
            bins: answers
                .chunks_exact(params.parts())
                .map(<[_]>::to_vec)
                .collect(),
        })
    }
}
