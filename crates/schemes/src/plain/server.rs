//! The server without cryptography: a copy of the packed records.

use papir_core::scheme::{Parameters, Scheme, Server, Session, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{
    AlignedBytes, Blob, Change, Error, Progress, RecordBuffer, Records, Result, copy_packed, extract_bits,
};
use rand_core::CryptoRng;

use super::Plain;
use super::params::PlainParams;
use super::wire::{PlainAnswer, PlainPublic, PlainQuery};
use crate::shape_io::check_source;

const RECORDS: &str = "plain/records";
/// Records read at a time; a multiple of 8, so that every read starts on a whole byte.
const READ_RECORDS: u64 = 1 << 12;

/// The packed records.
pub struct PlainServer {
    params: PlainParams,
    packed: Blob,
}

impl Server<Plain> for PlainServer {
    fn setup(
        params: PlainParams,
        records: &dyn Records,
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let shape = params.shape();
        check_source(Plain::NAME, shape, records)?;
        progress.stage("copy records", shape.records());
        let mut packed = AlignedBytes::zeroed(shape.total_bytes() as usize);
        let parts = packed.bytes_mut().chunks_mut((READ_RECORDS * shape.record_bits() / 8) as usize);
        for (i, part) in parts.enumerate() {
            let first = i as u64 * READ_RECORDS;
            let count = READ_RECORDS.min(shape.records() - first);
            records.read_packed(first, count, part)?;
            progress.advance(count);
        }
        Ok(Self { params, packed: packed.into() })
    }

    fn params(&self) -> &PlainParams {
        &self.params
    }

    fn public(&self) -> &PlainPublic {
        &PlainPublic
    }

    fn answer(&self, _session: Session<'_, Plain>, query: &PlainQuery) -> Result<PlainAnswer> {
        let bits = self.params.shape().record_bits();
        let records = query.indices.iter().map(|index| extract_bits(&self.packed, index * bits, bits));
        Ok(PlainAnswer { nonce: query.nonce, records: records.collect() })
    }

    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, _progress: &dyn Progress) -> Result<Self> {
        check_changes(&self.params.shape(), changes)?;
        let mut buffer = RecordBuffer::from_packed(self.params.shape(), self.packed.to_vec())?;
        for change in changes {
            buffer.set(change.index, &change.record)?;
        }
        Ok(Self { params: self.params.clone(), packed: Blob::copy_of(buffer.packed()) })
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        copy_packed(&self.params.shape(), &self.packed, first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(RECORDS, &[&self.packed])
    }

    fn load(params: PlainParams, source: &dyn SectionSource) -> Result<Self> {
        let packed = source.get(RECORDS)?;
        Error::check_length("the section of records", packed.len(), params.shape().total_bytes() as usize)?;
        Ok(Self { params, packed })
    }
}
