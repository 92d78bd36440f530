//! The server of DoublePIR: `Setup`, `Answer` and updates.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, Server, Session, UpdateEstimate};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Blob, BlobSlice, Change, Progress, Records, Result, Sizes};
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{LOG2_Q, MaskProducts, N, round};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

pub use super::levels::Ciphertexts;
use super::levels::{CENTRE, FirstLevel, SecondLevel, digit_rows, few, from_scratch, second_masks};
use super::params::{Double, DoubleParams, NAME};
use super::wire::{DoubleAnswer, DoublePublic, DoubleQuery};
use crate::shared::byte_matrix::load_matrix;
use crate::shared::messages::{load_seed, pack};
use crate::shared::parameters::estimate;
use crate::shared::stored_records::check_source;

const SEED: &str = "double/seed";
const DATABASE: &str = "double/database";
const DIGITS: &str = "double/digits";
const MASKS: &str = "double/masks";

/// Both levels and the public part. A clone shares their data.
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
        check_source(NAME, params.shape(), records)?;
        let seed = Seed::random(rng);
        let first = FirstLevel::new(seed, params.layout.encode(records, progress)?);
        Self::prepare(params, seed, first, progress)
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

        // Digits of the first answers are rows of the second level, so the levels follow each
        // other.
        progress.stage("second_level", count);
        let seconds = self.second_level(&queries, &firsts);

        progress.stage("round", count);
        Ok(seconds
            .iter()
            .map(|ciphertexts| self.round(ciphertexts))
            .collect())
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        estimate(&self.params, changes, |sizes| {
            self.update_work(changes, sizes)
        })
    }

    /// Applies changes. The update keeps the public seed and gives the same bytes as a setup of the
    /// changed records.
    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let DoubleParams { layout, lwe, .. } = &self.params;
        let params = self.params.clone();
        let seed = self.public.seed;

        let Some((first, units)) = self.first.change(layout, changes)? else {
            return Ok(self.clone());
        };
        if from_scratch(layout, units.len()) {
            return Self::prepare(params, seed, first, progress);
        }

        progress.stage("update", units.len() as u64);
        let hint = first.hint_rows(lwe, layout, &units);
        let second = self.second.change(
            (lwe, &second_masks(seed)),
            layout,
            (&units, &hint),
            progress,
        )?;

        Ok(Self::assemble(params, seed, first, second))
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.params
            .layout
            .read_packed(&self.first.database, (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.public.seed.0])?;
        sink.put(DATABASE, &[self.first.database.tiles()])?;
        sink.put(DIGITS, &[self.second.digits.tiles()])?;
        sink.put(MASKS, &[self.second.masks.bytes()])
    }

    fn load(params: DoubleParams, source: &dyn SectionSource) -> Result<Self> {
        let seed = load_seed(source, SEED)?;
        let layout = &params.layout;
        let first = FirstLevel::new(
            seed,
            load_matrix(source, DATABASE, layout.rows, layout.columns)?,
        );

        let digits = load_matrix(source, DIGITS, digit_rows(layout), layout.units)?;
        let masks = BlobSlice::new(source.get(MASKS)?, "double's masks")?;
        let products = MaskProducts::new(&params.lwe, &second_masks(seed), layout.units, CENTRE);
        let second = SecondLevel::from_parts(&params.lwe, layout, digits, products, masks)?;

        Ok(Self::assemble(params, seed, first, second))
    }
}

impl DoubleServer {
    /// Returns the work of an update.
    fn update_work(&self, changes: &[Change], sizes: &Sizes) -> Counts {
        let layout = &self.params.layout;
        let rows = digit_rows(layout);
        let units = layout.changed_units(changes);

        let second = hint_work(rows, layout.units);
        if from_scratch(layout, units) {
            let first = hint_work(layout.rows, layout.columns);
            let copy = Counts::new().with(Operation::Copy, sizes.database as f64, 1);
            return first.and(second).and(copy);
        }

        // A row of n words is added to, instead of multiplied with a key.
        let added = Counts::new().with(Operation::DecryptRow, units as f64 * rows as f64, 1);
        let second = if few(layout, units) { added } else { second };
        let first = hint_work(units * layout.unit_layout.unit_bytes, layout.columns);
        first
            .and(second)
            .with(Operation::Copy, (sizes.database + sizes.material) as f64, 1)
    }

    /// Prepares the second level, and creates the server.
    fn prepare(
        params: DoubleParams,
        seed: Seed,
        first: FirstLevel,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let mut hint = first.hint(&params.lwe, progress);
        let masks = second_masks(seed);
        let second = SecondLevel::new(
            &params.lwe,
            &params.layout,
            hint.slice_mut(),
            &masks,
            progress,
        )?;
        Ok(Self::assemble(params, seed, first, second))
    }

    /// Creates the server of both levels, with the rounded hint in its public part.
    fn assemble(params: DoubleParams, seed: Seed, first: FirstLevel, second: SecondLevel) -> Self {
        // Rounded for clients only: updates add to the masks in full length.
        let mut hint = Vec::with_capacity(params.hint_bytes());
        let bits = params.bits.mask;
        for row in second.masks.chunks_exact(N) {
            pack(&rounded(row, bits), bits, &mut hint);
        }

        let public = DoublePublic {
            seed,
            hint: Blob::copy_of(&hint),
        };

        Self {
            params,
            public,
            first,
            second,
        }
    }

    /// Computes the first level: D times each query modulo q, in one pass over the database. The
    /// word of byte b of unit u of a column is at B·u + b.
    pub fn first_level(&self, queries: &[&DoubleQuery]) -> Vec<Vec<u32>> {
        let values: Vec<&[u32]> = queries.iter().map(|query| query.first.as_slice()).collect();
        self.first.answers(&values, self.params.bits.first)
    }

    /// Computes the second level: the ciphertexts of the digits of one row of the first hint and of
    /// the first answers, for each query and its result of [`Self::first_level`].
    pub fn second_level(&self, queries: &[&DoubleQuery], firsts: &[Vec<u32>]) -> Vec<Ciphertexts> {
        let values: Vec<&[u32]> = queries
            .iter()
            .map(|query| query.second.as_slice())
            .collect();
        self.second
            .answers(&self.params.lwe, &values, self.params.bits.second, firsts)
    }

    /// Returns the masks of those ciphertexts of [`Self::second_level`] that do not depend on the
    /// query: 3·n·B masks of n words each, known at setup. Clients fetch them rounded, as the hint.
    pub fn offline_masks(&self) -> &[u32] {
        &self.second.masks
    }

    /// Rounds ciphertexts to an answer.
    pub fn round(&self, ciphertexts: &Ciphertexts) -> DoubleAnswer {
        DoubleAnswer {
            masks: rounded(&ciphertexts.masks, self.params.bits.mask),
            bodies: rounded(&ciphertexts.bodies, self.params.bits.body),
        }
    }
}

/// Returns the work of a product of `rows` rows with all masks.
fn hint_work(rows: usize, columns: usize) -> Counts {
    Counts::new().with(
        Operation::HintProduct8,
        transformed_bytes(rows, columns) as f64,
        rows,
    )
}

/// Returns the leading `bits` of words, rounded to nearest.
fn rounded(words: &[u32], bits: u32) -> Vec<u32> {
    words
        .iter()
        .map(|&word| round(word, LOG2_Q - bits))
        .collect()
}
