//! SimplePIR below ZipPIR.
//!
//! What differs from [`crate::simple`]: A is a module's, so that n = 1280 suffices instead of the
//! paper's 1400 and products with A take transforms; the query's words are rounded.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use papir_core::cost::{Counts, Operation, Work};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Blob, Change, Error, MAX_RECORD_BITS, Progress, Record, Records, Result, Security, Shape};
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{
    ByteMatrix, LOG2_Q, LweParams, MODULE_SIGMA, MaskProducts, Masks, UnitVector, matrix_bytes,
};
use papir_lattice::noise::SAMPLER_LOG2;
use papir_ring::prg::{SecretRng, Seed};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::base::{Base, Changed, Encrypted, ParameterSet, Selected, Words};
use super::noise::Level;
use super::slots::{Row, worst_distance};
use crate::shared::byte_matrix::{Layout, load_matrix};
use crate::simple::params::{heights, layout_of, work};

/// Amount subtracted from a byte to centre it.
const CENTRE: u8 = 128;
const DATABASE: &str = "zip/database";
/// Most bits that a query's word drops.
const MAX_DROPPED: u32 = 8;
const LEVEL: Level = Level {
    word: CENTRE as f64,
    message_bits: 8,
    tail_log2: -44.0,
    rounding: |dropped_bits| (4f64.powi(dropped_bits as i32) - 1.0) / 12.0,
};

/// A matrix of bytes in SimplePIR's layout.
#[derive(Clone, Debug)]
pub struct Columns<T> {
    layout: Layout,
    pub(super) budget: Budget,
    lwe: LweParams,
    set: PhantomData<fn() -> T>,
}

/// Rounding of a query, and the noise that decoding accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Budget {
    /// Low bits that a query's words drop.
    pub(super) dropped_bits: u32,
    /// Largest accepted distance from a multiple of Δ, in units.
    pub(super) bound: u16,
    /// log₂ of the probability that an honest answer has a row beyond the bound.
    failure_log2: f64,
}

/// A record's place in its column.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Position {
    unit: u64,
    slot: u64,
}

/// A: its rows belong to the columns of D.
fn masks(seed: Seed) -> Masks {
    Masks::module(seed, "zip/lwe-matrix")
}

/// The shortest query whose answers decode; `None` if there is none.
fn budget(layout: &Layout, n: usize) -> Option<Budget> {
    let bound = |dropped| Some((dropped, LEVEL.bound(layout.rows, layout.columns, n, dropped)?));
    let (dropped_bits, bound) = (0..=MAX_DROPPED).rev().find_map(bound)?;
    let sampler = layout.columns as f64 * SAMPLER_LOG2.exp2();
    Some(Budget { dropped_bits, bound, failure_log2: (LEVEL.tail_log2.exp2() + sampler).log2() })
}

impl<T> Columns<T> {
    /// Bits of a query's word.
    fn query_bits(&self) -> u32 {
        LOG2_Q - self.budget.dropped_bits
    }

    #[cfg(test)]
    pub(super) fn deviation(&self) -> f64 {
        LEVEL.deviation(self.layout.columns, self.lwe.n(), self.budget.dropped_bits)
    }
}

impl<T: ParameterSet> Base for Columns<T> {
    type Set = T;
    type Stored = ByteMatrix<Blob>;
    type Secret = Position;

    const NAME: &'static str = T::ZIP.0;
    const ID: u16 = T::ZIP.1;
    const SEED: &'static str = "zip/seed";
    const SELECT: &'static str = "select";
    const MESSAGE_BITS: u32 = LEVEL.message_bits;
    const MAX_RECORD_BITS: u64 = MAX_RECORD_BITS;

    fn new(shape: &Shape, height: u64, lwe: &LweParams) -> Result<Self> {
        let layout = layout_of(shape, height)?;
        let budget = budget(&layout, lwe.n()).ok_or_else(|| {
            let reason = format!("the noise of {} columns exceeds the decoding limit", layout.columns);
            Error::Parameters { scheme: T::ZIP.0, reason }
        })?;
        Ok(Self { layout, budget, lwe: lwe.clone(), set: PhantomData })
    }

    fn resized(&self, shape: &Shape, height: u64) -> Result<Option<Self>> {
        let layout = layout_of(shape, height)?;
        Ok(budget(&layout, self.lwe.n()).map(|budget| Self { layout, budget, ..self.clone() }))
    }

    fn heights(shape: &Shape) -> Result<RangeInclusive<u64>> {
        heights(T::ZIP.0, shape)
    }

    /// Exact for records of whole bytes, which are units of one record.
    fn height_for(shape: &Shape, columns: u64) -> Result<u64> {
        Ok(shape.records().div_ceil(columns))
    }

    fn height(&self) -> u64 {
        self.layout.units as u64
    }

    fn hint_rows(&self) -> usize {
        self.layout.rows
    }

    fn query_parts(&self) -> Vec<Words> {
        vec![Words { count: self.layout.columns, bits: self.query_bits() }]
    }

    fn online_words(&self) -> usize {
        0
    }

    fn matrices(&self) -> Vec<u64> {
        vec![matrix_bytes(self.layout.rows, self.layout.columns)]
    }

