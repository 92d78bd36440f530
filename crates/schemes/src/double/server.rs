//! The server of DoublePIR: `Setup` and `Answer` of section 5.

use papir_core::scheme::{Parameters, Scheme, Server, Session, UpdateEstimate};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Blob, BlobSlice, Change, Error, Progress, Records, Result};
use papir_lattice::lwe32::{LOG2_Q, MaskProducts, N, matrix_bytes, round};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use super::digits;
use super::first::{self, ByteMatrix, FirstLevel, first_masks};
use super::params::{DoubleParams, SEED_BYTES};
pub use super::second::Ciphertexts;
use super::second::{SecondLevel, digit_rows, second_masks};
use super::wire::{DoubleAnswer, DoublePublic, DoubleQuery, pack};
use super::{Double, update};
use crate::shared::shapes::check_source;

const SEED: &str = "double/seed";
const DATABASE: &str = "double/database";
const DIGITS: &str = "double/digits";
const MASKS: &str = "double/masks";

/// Both levels and the public part. A clone shares them.
#[derive(Clone)]
pub struct DoubleServer {
    pub(super) params: DoubleParams,
    pub(super) public: DoublePublic,
    pub(super) first: FirstLevel,
    pub(super) second: SecondLevel,
}

impl Server<Double> for DoubleServer {
    fn setup(
        params: DoubleParams,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(Double::NAME, params.shape(), records)?;
        let seed = Seed::random(rng);
        let database = first::encode(&params.layout, records, progress)?;
        Self::prepare(params, seed, database, progress)
    }

    fn params(&self) -> &DoubleParams {
        &self.params
    }

    fn public(&self) -> &DoublePublic {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Double>, &DoubleQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<DoubleAnswer>> {
        let queries: Vec<&DoubleQuery> = batch.into_iter().map(|(_, query)| query).collect();
        let count = queries.len() as u64;
        progress.stage("first_level", count);
        let firsts = self.first_level(&queries);
        progress.stage("second_level", count);
        let seconds = self.second_level(&queries, &firsts);
        progress.stage("round", count);
        Ok(seconds.iter().map(|ciphertexts| self.round(ciphertexts)).collect())
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        update::cost(self, changes)
    }

    /// Keeps the public seed: byte for byte what a setup of the changed records under it gives.
    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        update::update(self, changes, progress)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let (layout, shape) = (&self.params.layout, self.params.shape());
        first::read_packed(layout, shape, &self.first.database, (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.public.seed.0])?;
        sink.put(DATABASE, &[self.first.database.tiles()])?;
        sink.put(DIGITS, &[self.second.digits.tiles()])?;
        sink.put(MASKS, &[self.second.masks.bytes()])
    }

    fn load(params: DoubleParams, source: &dyn SectionSource) -> Result<Self> {
        let (seed, layout) = (source.get(SEED)?, &params.layout);
        Error::check_length("double's seed", seed.len(), SEED_BYTES)?;
        let mut bytes = [0; SEED_BYTES];
        bytes.copy_from_slice(&seed);
        let seed = Seed(bytes);
        let database = stored("double's database", source.get(DATABASE)?, layout.rows(), layout.columns)?;
        let digits = stored("double's digits", source.get(DIGITS)?, digit_rows(layout), layout.units)?;
        let masks = BlobSlice::new(source.get(MASKS)?, "double's masks")?;
        // As long as the digits that are there are wide.
        let products = MaskProducts::new(&params.lwe, &second_masks(seed), layout.units, digits::CENTRE);
        let second = SecondLevel::from_parts(&params.lwe, layout, digits, products, masks)?;
        Ok(Self::assemble(params, seed, database, second))
    }
}

/// A matrix from its section.
///
/// # Errors
/// [`Error::Length`].
pub(crate) fn stored(what: &'static str, tiles: Blob, rows: usize, columns: usize) -> Result<ByteMatrix> {
    Error::check_length(what, tiles.len(), matrix_bytes(rows, columns) as usize)?;
    Ok(ByteMatrix::new(rows, columns, tiles))
}

impl DoubleServer {
    /// Everything that follows from the seed and D.
    pub(super) fn prepare(
        params: DoubleParams,
        seed: Seed,
        database: ByteMatrix,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let first = FirstLevel { database, masks: first_masks(seed) };
        let mut hint = first.hint(&params.lwe, progress);
        let masks = second_masks(seed);
        let second = SecondLevel::new(&params.lwe, &params.layout, hint.slice_mut(), &masks, progress)?;
        Ok(Self::assemble(params, seed, first.database, second))
    }

    /// Rounds the hint.
    pub(super) fn assemble(
        params: DoubleParams,
        seed: Seed,
        database: ByteMatrix,
        second: SecondLevel,
    ) -> Self {
        let mut hint = Vec::with_capacity(params.hint_bytes());
        let dropped = LOG2_Q - params.bits.mask;
        for row in second.masks.chunks_exact(N) {
            pack(row.iter().map(|&word| round(word, dropped)), params.bits.mask, &mut hint);
        }
        let public = DoublePublic { seed, hint: Blob::copy_of(&hint) };
        Self { params, public, first: FirstLevel { database, masks: first_masks(seed) }, second }
    }

    /// The first level: D times each query modulo q, in one read of the database. The word of byte b
    /// of unit u of a column is at B·u + b.
    pub fn first_level(&self, queries: &[&DoubleQuery]) -> Vec<Vec<u32>> {
        let values: Vec<&[u32]> = queries.iter().map(|query| query.first.as_slice()).collect();
        self.first.answers(&values, self.params.bits.first)
    }

    /// The second level: the ciphertexts of the digits of one row of the first hint and of the first
    /// answers, for each query and what [`Self::first_level`] gave for it. What a scheme that packs
    /// ciphertexts starts from.
    pub fn second_level(&self, queries: &[&DoubleQuery], firsts: &[Vec<u32>]) -> Vec<Ciphertexts> {
        let values: Vec<&[u32]> = queries.iter().map(|query| query.second.as_slice()).collect();
        self.second.answers(&self.params.lwe, &values, self.params.bits.second, firsts)
    }

    /// The masks of those of [`Self::second_level`]'s ciphertexts that do not depend on the query: 3·n·B
    /// of n words each, known at setup. Clients fetch them rounded, as the hint.
    pub fn offline_masks(&self) -> &[u32] {
        &self.second.masks
    }

    /// Rounds ciphertexts for the download.
    pub fn round(&self, ciphertexts: &Ciphertexts) -> DoubleAnswer {
        let rounded = |words: &[u32], bits: u32| {
            let dropped = LOG2_Q - bits;
            words.iter().map(|&word| round(word, dropped)).collect()
        };
        DoubleAnswer {
            masks: rounded(&ciphertexts.masks, self.params.bits.mask),
            bodies: rounded(&ciphertexts.bodies, self.params.bits.body),
        }
    }
}
