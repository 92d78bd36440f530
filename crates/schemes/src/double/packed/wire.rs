//! The query of a packed DoublePIR; the public part is a seed, the answer the second level's.
//!
//! ```text
//! query    a word of first query bits for each column; the second level's query
//! ```

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};

use super::literal::Variant;
use super::params::Params;
use crate::shared::messages::{pack, unpack_u32};
use crate::shared::selection::SelectionQuery;

/// The encrypted unit vector of a column, rounded; that of a unit, with a packing key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// A word for each column of D.
    pub first: Vec<u32>,
    /// Query of the second level.
    pub second: SelectionQuery,
}

impl<V: Variant> Wire<Params<V>> for Query {
    fn encode(&self, params: &Params<V>) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(&self.first, params.first_bits(), &mut bytes);
        self.second.write(params.selection(), &mut bytes);
        bytes
    }

    fn decode(params: &Params<V>, bytes: &[u8]) -> Result<Self> {
        let what = "a query of two levels";
        Error::check_length(what, bytes.len(), params.query_bytes())?;
        let mut reader = Reader::new(what, bytes);
        let first = unpack_u32(&mut reader, what, params.first_bits(), params.layout().columns)?;
        Ok(Self { first, second: SelectionQuery::read(params.selection(), &mut reader)? })
    }
}
