//! The server of SimpleYPIR: `DBSetup` and `Answer`.

use papir_core::scheme::{self, Parameters, Scheme, Session, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Change, Error, Progress, Records, Result};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::SimpleYpir;
use super::encode::{encode, read_column, write_column};
use super::params::Params;
use super::wire::Public;
use crate::selection::server::Key;
use crate::selection::{CdksFamily, PackedMatrix, Selected, SelectionAnswer, SelectionQuery};
use crate::shape_io::check_source;

const SEED: &str = "simpleypir/seed";

/// A prepared database: the matrix and its packs. A clone shares them.
#[derive(Clone)]
pub struct Server {
    params: Params,
    public: Public,
    matrix: PackedMatrix<CdksFamily>,
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

    fn answer(&self, _session: Session<'_, SimpleYpir>, query: &SelectionQuery) -> Result<SelectionAnswer> {
        let answer = self.answers(&[query])?.pop();
        answer.ok_or(Error::BatchSize { scheme: SimpleYpir::NAME, found: 0, capacity: 1 })
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, SimpleYpir>, &SelectionQuery)>,
    ) -> Result<Vec<SelectionAnswer>> {
        let queries: Vec<&SelectionQuery> = batch.into_iter().map(|(_, query)| query).collect();
        self.answers(&queries)
    }

    /// Keeps the public seed: byte for byte what [`Server::prepare`] gives for the changed records. All packs
    /// depend on every column, so it costs as much as a setup without the reading. The whitening stream is
    /// known before the changes are: the noise bound assumes that changed records do not depend on it.
    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        let layout = self.params.layout();
        check_changes(&layout.shape(), changes)?;
        let mut tiles = AlignedBytes::copy_of(self.matrix.tiles().bytes());
        let column_of = |change: &&Change| layout.locate(change.index).column;
        let mut sorted: Vec<&Change> = changes.iter().collect();
        sorted.sort_by_key(column_of);
        for changes in sorted.chunk_by(|a, b| column_of(a) == column_of(b)) {
            let column = column_of(&changes[0]);
            let mut bytes = read_column(layout, &self.public.seed, tiles.slice_mut(), column);
            changes.iter().try_for_each(|change| layout.bundle.set(&mut bytes, change))?;
            write_column(layout, &self.public.seed, tiles.slice_mut(), column, bytes);
        }
        if tiles.as_ref() == self.matrix.tiles().bytes() {
            return Ok(self.clone());
        }
        let matrix = PackedMatrix::prepare(self.params.selection(), &self.public.seed, tiles, progress)?;
        Ok(Self { params: self.params.clone(), public: self.public, matrix })
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

    fn answers(&self, queries: &[&SelectionQuery]) -> Result<Vec<SelectionAnswer>> {
        let keys = queries.par_iter().map(|query| self.read_key(query)).collect::<Result<Vec<_>>>()?;
        let packed = self.pack(self.select(queries), &keys.iter().collect::<Vec<_>>())?;
        Ok(packed.iter().map(|packed| self.round(packed)).collect())
    }
}
