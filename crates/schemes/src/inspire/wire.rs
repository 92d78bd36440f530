//! InsPIRe's messages as bytes.

use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_kernels::bits;
use papir_ring::prg::Seed;

use super::params::Params;

/// What a client starts from: the seed of the common reference string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Public {
    /// Expands to all masks and to the whitening of records.
    pub seed: Seed,
}

impl Wire<Params> for Public {
    fn encode(&self, _params: &Params) -> Vec<u8> {
        self.seed.0.to_vec()
    }

    fn decode(_params: &Params, bytes: &[u8]) -> Result<Self> {
        Error::check_length("InsPIRe's public seed", bytes.len(), 32)?;
        let mut seed = [0; 32];
        seed.copy_from_slice(bytes);
        Ok(Self { seed: Seed(seed) })
    }
}

/// A query (Algorithm 8): everything but the public masks, rounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// N/t selector entries of `query_bits` bits.
    pub selector: Vec<u64>,
    /// y_g, y_h and the RGSW bodies of each variable's point: d coefficients of [`Params::key_elements`] bits.
    pub keys: Vec<u64>,
}

impl Wire<Params> for Query {
    fn encode(&self, params: &Params) -> Vec<u8> {
        let mut bytes = Vec::new();
        bits::pack(&self.selector, params.literal().query_bits, &mut bytes);
        bytes.extend(pack_elements(params, &self.keys));
        bytes
    }

    fn decode(params: &Params, bytes: &[u8]) -> Result<Self> {
        let (selector, keys) = params.query_parts();
        Error::check_length("an InsPIRe query", bytes.len(), selector + keys)?;
        let (selector, keys) = bytes.split_at(selector);
        Ok(Self {
            selector: unpack(selector, params.literal().query_bits, params.layout().columns)?,
            keys: unpack_elements(params, keys)?,
        })
    }
}

/// An answer: one RLWE encryption a chunk, mask and body switched to few bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Masks, d coefficients a chunk.
    pub masks: Vec<u64>,
    /// Bodies, d coefficients a chunk.
    pub bodies: Vec<u64>,
}

impl Wire<Params> for Answer {
    fn encode(&self, params: &Params) -> Vec<u8> {
        let (mut masks, mut bodies) = (Vec::new(), Vec::new());
        bits::pack(&self.masks, params.literal().answer_bits.0, &mut masks);
        bits::pack(&self.bodies, params.literal().answer_bits.1, &mut bodies);
        masks.append(&mut bodies);
        masks
    }

    fn decode(params: &Params, bytes: &[u8]) -> Result<Self> {
        let (masks, bodies) = params.answer_parts();
        Error::check_length("an InsPIRe answer", bytes.len(), masks + bodies)?;
        let coefficients = params.layout().chunks * params.layout().degree;
        let (a_bits, b_bits) = params.literal().answer_bits;
        Ok(Self {
            masks: unpack(&bytes[..masks], a_bits, coefficients)?,
            bodies: unpack(&bytes[masks..], b_bits, coefficients)?,
        })
    }
}

/// Key material as it travels: d coefficients of [`Params::key_elements`] bits an element.
pub(crate) fn pack_elements(params: &Params, keys: &[u64]) -> Vec<u8> {
    let (mut bytes, mut packed) = (Vec::new(), Vec::new());
    // d is a multiple of 64: ring elements are whole bytes.
    for (words, width) in keys.chunks_exact(params.layout().degree).zip(params.key_elements()) {
        bits::pack(words, width, &mut packed);
        bytes.extend_from_slice(&packed);
    }
    bytes
}

/// What [`pack_elements`] gave, of its length.
///
/// # Errors
/// [`Error::Malformed`].
pub(crate) fn unpack_elements(params: &Params, mut bytes: &[u8]) -> Result<Vec<u64>> {
    let (degree, mut keys) = (params.layout().degree, Vec::new());
    for width in params.key_elements() {
        let (element, others) = bytes.split_at(bits::packed_len(degree, width));
        keys.extend(unpack(element, width, degree)?);
        bytes = others;
    }
    Ok(keys)
}

/// So many values of so many bits.
///
/// # Errors
/// [`Error::Malformed`].
pub(crate) fn unpack(bytes: &[u8], width: u32, count: usize) -> Result<Vec<u64>> {
    let mut values = Vec::new();
    bits::unpack(bytes, width, count, &mut values)
        .map_err(|error| Error::malformed("packed coefficients", error, "zero padding bits"))?;
    Ok(values)
}
