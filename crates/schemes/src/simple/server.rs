//! The server of SimplePIR: `Setup` and `Answer` of figure 2, and updates.
//!
//! An update writes new bytes to the matrix. For each changed byte the hint takes a rank-one
//! update; if many bytes changed, their rows of the hint are computed again. Database and hint are
//! copied once, since the old version still answers.

use std::collections::BTreeSet;

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, Server, Session, UpdateEstimate, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Change, Error, Progress, Records, Result};
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{LOG2_Q, MaskProducts, N, add_multiple, round};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::columns::{self, Difference, masks};
use super::noise::CENTRE;
use super::params::{NAME, Simple, SimpleParams};
use super::wire::{SimpleAnswer, SimplePublic, SimpleQuery};
use crate::shared::matrices::{ByteMatrix, row_products};
use crate::shared::messages::load_seed;
use crate::shared::stored_records::check_source;

const SEED: &str = "simple/seed";
const HINT: &str = "simple/hint";
const DATABASE: &str = "simple/database";

/// Bytes of a row's product with all masks that take as long as one rank-one update of it.
const RANK_ONE: u64 = 48;

/// The matrix, the seed and the hint. A clone shares them.
#[derive(Clone)]
pub struct SimpleServer {
    pub(super) params: SimpleParams,
    pub(super) public: SimplePublic,
    pub(super) database: ByteMatrix,
}

impl Server<Simple> for SimpleServer {
    fn setup(
        params: SimpleParams,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(NAME, params.shape(), records)?;
        let seed = Seed::random(rng);
        let database = columns::encode(&params.layout, records, progress)?;
        let hint = hint(&params, seed, &database, progress).into();
        Ok(Self { params, public: SimplePublic { seed, hint }, database })
    }

    fn params(&self) -> &SimpleParams {
        &self.params
    }

    fn public(&self) -> &SimplePublic {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Simple>, &SimpleQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<SimpleAnswer>> {
        let queries: Vec<&SimpleQuery> = batch.into_iter().map(|(_, query)| query).collect();
        progress.stage("answer", queries.len() as u64);
        Ok(self.sums(&queries).iter().map(|sums| self.round(sums)).collect())
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        let layout = &self.params.layout;
        check_changes(&self.params.shape(), changes)?;
        let description = self.params.describe();
        let setup = description.work.setup;
        if changes.is_empty() {
            return Ok(UpdateEstimate { update: Counts::new(), setup });
        }
        let (bytes, rows) = (changes.len() * layout.unit_bytes, layout.changed_rows(changes));
        let stored = (description.sizes.database + description.sizes.hint) as f64;
        let copy = Counts::new().with(Operation::Copy, stored, 1);
        let update = if few(bytes, rows, layout.columns) {
            // A row of n words is added to, instead of multiplied with a key.
            copy.with(Operation::DecryptRow, bytes as f64, 1)
        } else {
            copy.with(Operation::HintProduct8, transformed_bytes(rows, layout.columns) as f64, rows)
        };
        Ok(UpdateEstimate { update, setup })
    }

    /// Keeps the public seed and gives the same bytes as a setup of the changed records.
    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        let params = &self.params;
        let changed = columns::change(params.shape(), &params.layout, &self.database, changes)?;
        let Some((database, differences)) = changed else {
            return Ok(self.clone());
        };
        let mut hint = AlignedBytes::copy_of(&self.public.hint);
        let rows: BTreeSet<usize> = differences.iter().map(|difference| difference.row).collect();
        if few(differences.len(), rows.len(), database.columns()) {
            self.add_differences(differences, hint.slice_mut(), progress);
        } else {
            self.multiply_rows(&database, &rows, hint.slice_mut(), progress);
        }
        let public = SimplePublic { seed: self.public.seed, hint: hint.into() };
        Ok(Self { params: params.clone(), public, database })
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let place = (self.params.shape(), &self.params.layout);
        columns::read_packed(place, &self.database, (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.public.seed.0])?;
        sink.put(HINT, &[&self.public.hint])?;
        sink.put(DATABASE, &[self.database.tiles()])
    }

    fn load(params: SimpleParams, source: &dyn SectionSource) -> Result<Self> {
        let (seed, hint) = (load_seed(source, SEED)?, source.get(HINT)?);
        Error::check_length("simple's hint", hint.len(), params.hint_bytes())?;
        let database = columns::load(&params.layout, source, DATABASE)?;
        Ok(Self { params, public: SimplePublic { seed, hint }, database })
    }
}

/// H = D·A, rows × n words.
fn hint(params: &SimpleParams, seed: Seed, database: &ByteMatrix, progress: &dyn Progress) -> AlignedBytes {
    let mut hint = AlignedBytes::zeroed(params.hint_bytes());
    progress.stage("hint", database.rows() as u64);
    let products = MaskProducts::new(&params.lwe, &masks(seed), database.columns(), CENTRE);
    products.add_matrix(&params.lwe, database, hint.slice_mut(), |rows| progress.advance(rows as u64));
    hint
}

impl SimpleServer {
    /// D times each query modulo q, with centred words, in one pass over the database.
    pub(super) fn sums(&self, queries: &[&SimpleQuery]) -> Vec<Vec<u32>> {
        let values: Vec<&[u32]> = queries.iter().map(|query| query.values.as_slice()).collect();
        self.database.products(&values, LOG2_Q, CENTRE)
    }

    /// Drops the low bits of each sum, rounding to nearest.
    fn round(&self, sums: &[u32]) -> SimpleAnswer {
        let dropped = self.params.budget.dropped_bits;
        SimpleAnswer { values: sums.iter().map(|&sum| round(sum, dropped).into()).collect() }
    }
    /// Adds ΔD·A to the hint, one byte of ΔD at a time.
    fn add_differences(&self, mut differences: Vec<Difference>, hint: &mut [u32], progress: &dyn Progress) {
        differences.sort_by_key(|difference| difference.column);
        progress.stage("update", differences.len() as u64);
        let (masks, mut mask) = (masks(self.public.seed), vec![0; N]);
        for of_column in differences.chunk_by(|a, b| a.column == b.column) {
            masks.row(of_column[0].column, &mut mask);
            for difference in of_column {
                add_multiple(&mut hint[difference.row * N..][..N], &mask, difference.by);
            }
            progress.advance(of_column.len() as u64);
        }
    }

    /// Computes the rows of D·A in which bytes changed.
    fn multiply_rows(
        &self,
        database: &ByteMatrix,
        rows: &BTreeSet<usize>,
        hint: &mut [u32],
        progress: &dyn Progress,
    ) {
        progress.stage("hint", rows.len() as u64);
        let lwe = &self.params.lwe;
        let products = MaskProducts::new(lwe, &masks(self.public.seed), database.columns(), CENTRE);
        let changed = hint.par_chunks_exact_mut(N).enumerate().filter(|(row, _)| rows.contains(row));
        changed.for_each(|(row, words)| {
            words.copy_from_slice(&row_products(lwe, &products, database, row));
            progress.advance(1);
        });
    }
}

/// Whether rank-one updates for `bytes` bytes are faster than the products of their rows.
fn few(bytes: usize, rows: usize, columns: usize) -> bool {
    bytes as u64 * RANK_ONE <= transformed_bytes(rows, columns)
}
