//! Messages of ZipPIR; their parts are `crate::zip::compression::wire`'s.
//!
//! ```text
//! query    masked key, columns × query bits, packed
//! answer   product
//! ```

use papir_core::codec::{Reader, Writer};
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_kernels::bits;

use super::Strength;
use super::params::ZipParams;
use crate::zip::compression::wire::{MaskedKey, Product};

/// One column's unit vector, encrypted, and the key bits' offsets from the masks.
pub struct ZipQuery {
    pub(super) key: MaskedKey,
    pub(super) values: Vec<u32>,
}

impl<T: Strength> Wire<ZipParams<T>> for ZipQuery {
    fn encode(&self, params: &ZipParams<T>) -> Vec<u8> {
        let values: Vec<u64> = self.values.iter().map(|value| u64::from(*value)).collect();
        let (mut packed, mut writer) = (Vec::new(), Writer::new());
        bits::pack(&values, params.query_bits(), &mut packed);
        self.key.write(&mut writer);
        writer.raw(&packed);
        writer.finish()
    }

    fn decode(params: &ZipParams<T>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("zip's query", bytes.len(), params.query_bytes())?;
        let mut reader = Reader::new("zip's query", bytes);
        let key = MaskedKey::read(&params.compression, &mut reader)?;
        let mut values = Vec::new();
        bits::unpack(reader.rest(), params.query_bits(), params.layout.columns, &mut values)
            .map_err(|error| Error::malformed("zip's query", error, "zeros after the last word"))?;
        let values = values.into_iter().map(|value| value as u32).collect();
        Ok(Self { key, values })
    }
}

/// Records under the client's key.
pub struct ZipAnswer(pub(super) Product);

impl<T: Strength> Wire<ZipParams<T>> for ZipAnswer {
    fn encode(&self, _params: &ZipParams<T>) -> Vec<u8> {
        let mut writer = Writer::new();
        self.0.write(&mut writer);
        writer.finish()
    }

    fn decode(params: &ZipParams<T>, bytes: &[u8]) -> Result<Self> {
        Ok(Self(Product::read(&params.compression, "zip's answer", bytes)?))
    }
}
