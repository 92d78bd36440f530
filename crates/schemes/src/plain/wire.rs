//! Messages of the scheme without cryptography.
//!
//! ```text
//! query    nonce (16), number of indices (1), 4 indices (8 each; unused ones 0)
//! answer   the query's nonce (16), 4 records (⌈bits/8⌉ each; unused ones 0)
//! public   nothing
//! ```

use papir_core::codec::{Reader, Writer};
use papir_core::scheme::{Parameters, Scheme, Wire, check_indices};
use papir_core::{Error, Record, Result, extract_bits};

use super::params::PlainParams;
use super::{BATCH, Plain};

/// Bytes of the nonce that ties an answer to its query.
pub(super) const NONCE_BYTES: usize = 16;

/// Indices in the clear.
#[derive(Clone, Debug)]
pub struct PlainQuery {
    pub(super) nonce: [u8; NONCE_BYTES],
    pub(super) indices: Vec<u64>,
}

/// Records in the clear, one for each slot of the query.
#[derive(Clone, Debug)]
pub struct PlainAnswer {
    pub(super) nonce: [u8; NONCE_BYTES],
    pub(super) records: Vec<Record>,
}

impl Wire<PlainParams> for PlainQuery {
    fn encode(&self, _params: &PlainParams) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.raw(&self.nonce).u8(self.indices.len() as u8);
        for slot in 0..BATCH {
            writer.u64(self.indices.get(slot).copied().unwrap_or(0));
        }
        writer.finish()
    }

    fn decode(params: &PlainParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length("plain's query", bytes.len(), params.query_bytes())?;
        let mut reader = Reader::new("plain's query", bytes);
        let (nonce, count) = (reader.array()?, usize::from(reader.u8()?));
        let mut indices = (0..BATCH).map(|_| reader.u64()).collect::<Result<Vec<_>>>()?;
        let unused = indices.split_off(count.min(BATCH));
        if let Some(found) = unused.iter().find(|&&index| index != 0) {
            return Err(Error::malformed("an unused slot of plain's query", found, 0));
        }
        if count > BATCH {
            return Err(Error::BatchSize { scheme: Plain::NAME, found: count, capacity: BATCH });
        }
        check_indices(Plain::NAME, &params.shape(), &indices, BATCH)?;
        Ok(Self { nonce, indices })
    }
}

impl Wire<PlainParams> for PlainAnswer {
    fn encode(&self, params: &PlainParams) -> Vec<u8> {
        let mut bytes = self.nonce.to_vec();
        self.records.iter().for_each(|record| bytes.extend_from_slice(record));
        bytes.resize(params.answer_bytes(), 0);
        bytes
    }

    fn decode(params: &PlainParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length("plain's answer", bytes.len(), params.answer_bytes())?;
        let mut reader = Reader::new("plain's answer", bytes);
        let nonce = reader.array()?;
        let shape = params.shape();
        let slots = reader.rest().chunks(shape.record_bytes());
        Ok(Self { nonce, records: slots.map(|slot| extract_bits(slot, 0, shape.record_bits())).collect() })
    }
}
