//! InsPIRe⁽²⁾'s messages as bytes: words of so many bits as the parameters say, each part from a whole byte
//! on.

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_kernels::bits;
use papir_ring::prg::Seed;

use super::params::Params;

/// What a client starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Public {
    /// Expands to all masks and to the whitening of records.
    pub seed: Seed,
    /// The masks of resp₁, d coefficients a pack: they depend on the snapshot alone.
    pub masks: Vec<u64>,
}

impl Wire<Params> for Public {
    fn encode(&self, params: &Params) -> Vec<u8> {
        let mut bytes = self.seed.0.to_vec();
        pack(&self.masks, params.answer_bits().a, &mut bytes);
        bytes
    }

    fn decode(params: &Params, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("the public part of InsPIRe(2)", bytes);
        let seed = Seed(reader.array()?);
        let masks = unpack(&mut reader, params.answer_bits().a, params.public_words())?;
        reader.finish()?;
        Ok(Self { seed, masks })
    }
}

/// A query (Algorithm 4): everything but the public masks, rounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// b₀ and b₁: N/t and t selector entries.
    pub selectors: [Vec<u64>; 2],
    /// y_g of each distinct γ: ℓ·d coefficients each.
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
        Error::check_length(what, bytes.len(), params.query_parts().iter().sum())?;
        let mut reader = Reader::new(what, bytes);
        let ([first, second], [c, t]) = (params.literal().query_bits, params.selectors());
        let selectors = [unpack(&mut reader, first, c)?, unpack(&mut reader, second, t)?];
        Ok(Self { selectors, keys: unpack(&mut reader, params.literal().key_bits, params.key_words())? })
    }
}

/// An answer: resp₁ without its masks, and resp₂.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Bodies of resp₁, γ₁ a pack.
    pub first: Vec<u64>,
    /// Masks of resp₂, d a pack.
    pub masks: Vec<u64>,
    /// Bodies of resp₂, γ₂ a pack.
    pub second: Vec<u64>,
}

impl Wire<Params> for Answer {
    fn encode(&self, params: &Params) -> Vec<u8> {
        let (widths, mut bytes) = (params.answer_bits(), Vec::new());
        pack(&self.first, widths.b, &mut bytes);
        pack(&self.masks, widths.a, &mut bytes);
        pack(&self.second, widths.b, &mut bytes);
        bytes
    }

    fn decode(params: &Params, bytes: &[u8]) -> Result<Self> {
        let what = "an answer of InsPIRe(2)";
        Error::check_length(what, bytes.len(), params.answer_parts().iter().sum())?;
        let mut reader = Reader::new(what, bytes);
        let (widths, [first, masks, second]) = (params.answer_bits(), params.answer_words());
        Ok(Self {
            first: unpack(&mut reader, widths.b, first)?,
            masks: unpack(&mut reader, widths.a, masks)?,
            second: unpack(&mut reader, widths.b, second)?,
        })
    }
}

fn pack(words: &[u64], width: u32, bytes: &mut Vec<u8>) {
    let mut packed = Vec::new();
    bits::pack(words, width, &mut packed);
    bytes.append(&mut packed);
}

fn unpack(reader: &mut Reader<'_>, width: u32, count: usize) -> Result<Vec<u64>> {
    let mut values = Vec::new();
    bits::unpack(reader.raw(bits::packed_len(count, width))?, width, count, &mut values)
        .map_err(|error| Error::malformed("packed coefficients", error, "zero padding bits"))?;
    Ok(values)
}
