//! SimplePIR below ZipPIR: bytes in columns.
//!
//! Two things differ from [`crate::simple`]. A is structured (module LWE), so n = 1280 suffices
//! instead of the paper's 1400, and transforms compute products with A. The query's words are
//! rounded.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use papir_core::certificate::FailureCertificate;
use papir_core::cost::{Counts, Operation, Work};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, FailureBound, MAX_RECORD_BITS, Progress, Record, Result, Shape};
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{
    LOG2_Q, LweParams, MODULE_SIGMA, MaskProducts, Masks, UnitVector, matrix_bytes,
};
use papir_ring::prg::{SecretRng, Seed};
use zeroize::Zeroizing;

use super::base::{Base, Changed, Encrypted, Figures, ParameterSet, Selected};
use super::certificate::CompressedTerms;
use super::noise::{Budget, Level};
use super::slots::{DecodedRow, worst_distance};
use crate::shared::byte_matrix::{ByteMatrix, Layout, RecordPlace, load_matrix, row_products};
use crate::shared::units::decoded;
use crate::simple::params::{heights, layout_of, work};

/// Amount subtracted from a byte to centre it.
const CENTRE: u8 = 128;
const DATABASE: &str = "zip/database";
pub(super) const LEVEL: Level = Level {
    word: CENTRE as f64,
    message_bits: 8,
    default_tail_log2: -44.0,
    least_bits: LOG2_Q - 8,
};

/// A matrix of bytes in SimplePIR's layout.
#[derive(Clone, Debug)]
pub struct Columns<T> {
    pub(super) layout: Layout,
    failure: FailureBound,
    pub(super) budget: Budget,
    pub(super) lwe: LweParams,
    set: PhantomData<fn() -> T>,
}

/// Secret of one query: the record's place in its column. It is erased on drop.
pub struct Position {
    /// Place of the record. It is boxed, so that moving the secret leaves no copy behind.
    place: Box<RecordPlace>,
}

/// Returns the masks A, which have a row for each column of D.
pub(super) fn masks(seed: Seed) -> Masks {
    Masks::module(seed, "zip/lwe-matrix")
}

impl<T: ParameterSet> Base for Columns<T> {
    type Set = T;
    type Stored = ByteMatrix;
    type Secret = Position;

    const NAME: &'static str = T::ZIP.0;
    const ID: u16 = T::ZIP.1;
    const SEED: &'static str = "zip/seed";
    const SELECT: &'static str = "select";
    const LEVEL: Level = LEVEL;
    const MAX_RECORD_BITS: u64 = MAX_RECORD_BITS;

    fn new(
        shape: &Shape,
        height: u64,
        failure: FailureBound,
        lwe: &LweParams,
        _other: Option<&Self>,
    ) -> Result<Option<Self>> {
        let layout = layout_of(shape, height)?;

        let budget = LEVEL.budget(layout.rows, layout.columns, lwe.n(), failure);
        Ok(budget.map(|budget| Self {
            layout,
            failure,
            budget,
            lwe: lwe.clone(),
            set: PhantomData,
        }))
    }

    fn heights(shape: &Shape) -> Result<RangeInclusive<u64>> {
        heights(T::ZIP.0, shape)
    }

