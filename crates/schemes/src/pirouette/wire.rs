//! Messages of Pirouette.
//!
//! ```text
//! public   seed of the whitening stream (32); nothing for an encrypted database
//! query    seed (32 or 16), the LWE encryption's last component (4)
//! answer   N₁ words of each plane's mask, then the item's words of each plane's body, packed
//! ```

use papir_core::codec::{Reader, Writer};
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_lattice::bootstrap::lwe::Lwe;
use papir_ring::prg::Seed;

use super::chain::{DEGREE, LOG2_QUERY, RESPONSE_DEGREE};
use super::common::RetrievalParams;
use crate::shared::messages::{pack, unpack};

/// Valid lengths of a query's seed in bytes.
pub(crate) const SEED_BYTES: [usize; 2] = [32, 16];

/// A query: an LWE encryption of an item's number modulo 2³².
pub struct PirouetteQuery {
    /// Seed of the mask. Shorter seeds end in zeros.
    pub(super) seed: Seed,
    /// Last component of the encryption.
    pub(super) body: u32,
}

impl PirouetteQuery {
    /// Expands the mask's d words.
    pub(super) fn mask(seed: &Seed) -> Vec<u32> {
        let mut mask = vec![0; DEGREE];
        seed.expand("pirouette/query", 0).uniform_bits(&mut mask);
        mask
    }

    /// Returns the encryption on the torus.
    pub(super) fn lwe(&self) -> Lwe {
        Lwe {
            a: Self::mask(&self.seed).into_iter().map(lift).collect(),
            b: lift(self.body),
        }
    }
}

impl<P: RetrievalParams> Wire<P> for PirouetteQuery {
    fn encode(&self, params: &P) -> Vec<u8> {
        let mut writer = Writer::new();
        writer
            .raw(&self.seed.0[..params.seed_bytes()])
            .u32(self.body);
        writer.finish()
    }

    fn decode(params: &P, bytes: &[u8]) -> Result<Self> {
        Error::check_length("pirouette's query", bytes.len(), params.query_bytes())?;

        let mut reader = Reader::new("pirouette's query", bytes);
        let mut seed = Seed([0; 32]);
        let length = params.seed_bytes();
        seed.0[..length].copy_from_slice(reader.raw(length)?);

        Ok(Self {
            seed,
            body: reader.u32()?,
        })
    }
}

/// Lifts a word modulo 2³² to the torus.
fn lift(word: u32) -> u64 {
    u64::from(word) << (u64::BITS - LOG2_QUERY)
}

/// An answer: RLWE encryptions of an item's planes in the response ring, switched to few bits.
pub struct RetrievalAnswer {
    /// Masks, with N₁ words for each plane.
    pub(crate) masks: Vec<u64>,
    /// Bodies, with the item's words for each plane.
    pub(crate) bodies: Vec<u64>,
}

impl<P: RetrievalParams> Wire<P> for RetrievalAnswer {
    fn encode(&self, params: &P) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(&self.masks, params.common().answer_bits.a, &mut bytes);
        pack(&self.bodies, params.common().answer_bits.b, &mut bytes);
        bytes
    }

    fn decode(params: &P, bytes: &[u8]) -> Result<Self> {
        let what = "an answer of planes";
        let common = params.common();
        let layout = params.layout();
        Error::check_length(what, bytes.len(), common.answer_parts().iter().sum())?;

        let bits = common.answer_bits;
        let mut reader = Reader::new(what, bytes);
        Ok(Self {
            masks: unpack(&mut reader, what, bits.a, layout.planes * RESPONSE_DEGREE)?,
            bodies: unpack(&mut reader, what, bits.b, layout.planes * layout.span)?,
        })
    }
}
