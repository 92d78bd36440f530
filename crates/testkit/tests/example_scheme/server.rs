//! The server of the example scheme: a copy of the packed records.

use papir_core::scheme::{Parameters, Scheme, Server, Session, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{
    AlignedBytes, Blob, Change, Error, Progress, RecordBuffer, Records, Result, copy_packed,
};
use rand_core::CryptoRng;

use crate::Example;
use crate::params::ExampleParams;
use crate::wire::{ExampleAnswer, ExamplePublic, ExampleQuery, check_padding};

/// The section of packed records.
const RECORDS: &str = "example/records";

/// A prepared database.
pub(crate) struct ExampleServer {
    params: ExampleParams,
    packed: Blob,
}

impl Server<Example> for ExampleServer {
    fn setup(
        params: ExampleParams,
        records: &dyn Records,
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let shape = params.shape();
        if records.shape() != shape {
            let reason = format!("chosen for {shape:?}, the source has {:?}", records.shape());
            return Err(Error::Parameters {
                scheme: Example::NAME,
                reason,
            });
        }
        progress.stage("copy records", shape.records());
        let mut packed = AlignedBytes::zeroed(params.packed_bytes());
        records.read_packed(0, shape.records(), packed.bytes_mut())?;
        progress.advance(shape.records());
        Ok(Self {
            params,
            packed: packed.into(),
        })
    }

    fn params(&self) -> &ExampleParams {
        &self.params
    }

    fn public(&self) -> &ExamplePublic {
        &ExamplePublic
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Example>, &ExampleQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<ExampleAnswer>> {
        progress.stage("answer", batch.len() as u64);
        let answer = |query: &ExampleQuery| {
            progress.advance(1);
            ExampleAnswer {
                nonce: query.nonce,
                packed: self.packed.to_vec(),
            }
        };
        Ok(batch.into_iter().map(|(_, query)| answer(query)).collect())
    }

    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        _progress: &dyn Progress,
    ) -> Result<Self> {
        let shape = self.params.shape();
        check_changes(&shape, changes)?;
        let mut records = RecordBuffer::from_packed(shape, self.packed.to_vec())?;
        changes
            .iter()
            .try_for_each(|change| records.set(change.index, &change.record))?;
        Ok(Self {
            params: self.params.clone(),
            packed: Blob::copy_of(records.packed()),
        })
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        copy_packed(&self.params.shape(), &self.packed, first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(RECORDS, &[&self.packed])
    }

    fn load(params: ExampleParams, source: &dyn SectionSource) -> Result<Self> {
        let packed = source.get(RECORDS)?;
        Error::check_length(
            "the section of records",
            packed.len(),
            params.packed_bytes(),
        )?;
        check_padding(&params, &packed)?;
        Ok(Self { params, packed })
    }
}
