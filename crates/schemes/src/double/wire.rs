//! Messages of DoublePIR. Words are rounded to their leading bits and packed, each part from a whole
//! byte on; how many bits, the parameters say.
//!
//! ```text
//! public   seed (32), hint: 3·n·B rows of n words of mask bits
//! query    a word of first query bits for each column; one of second query bits for each unit of a column
//! answer   2·B masks of n words of mask bits; (3·n + 2)·B bodies of body bits
//! ```

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Blob, Error, Result};
use papir_kernels::bits;
use papir_ring::prg::Seed;

use super::noise::coefficients;
use super::params::{DoubleParams, SEED_BYTES};

/// The public part: the seed of A₁ and A₂, and the second level's hint, rounded.
#[derive(Clone, Debug)]
pub struct DoublePublic {
    pub(super) seed: Seed,
    /// Packed, row by row.
    pub(super) hint: Blob,
}

/// A column's and a unit's unit vector, encrypted; each word's leading bits.
#[derive(Clone, Debug)]
pub struct DoubleQuery {
    pub(super) first: Vec<u32>,
    pub(super) second: Vec<u32>,
}

/// The second level's ciphertexts, without the masks in the hint; each word's leading bits.
#[derive(Clone, Debug)]
pub struct DoubleAnswer {
    pub(super) masks: Vec<u32>,
    pub(super) bodies: Vec<u32>,
}

/// Appends the low `width` bits of each value.
pub(super) fn pack(values: impl Iterator<Item = u32>, width: u32, bytes: &mut Vec<u8>) {
    let values: Vec<u64> = values.map(u64::from).collect();
    let mut packed = Vec::new();
    bits::pack(&values, width, &mut packed);
    bytes.append(&mut packed);
}

/// Reads `count` values of `width` bits.
fn unpack(reader: &mut Reader<'_>, what: &'static str, width: u32, count: usize) -> Result<Vec<u32>> {
    let bytes = reader.raw(bits::packed_len(count, width))?;
    let mut values = Vec::new();
    bits::unpack(bytes, width, count, &mut values)
        .map_err(|error| Error::malformed(what, error, "zeros after the last word"))?;
    Ok(values.into_iter().map(|value| value as u32).collect())
}

impl Wire<DoubleParams> for DoublePublic {
    fn encode(&self, _params: &DoubleParams) -> Vec<u8> {
        [&self.seed.0, &*self.hint].concat()
    }

    fn decode(params: &DoubleParams, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("double's public part", bytes);
        let (seed, hint) = (Seed(reader.array::<SEED_BYTES>()?), reader.rest());
        Error::check_length("double's hint", hint.len(), params.hint_bytes())?;
        Ok(Self { seed, hint: Blob::copy_of(hint) })
    }
}

impl Wire<DoubleParams> for DoubleQuery {
    fn encode(&self, params: &DoubleParams) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(self.first.iter().copied(), params.bits.first, &mut bytes);
        pack(self.second.iter().copied(), params.bits.second, &mut bytes);
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
        pack(self.masks.iter().copied(), params.bits.mask, &mut bytes);
        pack(self.bodies.iter().copied(), params.bits.body, &mut bytes);
        bytes
    }

    fn decode(params: &DoubleParams, bytes: &[u8]) -> Result<Self> {
        let what = "double's answer";
        Error::check_length(what, bytes.len(), params.answer_bytes().iter().sum())?;
        let mut reader = Reader::new(what, bytes);
        Ok(Self {
            masks: unpack(&mut reader, what, params.bits.mask, params.answer_masks())?,
            bodies: unpack(&mut reader, what, params.bits.body, coefficients(&params.layout))?,
        })
    }
}
