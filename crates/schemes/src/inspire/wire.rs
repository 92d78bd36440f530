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
    /// y_g, y_h and the RGSW bodies: d coefficients of `key_bits` bits each.
    pub keys: Vec<u64>,
}

impl Wire<Params> for Query {
    fn encode(&self, params: &Params) -> Vec<u8> {
        let (mut selector, mut keys) = (Vec::new(), Vec::new());
        bits::pack(&self.selector, params.literal().query_bits, &mut selector);
        bits::pack(&self.keys, params.literal().key_bits, &mut keys);
        selector.append(&mut keys);
        selector
    }

    fn decode(params: &Params, bytes: &[u8]) -> Result<Self> {
        let (selector, keys) = params.query_parts();
        Error::check_length("an InsPIRe query", bytes.len(), selector + keys)?;
        let (layout, literal) = (params.layout(), params.literal());
        Ok(Self {
            selector: unpack(&bytes[..selector], literal.query_bits, layout.columns)?,
            keys: unpack(&bytes[selector..], literal.key_bits, params.key_elements() * layout.degree)?,
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

fn unpack(bytes: &[u8], width: u32, count: usize) -> Result<Vec<u64>> {
    let mut values = Vec::new();
    bits::unpack(bytes, width, count, &mut values)
        .map_err(|error| Error::malformed("packed coefficients", error, "zero padding bits"))?;
    Ok(values)
}