    fn masks_bytes(&self) -> u64 {
        0
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
            ("query bits", self.query_bits().to_string()),
        ]
    }

    fn security(&self) -> Option<Security> {
        None
    }

    fn failure_log2(&self) -> f64 {
        self.budget.failure_log2
    }

    /// Line 14 of Algorithm 5: the column's unit vector under the LWE key.
    fn encrypt(&self, seed: Seed, index: u64, rng: &mut SecretRng) -> Encrypted<Position> {
        let (place, key) = (self.layout.place(index), self.lwe.key(rng));
        let (length, log2_delta) = (self.layout.columns, LEVEL.log2_delta());
        let unit = UnitVector { selected: place.column, length, log2_delta };
        let values = self.lwe.encrypt(&masks(seed), &key, unit, self.query_bits(), rng);
        let secret = Position { unit: place.unit, slot: place.slot };
        Encrypted { key, secret, parts: vec![values] }
    }

    fn decode(&self, _shape: Shape, secret: &Position, rows: &[Row]) -> Result<Record> {
        let column = rows.iter().map(|(word, _)| word.wrapping_add(CENTRE));
        let column: Zeroizing<Vec<u8>> = Zeroizing::new(column.collect());
        if worst_distance(rows) > self.budget.bound {
            return Err(Error::NotDecodable);
        }
        Ok(self.layout.select((secret.unit, secret.slot), &column))
    }

    fn encode(&self, _seed: Seed, records: &dyn Records, progress: &dyn Progress) -> Result<Self::Stored> {
        self.layout.encode(records, progress)
    }

    /// H = D·A.
    fn hint(&self, seed: Seed, database: &Self::Stored) -> impl Fn(usize) -> Vec<u32> + Sync {
        let products = MaskProducts::new(&self.lwe, &masks(seed), database.columns(), CENTRE);
        move |row| {
            let mut bytes = vec![0; database.columns()];
            database.read_row(row, &mut bytes);
            products.of_row(&self.lwe, &bytes)
        }
    }

    /// Line 17: D·qu_0 modulo q, with centred words.
    fn select(&self, database: &Self::Stored, queries: &[&[Vec<u32>]]) -> Vec<Selected> {
        let values: Vec<&[u32]> = queries.iter().map(|parts| parts[0].as_slice()).collect();
        let sums = database.products(&values, self.query_bits(), CENTRE).into_iter();
        sums.map(|mut bodies| {
            // Modulo q again.
            bodies.iter_mut().for_each(|sum| *sum <<= self.budget.dropped_bits);
            Selected { bodies, online: Vec::new() }
        })
        .collect()
    }

    fn change_cost(&self, changes: &[Change]) -> Option<Counts> {
        let rows = self.layout.changed_units(changes) * self.layout.bundle.unit_bytes;
        let products = transformed_bytes(rows, self.layout.columns) as f64;
        (rows > 0).then(|| Counts::new().with(Operation::HintProduct8, products, rows))
    }

    /// Rows of H follow rows of D, whatever the number of bytes that changed in a row.
    fn change(
        &self,
        _shape: Shape,
        _seed: Seed,
        database: &Self::Stored,
        changes: &[Change],
        _progress: &dyn Progress,
    ) -> Result<Option<Changed<Self::Stored>>> {
        let changed = self.layout.change(database, changes)?;
        Ok(changed.map(|(stored, differences)| {
            let rows: BTreeSet<usize> = differences.iter().map(|difference| difference.row).collect();
            Changed { stored, rows: Some(rows) }
        }))
    }

    fn read_packed(
        &self,
        _shape: Shape,
        database: &Self::Stored,
        range: (u64, u64),
        out: &mut [u8],
    ) -> Result<()> {
        self.layout.read_packed(database, range, out)
    }

    fn save(&self, database: &Self::Stored, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(DATABASE, &[database.tiles()])
    }

    fn load(&self, _seed: Seed, source: &dyn SectionSource) -> Result<Self::Stored> {
        load_matrix(source, DATABASE, self.layout.rows, self.layout.columns)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::simple::params::{MAX_COLUMNS, MAX_ROWS};

    fn of_matrix(rows: usize, columns: usize) -> Option<Budget> {
        let shape = Shape::of_bytes(2, 1).unwrap();
        budget(&Layout { rows, columns, ..layout_of(&shape, 1).unwrap() }, 1280)
    }

    #[test]
    fn the_largest_matrix_decodes() {
        let budget = of_matrix(MAX_ROWS as usize, MAX_COLUMNS as usize).unwrap();
        assert!(budget.failure_log2 <= -40.0 && budget.bound < 128, "{budget:?}");
    }

    #[test]
    fn a_gibibyte_needs_queries_of_26_bits_a_word() {
        assert_eq!(of_matrix(1 << 15, 1 << 15).unwrap().dropped_bits, 6);
        assert_eq!(of_matrix(1 << 14, 1 << 16).unwrap().dropped_bits, 6);
        assert_eq!(of_matrix(1 << 12, 1 << 8).unwrap().dropped_bits, MAX_DROPPED);
    }

    #[test]
    fn too_much_noise_is_detected() {
        assert!(of_matrix(1 << 20, 1 << 26).is_none());
        assert!((LEVEL.deviation(0, 1280, 0) - 7.30).abs() < 0.01);
    }
}
