//! Messages of InsPIRe as bytes.
//!
//! The parameters set the bits of a word; each part starts on a whole byte.

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_kernels::bits::packed_len;

use super::params::Params;
use crate::shared::messages::{pack, unpack};

/// A rounded query (Algorithm 8) without the public masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Selector: N/t entries of `query_bits` bits. In a query of several parts, the parts follow
    /// one another.
    pub selector: Vec<u64>,
    /// Key material: y_g, y_h and the RGSW bodies of each variable's point, as d coefficients of
    /// [`Params::key_elements`] bits each.
    pub keys: Vec<u64>,
}

impl Query {
    /// Reads a query of `entries` selector entries.
    pub(super) fn read(
        params: &Params,
        what: &'static str,
        entries: usize,
        bytes: &[u8],
    ) -> Result<Self> {
        let width = params.literal().query_bits;
        let (_, keys) = params.query_parts();
        Error::check_length(what, bytes.len(), packed_len(entries, width) + keys)?;

        let mut reader = Reader::new(what, bytes);
        let selector = unpack(&mut reader, what, width, entries)?;
        let degree = params.layout().degree;
        let mut keys = Vec::new();
        for bits in params.key_elements() {
            keys.extend(unpack(&mut reader, "key material", bits, degree)?);
        }
        Ok(Self { selector, keys })
    }
}

impl Wire<Params> for Query {
    fn encode(&self, params: &Params) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(&self.selector, params.literal().query_bits, &mut bytes);

        // d is a multiple of 64: ring elements are whole bytes.
        let elements = self.keys.chunks_exact(params.layout().degree);
        for (words, width) in elements.zip(params.key_elements()) {
            pack(words, width, &mut bytes);
        }
        bytes
    }

    fn decode(params: &Params, bytes: &[u8]) -> Result<Self> {
        Self::read(params, "an InsPIRe query", params.layout().columns, bytes)
    }
}

/// An answer: an RLWE encryption for each chunk, mask and body switched to few bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Masks, with d coefficients for each chunk.
    pub masks: Vec<u64>,
    /// Bodies, with d coefficients for each chunk.
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
        let what = "an InsPIRe answer";
        Error::check_length(what, bytes.len(), params.answer_bytes())?;

        let mut reader = Reader::new(what, bytes);
        let coefficients = params.layout().chunks * params.layout().degree;
        let (a_bits, b_bits) = params.literal().answer_bits;
        Ok(Self {
            masks: unpack(&mut reader, what, a_bits, coefficients)?,
            bodies: unpack(&mut reader, what, b_bits, coefficients)?,
        })
    }
}
