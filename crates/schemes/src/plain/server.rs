//! The server without cryptography: a copy of the packed records.

use papir_core::scheme::{Parameters, Scheme, Server, Session};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Blob, Change, Progress, Records, Result, copy_packed, extract_bits};
use rand_core::CryptoRng;

use super::Plain;
use super::params::PlainParams;
use super::wire::{PlainAnswer, PlainQuery};
use crate::shared::empty_public::EmptyPublic;
use crate::shared::stored_records;

const RECORDS: &str = "plain/records";

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
        let packed = stored_records::copy(Plain::NAME, params.shape(), records, progress)?;
        Ok(Self { params, packed })
    }

    fn params(&self) -> &PlainParams {
        &self.params
    }

    fn public(&self) -> &EmptyPublic {
        &EmptyPublic
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Plain>, &PlainQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<PlainAnswer>> {
        progress.stage("answer", batch.len() as u64);
        let bits = self.params.shape().record_bits();
        let answer = |query: &PlainQuery| {
            let records = query.indices.iter().map(|index| extract_bits(&self.packed, index * bits, bits));
            PlainAnswer { nonce: query.nonce, records: records.collect() }
        };
        Ok(batch.into_iter().map(|(_, query)| answer(query)).collect())
    }

    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, _progress: &dyn Progress) -> Result<Self> {
        let packed = stored_records::change(self.params.shape(), &self.packed, changes)?;
        Ok(Self { params: self.params.clone(), packed })
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        copy_packed(&self.params.shape(), &self.packed, first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(RECORDS, &[&self.packed])
    }

    fn load(params: PlainParams, source: &dyn SectionSource) -> Result<Self> {
        let packed = stored_records::load(params.shape(), source, RECORDS)?;
        Ok(Self { params, packed })
    }
}
