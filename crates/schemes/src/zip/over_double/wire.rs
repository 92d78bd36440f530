//! Messages of ZipPIR on DoublePIR; their parts are `crate::zip::compression::wire`'s.
//!
//! ```text
//! query    masked key; a word of first query bits for each column; one of second query bits for each unit of
//!          a column, each part packed
//! answer   for each of 2·B rows its n mask words and its body, of 16 bits; product
//! ```

use papir_core::codec::{Reader, Writer};
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_kernels::bits;

use super::params::ZipDoubleParams;
use crate::zip::compression::Strength;
use crate::zip::compression::wire::{MaskedKey, Product};

/// A column's and a unit's unit vector, encrypted, and the second key's offsets from the masks.
pub struct ZipDoubleQuery {
    pub(super) key: MaskedKey,
    pub(super) first: Vec<u32>,
    pub(super) second: Vec<u32>,
}

/// Appends the low `width` bits of each value.
fn pack(values: &[u32], width: u32, writer: &mut Writer) {
    let values: Vec<u64> = values.iter().map(|value| u64::from(*value)).collect();
    let mut packed = Vec::new();
    bits::pack(&values, width, &mut packed);
    writer.raw(&packed);
}

/// Reads `count` values of `width` bits.
fn unpack(reader: &mut Reader<'_>, width: u32, count: usize) -> Result<Vec<u32>> {
    let bytes = reader.raw(bits::packed_len(count, width))?;
    let mut values = Vec::new();
    bits::unpack(bytes, width, count, &mut values)
        .map_err(|error| Error::malformed("zipdouble's query", error, "zeros after the last word"))?;
    Ok(values.into_iter().map(|value| value as u32).collect())
}

impl<T: Strength> Wire<ZipDoubleParams<T>> for ZipDoubleQuery {
    fn encode(&self, params: &ZipDoubleParams<T>) -> Vec<u8> {
        let mut writer = Writer::new();
        self.key.write(&mut writer);
        pack(&self.first, params.budget.first_bits, &mut writer);
        pack(&self.second, params.budget.second_bits, &mut writer);
        writer.finish()
    }

    fn decode(params: &ZipDoubleParams<T>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("zipdouble's query", bytes.len(), params.query_bytes())?;
        let mut reader = Reader::new("zipdouble's query", bytes);
        Ok(Self {
            key: MaskedKey::read(&params.compression, &mut reader)?,
            first: unpack(&mut reader, params.budget.first_bits, params.layout.columns)?,
            second: unpack(&mut reader, params.budget.second_bits, params.layout.units)?,
        })
    }
}

/// The second level's ciphertexts.
pub struct ZipDoubleAnswer {
    /// Those of the first answer's digits: n mask words and a body each, in units.
    pub(super) online: Vec<u16>,
    /// The phases of those of the first hint's digits.
    pub(super) product: Product,
}

impl<T: Strength> Wire<ZipDoubleParams<T>> for ZipDoubleAnswer {
    fn encode(&self, _params: &ZipDoubleParams<T>) -> Vec<u8> {
        let mut writer = Writer::new();
        self.online.iter().for_each(|word| {
            writer.raw(&word.to_le_bytes());
        });
        self.product.write(&mut writer);
        writer.finish()
    }

    fn decode(params: &ZipDoubleParams<T>, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("zipdouble's answer", bytes);
        let online = reader.raw(params.online_bytes())?.as_chunks().0.iter();
        let online = online.map(|word| u16::from_le_bytes(*word)).collect();
        let product = Product::read(&params.compression, "zipdouble's answer", reader.rest())?;
        Ok(Self { online, product })
    }
}
