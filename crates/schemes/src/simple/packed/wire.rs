//! SimpleYPIR's messages as bytes: the public part is a seed; query and answer are those of
//! [`crate::shared::selection::wire`].

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_ring::prg::Seed;

use super::params::Params;
use crate::shared::selection::{SelectionAnswer, SelectionQuery};

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
        let mut reader = Reader::new("simpleypir's public seed", bytes);
        let public = Self { seed: Seed(reader.array()?) };
        reader.finish()?;
        Ok(public)
    }
}

impl Wire<Params> for SelectionQuery {
    fn encode(&self, params: &Params) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(params.selection(), &mut bytes);
        bytes
    }

    fn decode(params: &Params, bytes: &[u8]) -> Result<Self> {
        let what = "simpleypir's query";
        Error::check_length(what, bytes.len(), params.selection().query_parts().iter().sum())?;
        Self::read(params.selection(), &mut Reader::new(what, bytes))
    }
}

impl Wire<Params> for SelectionAnswer {
    fn encode(&self, params: &Params) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(params.selection(), &mut bytes);
        bytes
    }

    fn decode(params: &Params, bytes: &[u8]) -> Result<Self> {
        let what = "simpleypir's answer";
        Error::check_length(what, bytes.len(), params.selection().answer_parts().iter().sum())?;
        Self::read(params.selection(), &mut Reader::new(what, bytes))
    }
}
