//! The server of a packed DoublePIR: `DBSetup` and `Answer`.

use papir_core::scheme::{self, Parameters, Session, Wire};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Error, Progress, Records, Result};
use papir_lattice::lwe32::matrix_bytes;
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::params::Params;
use super::second::{split_answer, split_hint};
use super::wire::{Answer, Public, Query};
use super::{PackedDouble, Variant, update};
use crate::double::first::{self, ByteMatrix, FirstLevel, first_masks};
use crate::shared::selection::server::Key;
use crate::shared::selection::{PackedMatrix, Selected, SelectionQuery};
use crate::shared::shapes::check_source;

const SEED: &str = "double/seed";
const DATABASE: &str = "double/database";

/// Both levels and the public part. A clone shares the matrices.
#[derive(Clone)]
pub struct Server<V: Variant> {
    pub(super) params: Params<V>,
    pub(super) public: Public,
    pub(super) first: FirstLevel,
    pub(super) second: PackedMatrix<V::Family>,
}

impl<V: Variant> scheme::Server<PackedDouble<V>> for Server<V> {
    fn setup(
        params: Params<V>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::prepare(params, Seed::random(rng), records, progress)
    }

    fn params(&self) -> &Params<V> {
        &self.params
    }

    fn public(&self) -> &Public {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, PackedDouble<V>>, &Query)>,
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>> {
        let queries: Vec<&Query> = batch.into_iter().map(|(_, query)| query).collect();
        let count = queries.len() as u64;
        progress.stage("first_level", count);
        let firsts = self.first_level(&queries);
        progress.stage("read_keys", count);
        let keys = queries.par_iter().map(|query| self.read_key(query)).collect::<Result<Vec<_>>>()?;
        progress.stage("second_level", count);
        let selected = self.second_level(&queries, &firsts);
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
        let (layout, shape) = (self.params.layout(), self.params.shape());
        first::read_packed(layout, shape, &self.first.database, (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.public.seed.0])?;
        sink.put(DATABASE, &[self.first.database.tiles()])?;
        self.second.save(sink)
    }

    fn load(params: Params<V>, source: &dyn SectionSource) -> Result<Self> {
        let public = <Public as Wire<Params<V>>>::decode(&params, &source.get(SEED)?)?;
        let (rows, columns) = (params.layout().rows(), params.layout().columns);
        let tiles = source.get(DATABASE)?;
        Error::check_length(DATABASE, tiles.len(), matrix_bytes(rows, columns) as usize)?;
        let database = ByteMatrix::new(rows, columns, tiles);
        let second = PackedMatrix::load(params.selection(), &public.seed, source)?;
        Ok(Self::assemble(params, public, database, second))
    }
}

impl<V: Variant> Server<V> {
    /// Prepares a database under a given public seed.
    ///
    /// # Errors
    /// Those of the source, and [`Error::Parameters`] when its shape is not the parameters'.
    pub fn prepare(
        params: Params<V>,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(V::NAME, params.shape(), records)?;
        let database = first::encode(params.layout(), records, progress)?;
        Self::prepare_levels(params, seed, database, progress)
    }

    /// Everything that follows from the seed and D.
    pub(super) fn prepare_levels(
        params: Params<V>,
        seed: Seed,
        database: ByteMatrix,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let first = FirstLevel { database, masks: first_masks(seed) };
        let tiles = split_hint(&params, first.hint(params.lwe(), progress).slice_mut(), progress);
        let second = PackedMatrix::prepare(params.selection(), &seed, tiles, progress)?;
        Ok(Self { params, public: Public { seed }, first, second })
    }

    pub(super) fn assemble(
        params: Params<V>,
        public: Public,
        database: ByteMatrix,
        second: PackedMatrix<V::Family>,
    ) -> Self {
        Self { params, public, first: FirstLevel { database, masks: first_masks(public.seed) }, second }
    }

    /// The first level: D times each query modulo 2³², in one read of the database. The word of byte b of
    /// unit u of a column is at B·u + b.
    pub fn first_level(&self, queries: &[&Query]) -> Vec<Vec<u32>> {
        let values: Vec<&[u32]> = queries.iter().map(|query| query.first.as_slice()).collect();
        self.first.answers(&values, self.params.first_bits())
    }

    /// The second level: LWE encryptions of the digits of one unit's rows of the hint, in one read of all
    /// digits, and RLWE encryptions of the digits of the first answers.
    pub fn second_level(&self, queries: &[&Query], firsts: &[Vec<u32>]) -> Vec<Selected> {
        let seconds: Vec<&SelectionQuery> = queries.iter().map(|query| &query.second).collect();
        let singles: Vec<Vec<i16>> =
            firsts.par_iter().map(|first| split_answer(&self.params, first)).collect();
        self.second.select(self.params.selection(), &seconds, &singles)
    }

    /// The packing key of a query, lifted to q.
    ///
    /// # Errors
    /// None for a query of these parameters: [`Error::Parameters`] for a key of others.
    pub fn read_key(&self, query: &Query) -> Result<Key<V::Family>> {
        self.second.read_key(self.params.selection(), &query.second)
    }

    /// Packs the LWE encryptions of each query, in one read of what is prepared of the packs.
    ///
    /// # Errors
    /// As [`Server::read_key`].
    pub fn pack(&self, selected: Vec<Selected>, keys: &[&Key<V::Family>]) -> Result<Vec<Selected>> {
        self.second.pack(selected, keys)
    }

    /// Switches packed encryptions to the few bits that an answer carries.
    pub fn round(&self, packed: &Selected) -> Answer {
        Answer(self.second.round(self.params.selection(), packed))
    }
}
