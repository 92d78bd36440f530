//! Messages of InsPIRe⁽²⁾ as bytes.
//!
//! The parameters set the bits of a word; each part starts on a whole byte.

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_ring::prg::Seed;

use super::params::Params;
use crate::shared::messages::{pack, read_all, unpack};

/// Public part of a database version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Public {
    /// Seed of all masks and of the whitening of records.
    pub seed: Seed,
    /// Masks of resp₁, d coefficients for each pack. They depend on the snapshot alone.
    pub masks: Vec<u64>,
}

impl Wire<Params> for Public {
    fn encode(&self, params: &Params) -> Vec<u8> {
        let mut bytes = self.seed.0.to_vec();
        pack(&self.masks, params.literal().answer.a, &mut bytes);
        bytes
    }

    fn decode(params: &Params, bytes: &[u8]) -> Result<Self> {
        let what = "the public part of InsPIRe(2)";
        let literal = params.literal();
        read_all(what, bytes, |reader| {
            let seed = Seed(reader.array()?);
            let masks = unpack(reader, what, literal.answer.a, literal.public_words())?;
            Ok(Self { seed, masks })
        })
    }
}

/// A rounded query (Algorithm 4) without the public masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Selectors b₀ and b₁, with N/t and t entries.
    pub selectors: [Vec<u64>; 2],
    /// Packing keys: y_g of each distinct γ, ℓ·d coefficients each.
    pub keys: Vec<u64>,
}

impl Wire<Params> for Query {
    fn encode(&self, params: &Params) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (selector, width) in self.selectors.iter().zip(params.literal().query_bits) {
            pack(selector, width, &mut bytes);
        }
        pack(&self.keys, params.literal().key_bits, &mut bytes);
        bytes
    }

    fn decode(params: &Params, bytes: &[u8]) -> Result<Self> {
        let what = "a query of InsPIRe(2)";
        let literal = params.literal();
        // One check covers all parts, whose lengths follow from the parameters: nothing can be left
        // over.
        Error::check_length(what, bytes.len(), params.query_parts().iter().sum())?;

        let mut reader = Reader::new(what, bytes);
        let [first, second] = literal.query_bits;
        let [c, t] = params.selectors();
        let selectors = [
            unpack(&mut reader, what, first, c)?,
            unpack(&mut reader, what, second, t)?,
        ];
        let keys = unpack(&mut reader, what, literal.key_bits, literal.key_words())?;
        Ok(Self { selectors, keys })
    }
}

/// An answer: resp₁ without its masks, and resp₂.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Bodies of resp₁, with γ₁ coefficients for each pack.
    pub first: Vec<u64>,
    /// Masks of resp₂, with d coefficients for each pack.
    pub masks: Vec<u64>,
    /// Bodies of resp₂, with γ₂ coefficients for each pack.
    pub second: Vec<u64>,
}

impl Wire<Params> for Answer {
    fn encode(&self, params: &Params) -> Vec<u8> {
        let widths = params.literal().answer;
        let mut bytes = Vec::new();
        pack(&self.first, widths.b, &mut bytes);
        pack(&self.masks, widths.a, &mut bytes);
        pack(&self.second, widths.b, &mut bytes);
        bytes
    }

    fn decode(params: &Params, bytes: &[u8]) -> Result<Self> {
        let what = "an answer of InsPIRe(2)";
        // The length is exact before any part is unpacked, as for a query.
        Error::check_length(what, bytes.len(), params.answer_bytes())?;

        let mut reader = Reader::new(what, bytes);
        let widths = params.literal().answer;
        let [first, masks, second] = params.literal().answer_words();
        Ok(Self {
            first: unpack(&mut reader, what, widths.b, first)?,
            masks: unpack(&mut reader, what, widths.a, masks)?,
            second: unpack(&mut reader, what, widths.b, second)?,
        })
    }
}