    /// Returns the height for `columns` columns. It is exact for records of whole bytes, which are
    /// units of one record.
    fn height_for(shape: &Shape, columns: u64) -> Result<u64> {
        Ok(shape.records().div_ceil(columns))
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn figures(&self) -> Figures {
        let Layout { rows, columns, .. } = self.layout;
        Figures {
            hint_rows: rows,
            query: vec![(columns, self.budget.query_bits)],
            online_words: 0,
            matrices: vec![matrix_bytes(rows, columns)],
            masks_bytes: 0,
            security: None,
            failure_log2: LEVEL.tail_log2(self.failure),
            failure_bound: self.failure,
        }
    }

    fn certify(&self, certificate: &mut FailureCertificate) -> Result<()> {
        let terms = CompressedTerms {
            level: &LEVEL,
            budget: self.budget,
            columns: self.layout.columns,
            rows: self.layout.rows,
            lwe: &self.lwe,
            failure: self.failure,
        };
        terms.add(certificate)
    }

    fn work(&self) -> Work {
        work(&self.layout)
    }

    fn label(&self) -> String {
        format!("{} rows, {} columns", self.layout.rows, self.layout.columns)
    }

    fn describe(&self) -> Vec<(&'static str, String)> {
        vec![
            ("log2 q", LOG2_Q.to_string()),
            ("log2 delta", LEVEL.log2_delta().to_string()),
            ("sigma", MODULE_SIGMA.to_string()),
            ("rows", self.layout.rows.to_string()),
            ("columns", self.layout.columns.to_string()),
            ("query bits", self.budget.query_bits.to_string()),
        ]
    }

    /// Computes line 14 of Algorithm 5: encrypts the column's unit vector under the LWE key.
    fn encrypt(
        &self,
        seed: Seed,
        index: u64,
        key: &[u32],
        rng: &mut SecretRng,
    ) -> Encrypted<Position> {
        let place = Box::new(self.layout.place(index));
        let unit = UnitVector {
            selected: place.column,
            length: self.layout.columns,
            log2_delta: LEVEL.log2_delta(),
        };
        let values = self
            .lwe
            .encrypt(&masks(seed), key, unit, self.budget.query_bits, rng);

        Encrypted {
            secret: Position { place },
            parts: vec![values],
        }
    }

    fn decode(&self, secret: &Position, rows: &[DecodedRow]) -> Result<Record> {
        let column = rows.iter().map(|(word, _)| word.wrapping_add(CENTRE));
        let column: Zeroizing<Vec<u8>> = Zeroizing::new(column.collect());

        let record = self.layout.select(&secret.place, &column);
        decoded(record, worst_distance(rows) <= self.budget.bound)
    }

    fn prepare(
        &self,
        _seed: Seed,
        database: ByteMatrix,
        _progress: &dyn Progress,
    ) -> Result<ByteMatrix> {
        Ok(database)
    }

    fn database(stored: &ByteMatrix) -> &ByteMatrix {
        stored
    }

    /// Returns the rows of H = D·A.
    fn hint(&self, seed: Seed, database: &ByteMatrix) -> impl Fn(usize) -> Vec<u32> + Sync {
        let products = MaskProducts::new(&self.lwe, &masks(seed), database.columns(), CENTRE);
        move |row| row_products(&self.lwe, &products, database, row)
    }

    /// Computes line 17: D·qu_0 modulo q, with centred words.
    fn select(&self, database: &ByteMatrix, queries: &[&[Vec<u32>]]) -> Vec<Selected> {
        let bits = self.budget.query_bits;
        let values: Vec<&[u32]> = queries.iter().map(|parts| &parts[0][..]).collect();
        let mut sums = database.products(&values, bits, CENTRE);

        // Modulo q again.
        sums.iter_mut()
            .flatten()
            .for_each(|sum| *sum <<= LOG2_Q - bits);

        sums.into_iter()
            .map(|bodies| Selected {
                bodies,
                online: Vec::new(),
            })
            .collect()
    }

    fn change_cost(&self, changes: &[Change]) -> Counts {
        let rows = self.layout.changed_units(changes) * self.layout.unit_layout.unit_bytes;
        let products = transformed_bytes(rows, self.layout.columns) as f64;
        Counts::new().with(Operation::HintProduct8, products, rows)
    }

    /// Applies changes. A row of H changes if its row of D changes, in any number of bytes.
    fn change(
        &self,
        _seed: Seed,
        database: &ByteMatrix,
        changes: &[Change],
        _progress: &dyn Progress,
    ) -> Result<Option<Changed<ByteMatrix>>> {
        let Some((stored, differences)) = self.layout.change(database, changes)? else {
            return Ok(None);
        };

        let rows: BTreeSet<usize> = differences
            .iter()
            .map(|difference| difference.row)
            .collect();
        Ok(Some(Changed {
            stored,
            rows: Some(rows),
        }))
    }

    fn save(&self, database: &ByteMatrix, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(DATABASE, &[database.tiles()])
    }

    fn load(&self, _seed: Seed, source: &dyn SectionSource) -> Result<ByteMatrix> {
        load_matrix(source, DATABASE, self.layout.rows, self.layout.columns)
    }
}
