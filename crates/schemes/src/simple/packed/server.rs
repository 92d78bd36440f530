//! The server of SimpleYPIR: `DBSetup` and `Answer`. Changing records is `update`.

use papir_core::scheme::{self, Parameters, Scheme, Session};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Progress, Records, Result};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::encode::{encode, read_column};
use super::params::Params;
use super::wire::Public;
use super::{SimpleYpir, update};
use crate::shared::readback::read_columns;
use crate::shared::selection::server::Key;
use crate::shared::selection::{CdksFamily, PackedMatrix, Selected, SelectionAnswer, SelectionQuery};
use crate::shared::shapes::check_source;

const SEED: &str = "simpleypir/seed";

/// A prepared database: the matrix and its packs. A clone shares them.
#[derive(Clone)]
pub struct Server {
    pub(super) params: Params,
    pub(super) public: Public,
    pub(super) matrix: PackedMatrix<CdksFamily>,
}

impl scheme::Server<SimpleYpir> for Server {
    fn setup(
        params: Params,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::prepare(params, Seed::random(rng), records, progress)
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn public(&self) -> &Public {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, SimpleYpir>, &SelectionQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<SelectionAnswer>> {
        let queries: Vec<&SelectionQuery> = batch.into_iter().map(|(_, query)| query).collect();
        let count = queries.len() as u64;
        progress.stage("read_keys", count);
        let keys = queries.par_iter().map(|query| self.read_key(query)).collect::<Result<Vec<_>>>()?;
        progress.stage("select", count);
        let selected = self.select(&queries);
        progress.stage("pack", count);
        let packed = self.pack(selected, &keys.iter().collect::<Vec<_>>())?;
        progress.stage("round", count);
        Ok(packed.iter().map(|packed| self.round(packed)).collect())
    }

    fn update_cost(&self, changes: &[Change]) -> Result<scheme::UpdateEstimate> {
        update::cost(self, changes)
    }

    /// Keeps the public seed: byte for byte what [`Server::prepare`] gives for the changed records.
    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        update::update(self, changes, progress)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let (layout, seed) = (self.params.layout(), &self.public.seed);
        read_columns(&layout.bundle, 1, (first, count), out, |column| {
            read_column(layout, seed, self.matrix.tiles(), column as u32)
        })
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.public.seed.0])?;
        self.matrix.save(sink)
    }

    fn load(params: Params, source: &dyn SectionSource) -> Result<Self> {
        let public = <Public as scheme::Wire<Params>>::decode(&params, &source.get(SEED)?)?;
        let matrix = PackedMatrix::load(params.selection(), &public.seed, source)?;
        Ok(Self { params, public, matrix })
    }
}

impl Server {
    /// Prepares a database under a given public seed.
    ///
    /// # Errors
    /// Those of the source, and [`Error::Parameters`] when its shape is not the parameters'.
    pub fn prepare(
        params: Params,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(SimpleYpir::NAME, params.shape(), records)?;
        let tiles = encode(params.layout(), &seed, records, progress)?;
        let matrix = PackedMatrix::prepare(params.selection(), &seed, tiles, progress)?;
        Ok(Self { params, public: Public { seed }, matrix })
    }

    /// The selected column for each query, in one read of the database.
    pub fn select(&self, queries: &[&SelectionQuery]) -> Vec<Selected> {
        self.matrix.select(self.params.selection(), queries, &vec![Vec::new(); queries.len()])
    }

    /// The packing key of a query, lifted to q.
    ///
    /// # Errors
    /// None for a query of these parameters: [`Error::Parameters`] for a key of others.
    pub fn read_key(&self, query: &SelectionQuery) -> Result<Key<CdksFamily>> {
        self.matrix.read_key(self.params.selection(), query)
    }

    /// Packs selected columns, in one read of what is prepared of the packs.
    ///
    /// # Errors
    /// As [`Server::read_key`].
    pub fn pack(&self, selected: Vec<Selected>, keys: &[&Key<CdksFamily>]) -> Result<Vec<Selected>> {
        self.matrix.pack(selected, keys)
    }

    /// Switches a packed column to the few bits that an answer carries.
    pub fn round(&self, packed: &Selected) -> SelectionAnswer {
        self.matrix.round(self.params.selection(), packed)
    }
}
