//! The server of a packed DoublePIR: `DBSetup`, `Answer` and updates.
//!
//! An update keeps the public seed and gives the same bytes as a setup of the changed records: new
//! bytes in D; for each changed row of D its row of D·A₁ and the digits of it; then the packs of
//! those bytes of a unit that changed in any record, which are all packs if records are random. One
//! changed record costs as much as thousands, so changes should be batched.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{self, Parameters, Session, UpdateEstimate, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Change, Progress, Records, Result};
use papir_lattice::lwe32::N;
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::literal::{PackedDouble, Variant};
use super::params::Params;
use super::second::{replace_column, split_answer, split_hint};
use super::wire::Query;
use crate::double::first::{self, ByteMatrix, FirstLevel, first_masks};
use crate::double::update::{change_bytes, hint_rows, touched_units};
use crate::shared::matrices::load_matrix;
use crate::shared::messages::{PublicSeed, load_seed};
use crate::shared::selection::server::Key;
use crate::shared::selection::{PackedMatrix, Selected, SelectionAnswer, SelectionQuery};
use crate::shared::stored_records::check_source;

const SEED: &str = "double/seed";
const DATABASE: &str = "double/database";

/// Both levels and the public part. A clone shares the matrices.
#[derive(Clone)]
pub struct Server<V: Variant> {
    pub(super) params: Params<V>,
    pub(super) public: PublicSeed,
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

    fn public(&self) -> &PublicSeed {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, PackedDouble<V>>, &Query)>,
        progress: &dyn Progress,
    ) -> Result<Vec<SelectionAnswer>> {
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

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        let layout = self.params.layout();
        check_changes(&self.params.shape(), changes)?;
        let description = self.params.describe();
        let setup = description.work.setup;
        let rows = touched_units(layout, changes) * layout.unit_bytes;
        if rows == 0 {
            return Ok(UpdateEstimate { update: Counts::new(), setup });
        }
        let bytes = transformed_bytes(rows, layout.columns) as f64;
        let stored = (description.sizes.database + description.sizes.material) as f64;
        let hint = Counts::new().with(Operation::HintProduct8, bytes, rows);
        let update = self.params.selection().count_setup(hint).with(Operation::Copy, stored, 1);
        Ok(UpdateEstimate { update, setup })
    }

    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        let (params, layout) = (&self.params, self.params.layout());
        check_changes(&params.shape(), changes)?;
        let (database, units) = change_bytes(layout, &self.first.database, changes)?;
        if units.is_empty() {
            return Ok(self.clone());
        }
        progress.stage("update", units.len() as u64);
        let hint = hint_rows(params.lwe(), layout, &database, &self.first.masks, &units);
        let mut tiles = AlignedBytes::copy_of(self.second.tiles().bytes());
        for (&unit, words) in units.iter().zip(hint.chunks_exact(layout.unit_bytes * N)) {
            replace_column(params, tiles.slice_mut(), unit, words);
            progress.advance(1);
        }
        let second = self.second.replace(params.selection(), &self.public.seed, tiles, progress)?;
        Ok(Self::assemble(params.clone(), self.public, database, second))
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
        let public = PublicSeed { seed: load_seed(source, SEED)? };
        let (rows, columns) = (params.layout().rows(), params.layout().columns);
        let database = load_matrix(source, DATABASE, rows, columns)?;
        let second = PackedMatrix::load(params.selection(), &public.seed, source)?;
        Ok(Self::assemble(params, public, database, second))
    }
}

impl<V: Variant> Server<V> {
    /// Prepares a database under a given public seed.
    ///
    /// # Errors
    /// Those of the source, and [`papir_core::Error::Parameters`] for a source of another shape.
    pub fn prepare(
        params: Params<V>,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(V::NAME, params.shape(), records)?;
        let database = first::encode(params.layout(), records, progress)?;
        let first = FirstLevel { database, masks: first_masks(seed) };
        let tiles = split_hint(&params, first.hint(params.lwe(), progress).slice_mut(), progress);
        let second = PackedMatrix::prepare(params.selection(), &seed, tiles, progress)?;
        Ok(Self { params, public: PublicSeed { seed }, first, second })
    }

    fn assemble(
        params: Params<V>,
        public: PublicSeed,
        database: ByteMatrix,
        second: PackedMatrix<V::Family>,
    ) -> Self {
        Self { params, public, first: FirstLevel { database, masks: first_masks(public.seed) }, second }
    }

    /// The first level: D times each query modulo 2³², in one pass over the database. The word of
    /// byte b of unit u of a column is at B·u + b.
    pub fn first_level(&self, queries: &[&Query]) -> Vec<Vec<u32>> {
        let values: Vec<&[u32]> = queries.iter().map(|query| query.first.as_slice()).collect();
        self.first.answers(&values, self.params.first_bits())
    }

    /// The second level: LWE encryptions of the digits of one unit's rows of the hint, in one pass
    /// over all digits, and RLWE encryptions of the digits of the first answers.
    pub fn second_level(&self, queries: &[&Query], firsts: &[Vec<u32>]) -> Vec<Selected> {
        let seconds: Vec<&SelectionQuery> = queries.iter().map(|query| &query.second).collect();
        let singles: Vec<Vec<i16>> =
            firsts.par_iter().map(|first| split_answer(&self.params, first)).collect();
        self.second.select(self.params.selection(), &seconds, &singles)
    }

    /// The packing key of a query, lifted to q.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] for a query of other parameters.
    pub fn read_key(&self, query: &Query) -> Result<Key<V::Family>> {
        self.second.read_key(self.params.selection(), &query.second)
    }

    /// Packs the LWE encryptions of each query, in one pass over the packs' words.
    ///
    /// # Errors
    /// As [`Server::read_key`].
    pub fn pack(&self, selected: Vec<Selected>, keys: &[&Key<V::Family>]) -> Result<Vec<Selected>> {
        self.second.pack(selected, keys)
    }

    /// Switches packed encryptions to the bits of an answer.
    pub fn round(&self, packed: &Selected) -> SelectionAnswer {
        self.second.round(self.params.selection(), packed)
    }
}
