//! Messages of a packed selection.
//!
//! The parameters set the bits of a word; each part starts on a whole byte.
//!
//! ```text
//! query    an entry of query bits for each column; ring elements of the key, d coefficients of key bits
//! answer   masks of d coefficients of a bits: packs, then singles; bodies of b bits: rows, then singles
//! ```

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};

use super::family::Family;
use super::params::SelectionParams;
use crate::shared::messages::{pack, unpack};

/// An encrypted unit vector and a packing key, rounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionQuery {
    /// An entry for each column.
    pub selector: Vec<u64>,
    /// Ring elements of d coefficients.
    pub keys: Vec<u64>,
}

/// Packed words and single ones, rounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionAnswer {
    /// d coefficients for each pack, then for each single row.
    pub masks: Vec<u64>,
    /// A coefficient for each row, then for each single row.
    pub bodies: Vec<u64>,
}

impl SelectionQuery {
    /// Appends both parts.
    pub fn write<F: Family>(&self, params: &SelectionParams<F>, bytes: &mut Vec<u8>) {
        pack(&self.selector, params.bits().query, bytes);
        pack(&self.keys, params.bits().key, bytes);
    }

    /// Reads what [`SelectionQuery::write`] wrote.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::Malformed`].
    pub fn read<F: Family>(params: &SelectionParams<F>, reader: &mut Reader<'_>) -> Result<Self> {
        let (bits, columns) = (params.bits(), params.selection().columns);
        let selector = unpack(reader, "a selector", bits.query, columns)?;
        Ok(Self { selector, keys: unpack(reader, "a packing key", bits.key, params.key_words())? })
    }
}

impl SelectionAnswer {
    /// Appends both parts.
    pub fn write<F: Family>(&self, params: &SelectionParams<F>, bytes: &mut Vec<u8>) {
        pack(&self.masks, params.bits().answer.a, bytes);
        pack(&self.bodies, params.bits().answer.b, bytes);
    }

    /// Reads what [`SelectionAnswer::write`] wrote.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::Malformed`].
    pub fn read<F: Family>(params: &SelectionParams<F>, reader: &mut Reader<'_>) -> Result<Self> {
        let (bits, selection) = (params.bits().answer, params.selection());
        let masks = unpack(reader, "masks of an answer", bits.a, selection.masks() * params.degree())?;
        Ok(Self { masks, bodies: unpack(reader, "bodies of an answer", bits.b, selection.bodies())? })
    }
}

/// Parameters of a scheme that packs a selection.
pub trait Selects {
    /// Family of its packing.
    type Family: Family;

    /// Parameters of the selection.
    fn selection(&self) -> &SelectionParams<Self::Family>;
}

impl<P: Selects> Wire<P> for SelectionQuery {
    fn encode(&self, params: &P) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(params.selection(), &mut bytes);
        bytes
    }

    fn decode(params: &P, bytes: &[u8]) -> Result<Self> {
        let what = "a query of a selection";
        Error::check_length(what, bytes.len(), params.selection().query_parts().iter().sum())?;
        Self::read(params.selection(), &mut Reader::new(what, bytes))
    }
}

impl<P: Selects> Wire<P> for SelectionAnswer {
    fn encode(&self, params: &P) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(params.selection(), &mut bytes);
        bytes
    }

    fn decode(params: &P, bytes: &[u8]) -> Result<Self> {
        let what = "an answer of a selection";
        Error::check_length(what, bytes.len(), params.selection().answer_parts().iter().sum())?;
        Self::read(params.selection(), &mut Reader::new(what, bytes))
    }
}
