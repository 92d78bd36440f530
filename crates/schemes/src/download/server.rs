//! Server of trivial PIR. It repeats nonces.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, Server, Session, UpdateEstimate, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Error, Progress, Records, Result};
use rand_core::CryptoRng;

use super::blocks::{BLOCK_BYTES, Blocks};
use super::params::{Download, DownloadParams, NAME};
use super::wire::{DownloadPublic, Nonce};
use crate::shared::parameters::estimate;
use crate::shared::stored_records::check_source;

const BLOCKS: &str = "download/blocks";

/// A server, with the compressed records.
pub struct DownloadServer {
    params: DownloadParams,
    public: DownloadPublic,
}

impl DownloadServer {
    fn new(params: &DownloadParams, blocks: Blocks) -> Result<Self> {
        let params = params.with_stored(blocks.bytes().len() as u64)?;

        Ok(Self {
            params,
            public: DownloadPublic { blocks },
        })
    }
}

impl Server<Download> for DownloadServer {
    fn setup(
        params: DownloadParams,
        records: &dyn Records,
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(NAME, params.shape(), records)?;
        let blocks = Blocks::pack(NAME, records, progress)?;
        Self::new(&params, blocks)
    }

    fn params(&self) -> &DownloadParams {
        &self.params
    }

    fn public(&self) -> &DownloadPublic {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Download>, &Nonce)>,
        progress: &dyn Progress,
    ) -> Result<Vec<Nonce>> {
        progress.stage("answer", batch.len() as u64);
        Ok(batch.into_iter().map(|(_, nonce)| nonce.clone()).collect())
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        let shape = self.params.shape();
        check_changes(&shape, changes)?;

        let blocks = self.public.blocks.changed(changes).len();
        let bytes = (blocks * BLOCK_BYTES).min(shape.total_bytes() as usize) as f64;
        estimate(&self.params, changes, |_| {
            Counts::new().with(Operation::Deflate, bytes, blocks)
        })
    }

    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_changes(&self.params.shape(), changes)?;
        Self::new(&self.params, self.public.blocks.update(changes, progress)?)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.public.blocks.read(first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(BLOCKS, &[self.public.blocks.bytes()])
    }

    fn load(params: DownloadParams, source: &dyn SectionSource) -> Result<Self> {
        let section = source.get(BLOCKS)?;
        // Parameters promise clients this length, so a section of another one would be refused by
        // all of them.
        Error::check_length(
            "the section of download's blocks",
            section.len(),
            params.stored(),
        )?;

        let blocks = Blocks::parse(params.shape(), section)?;
        Ok(Self {
            params,
            public: DownloadPublic { blocks },
        })
    }
}
