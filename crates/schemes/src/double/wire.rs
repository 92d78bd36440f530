//! Messages of DoublePIR.
//!
//! Words are rounded to the leading bits that the parameters set, and packed; each part starts on a
//! whole byte.
//!
//! ```text
//! public   seed (32), hint: 3·n·B rows of n words of mask bits
//! query    a word of first query bits for each column; one of second query bits for each unit of a
//!          column
//! answer   2·B masks of n words of mask bits; (3·n + 2)·B bodies of body bits
//! ```

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Blob, Error, Result};
use papir_ring::prg::Seed;

use super::levels::coefficients;
use super::params::DoubleParams;
use crate::shared::messages::{pack, read_hint, unpack_u32 as unpack};

/// Public part: the seed of A₁ and A₂, and the rounded hint of the second level.
#[derive(Clone, Debug)]
pub struct DoublePublic {
    pub(super) seed: Seed,
    /// Rounded hint, packed row by row.
    pub(super) hint: Blob,
}

/// A query: encrypted unit vectors of a column and of a unit, with the leading bits of each word.
#[derive(Clone, Debug)]
pub struct DoubleQuery {
    pub(super) first: Vec<u32>,
    pub(super) second: Vec<u32>,
}

/// An answer: ciphertexts of the second level, with the leading bits of each word. The masks that
/// are in the hint are left out.
#[derive(Clone, Debug)]
pub struct DoubleAnswer {
    pub(super) masks: Vec<u32>,
    pub(super) bodies: Vec<u32>,
}

impl Wire<DoubleParams> for DoublePublic {
    fn encode(&self, _params: &DoubleParams) -> Vec<u8> {
        [&self.seed.0, &*self.hint].concat()
    }

    fn decode(params: &DoubleParams, bytes: &[u8]) -> Result<Self> {
        let length = params.hint_bytes();
        let (seed, hint) = read_hint("double's public part", bytes, "double's hint", length)?;
        Ok(Self { seed, hint })
    }
}

impl Wire<DoubleParams> for DoubleQuery {
    fn encode(&self, params: &DoubleParams) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(&self.first, params.bits.first, &mut bytes);
        pack(&self.second, params.bits.second, &mut bytes);
        bytes
    }

    fn decode(params: &DoubleParams, bytes: &[u8]) -> Result<Self> {
        let what = "double's query";
        Error::check_length(what, bytes.len(), params.query_bytes().iter().sum())?;

        let mut reader = Reader::new(what, bytes);
        Ok(Self {
            first: unpack(&mut reader, what, params.bits.first, params.layout.columns)?,
            second: unpack(&mut reader, what, params.bits.second, params.layout.units)?,
        })
    }
}

impl Wire<DoubleParams> for DoubleAnswer {
    fn encode(&self, params: &DoubleParams) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(&self.masks, params.bits.mask, &mut bytes);
        pack(&self.bodies, params.bits.body, &mut bytes);
        bytes
    }

    fn decode(params: &DoubleParams, bytes: &[u8]) -> Result<Self> {
        let what = "double's answer";
        Error::check_length(what, bytes.len(), params.answer_bytes().iter().sum())?;

        let mut reader = Reader::new(what, bytes);
        Ok(Self {
            masks: unpack(&mut reader, what, params.bits.mask, params.answer_masks())?,
            bodies: unpack(
                &mut reader,
                what,
                params.bits.body,
                coefficients(&params.layout),
            )?,
        })
    }
}
