//! InsPIRe's messages as bytes.

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};

use super::params::Params;
use crate::shared::messages::{pack, unpack};

/// A query (Algorithm 8) without the public masks, rounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// N/t selector entries of `query_bits` bits.
    pub selector: Vec<u64>,
    /// y_g, y_h and the RGSW bodies of each variable's point: d coefficients of
    /// [`Params::key_elements`] bits.
    pub keys: Vec<u64>,
}

impl Wire<Params> for Query {
    fn encode(&self, params: &Params) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(&self.selector, params.literal().query_bits, &mut bytes);
        pack_elements(params, &self.keys, &mut bytes);
        bytes
    }

    fn decode(params: &Params, bytes: &[u8]) -> Result<Self> {
        let (what, (selector, keys)) = ("an InsPIRe query", params.query_parts());
        Error::check_length(what, bytes.len(), selector + keys)?;
        let mut reader = Reader::new(what, bytes);
        let selector = unpack(&mut reader, what, params.literal().query_bits, params.layout().columns)?;
        Ok(Self { selector, keys: unpack_elements(params, &mut reader)? })
    }
}

/// An answer: an RLWE encryption for each chunk, mask and body switched to few bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Masks, d coefficients for each chunk.
    pub masks: Vec<u64>,
    /// Bodies, d coefficients for each chunk.
    pub bodies: Vec<u64>,
}

impl Wire<Params> for Answer {
    fn encode(&self, params: &Params) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(&self.masks, params.literal().answer_bits.0, &mut bytes);
        pack(&self.bodies, params.literal().answer_bits.1, &mut bytes);
        bytes
    }

    fn decode(params: &Params, bytes: &[u8]) -> Result<Self> {
        let (what, (masks, bodies)) = ("an InsPIRe answer", params.answer_parts());
        Error::check_length(what, bytes.len(), masks + bodies)?;
        let mut reader = Reader::new(what, bytes);
        let coefficients = params.layout().chunks * params.layout().degree;
        let (a_bits, b_bits) = params.literal().answer_bits;
        Ok(Self {
            masks: unpack(&mut reader, what, a_bits, coefficients)?,
            bodies: unpack(&mut reader, what, b_bits, coefficients)?,
        })
    }
}

/// Appends key material: d coefficients of [`Params::key_elements`] bits for each element.
pub(crate) fn pack_elements(params: &Params, keys: &[u64], bytes: &mut Vec<u8>) {
    // d is a multiple of 64: ring elements are whole bytes.
    for (words, width) in keys.chunks_exact(params.layout().degree).zip(params.key_elements()) {
        pack(words, width, bytes);
    }
}

/// Reads what [`pack_elements`] wrote.
///
/// # Errors
/// [`Error::Length`] or [`Error::Malformed`].
pub(crate) fn unpack_elements(params: &Params, reader: &mut Reader<'_>) -> Result<Vec<u64>> {
    let element = |width| unpack(reader, "key material", width, params.layout().degree);
    let elements = params.key_elements().into_iter().map(element).collect::<Result<Vec<_>>>()?;
    Ok(elements.concat())
}
