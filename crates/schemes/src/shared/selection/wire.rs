//! The messages of a packed selection. Words travel in their leading bits, packed, each part from a
//! whole byte on; how many bits, the parameters say.
//!
//! ```text
//! query    an entry of query bits for each column; ring elements of the key, d coefficients of key bits
//! answer   masks of d coefficients of a bits: packs, then singles; bodies of b bits: rows, then singles
//! ```

use papir_core::codec::Reader;
use papir_core::{Error, Result};
use papir_kernels::bits;

use super::family::Family;
use super::params::SelectionParams;

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

/// Appends values of so many bits.
pub(crate) fn pack(values: &[u64], width: u32, bytes: &mut Vec<u8>) {
    let mut packed = Vec::new();
    bits::pack(values, width, &mut packed);
    bytes.append(&mut packed);
}

/// Reads `count` values of so many bits.
///
/// # Errors
/// [`Error::Length`], or [`Error::Malformed`] for padding that is not zero.
pub(crate) fn unpack(
    reader: &mut Reader<'_>,
    what: &'static str,
    width: u32,
    count: usize,
) -> Result<Vec<u64>> {
    let bytes = reader.raw(bits::packed_len(count, width))?;
    let mut values = Vec::new();
    bits::unpack(bytes, width, count, &mut values)
        .map_err(|error| Error::malformed(what, error, "zeros after the last word"))?;
    Ok(values)
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
