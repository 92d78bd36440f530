//! The messages of a packed DoublePIR. Words are rounded to their leading bits and packed, each part from a
//! whole byte on; how many bits, the parameters say.
//!
//! ```text
//! public   seed (32)
//! query    a word of first query bits for each column; the second level's query
//! answer   the second level's answer
//! ```
//!
//! Those of the second level are in [`crate::shared::selection::wire`].

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_ring::prg::Seed;

use super::Variant;
use super::params::Params;
use crate::shared::selection::wire::{pack, unpack};
use crate::shared::selection::{SelectionAnswer, SelectionQuery};

/// What a client starts from: the seed of the common reference string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Public {
    /// Expands to the masks of both levels.
    pub seed: Seed,
}

/// A column's unit vector, encrypted, each word's leading bits; a unit's, with a packing key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// A word for each column of D.
    pub first: Vec<u32>,
    /// The second level's.
    pub second: SelectionQuery,
}

/// The second level's packed encryptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer(pub SelectionAnswer);

impl<V: Variant> Wire<Params<V>> for Public {
    fn encode(&self, _params: &Params<V>) -> Vec<u8> {
        self.seed.0.to_vec()
    }

    fn decode(_params: &Params<V>, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a public seed", bytes);
        let public = Self { seed: Seed(reader.array()?) };
        reader.finish()?;
        Ok(public)
    }
}

impl<V: Variant> Wire<Params<V>> for Query {
    fn encode(&self, params: &Params<V>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let first: Vec<u64> = self.first.iter().copied().map(u64::from).collect();
        pack(&first, params.first_bits(), &mut bytes);
        self.second.write(params.selection(), &mut bytes);
        bytes
    }

    fn decode(params: &Params<V>, bytes: &[u8]) -> Result<Self> {
        let what = "a query of two levels";
        Error::check_length(what, bytes.len(), params.query_bytes())?;
        let mut reader = Reader::new(what, bytes);
        let first = unpack(&mut reader, what, params.first_bits(), params.layout().columns)?;
        let first = first.into_iter().map(|word| word as u32).collect();
        Ok(Self { first, second: SelectionQuery::read(params.selection(), &mut reader)? })
    }
}

impl<V: Variant> Wire<Params<V>> for Answer {
    fn encode(&self, params: &Params<V>) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.0.write(params.selection(), &mut bytes);
        bytes
    }

    fn decode(params: &Params<V>, bytes: &[u8]) -> Result<Self> {
        let what = "an answer of two levels";
        Error::check_length(what, bytes.len(), params.answer_bytes())?;
        Ok(Self(SelectionAnswer::read(params.selection(), &mut Reader::new(what, bytes))?))
    }
}
