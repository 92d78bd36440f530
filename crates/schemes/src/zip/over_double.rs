//! DoublePIR below ZipPIR.
//!
//! The first key is DoublePIR's, n = 1024; the second has 1,280 bits, since a plaintext has room
//! for bits. Noise of the first level: `crate::double::noise`.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use papir_core::cost::{Counts, Operation, Work};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{BlobSlice, Change, Error, Progress, Record, Records, Result, Security, Shape};
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{
    LOG2_Q, LweParams, MODULE_SIGMA, MaskProducts, Masks, N, SIGMA, UnitVector, matrix_bytes,
};
use papir_lattice::noise::SAMPLER_LOG2;
use papir_ring::prg::{SecretRng, Seed};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::base::{Base, Changed, Encrypted, ParameterSet, Selected, Words};
use super::noise::Level;
use super::slots::{Row, centred_row, worst_distance};
use crate::double::client::decode_unit;
use crate::double::levels::{
    BODY, CENTRE, Ciphertexts, DIGIT_BITS, FirstLevel, SecondLevel, coefficients, digit_rows, first_masks,
    from_scratch,
};
use crate::double::noise::{FEW, FIRST, TAIL_LOG2, first_bound};
use crate::double::params::{MAX_RECORD_BITS, MAX_SIDE, layout_of, units_of, work};
use crate::shared::byte_matrix::{Layout, stored};
use crate::shared::parameters::unfit;

const DATABASE: &str = "zipdouble/database";
const DIGITS: &str = "zipdouble/digits";
const MASKS: &str = "zipdouble/masks";
/// The second level. Fair rounding of a word to a step 2ᵏ has variance (4ᵏ + 2)/12.
const LEVEL: Level = Level {
    word: CENTRE as f64,
    message_bits: DIGIT_BITS,
    tail_log2: TAIL_LOG2,
    rounding: |dropped_bits| match dropped_bits {
        0 => 0.0,
        _ => (4f64.powi(dropped_bits as i32) + 2.0) / 12.0,
    },
};

/// A matrix of bytes in DoublePIR's layout, with both levels' encryption.
#[derive(Clone, Debug)]
pub struct Levels<T> {
    pub(super) layout: Layout,
    pub(super) budget: Budget,
    first: LweParams,
    second: LweParams,
    set: PhantomData<fn() -> T>,
}

/// Rounding of queries, and the noise that decoding accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Budget {
    /// Bits of a word of the first query.
    first_bits: u32,
    /// Bits of a word of the second query.
    pub(super) second_bits: u32,
    /// Largest accepted distance from a multiple of Δ at the first level, in q.
    first: u32,
    /// The same at the second level, in units.
    pub(super) second: u16,
    /// log₂ of the probability that an honest answer exceeds one of them.
    failure_log2: f64,
}

/// Both levels' matrices.
#[derive(Clone)]
pub struct StoredLevels {
    pub(super) first: FirstLevel,
    pub(super) second: SecondLevel,
}

/// The first level's key, and the record's place in its unit.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct FirstKey {
    key: Vec<u32>,
    slot: u64,
}

/// A₂: its rows belong to the units of a column of D.
fn second_masks(seed: Seed) -> Masks {
    Masks::module(seed, "zipdouble/second")
}

/// The shortest queries whose answers decode; `None` if there are none.
fn budget(layout: &Layout, n: usize) -> Option<Budget> {
    let (first_bits, first) =
        (1..=LOG2_Q).find_map(|bits| first_bound(layout, bits).map(|bound| (bits, bound)))?;
    let rows = coefficients(layout);
    let bound = |bits| Some((bits, LEVEL.bound(rows, layout.units, n, LOG2_Q - bits)?));
    let (second_bits, second) = (1..=LOG2_Q).find_map(bound)?;
    let few = [layout.columns, layout.units].into_iter().filter(|&count| count <= FEW).sum::<usize>();
    let sampler = (N + few) as f64 * SAMPLER_LOG2.exp2();
    let failure_log2 = (2.0 * TAIL_LOG2.exp2() + sampler).log2();
    Some(Budget { first_bits, second_bits, first, second, failure_log2 })
}

impl<T> Levels<T> {
    /// Rows and columns of both levels' matrices.
    fn sides(&self) -> [(usize, usize); 2] {
        [(self.layout.rows, self.layout.columns), (digit_rows(&self.layout), self.layout.units)]
    }

    /// Ciphertexts sent with their masks: digits of the first answer.
    fn online_rows(&self) -> usize {
        BODY.count * self.layout.bundle.unit_bytes
    }

    /// Both levels of a database.
    pub(super) fn prepare(
        &self,
        seed: Seed,
        first: FirstLevel,
        progress: &dyn Progress,
    ) -> Result<StoredLevels> {
        let mut hint = first.hint(&self.first, progress);
        let masks = second_masks(seed);
        let second = SecondLevel::new(&self.second, &self.layout, hint.slice_mut(), &masks, progress)?;
        Ok(StoredLevels { first, second })
    }

    #[cfg(test)]
    pub(super) fn deviation(&self, units: usize) -> f64 {
        LEVEL.deviation(units, self.second.n(), LOG2_Q - self.budget.second_bits)
    }
}

impl<T: ParameterSet> Base for Levels<T> {
    type Set = T;
    type Stored = StoredLevels;
    type Secret = FirstKey;

    const NAME: &'static str = T::ZIP_DOUBLE.0;
    const ID: u16 = T::ZIP_DOUBLE.1;
    const SEED: &'static str = "zipdouble/seed";
    const SELECT: &'static str = "levels";
    const MESSAGE_BITS: u32 = LEVEL.message_bits;
    const MAX_RECORD_BITS: u64 = MAX_RECORD_BITS;

    fn new(shape: &Shape, height: u64, lwe: &LweParams) -> Result<Self> {
        let (layout, scheme) = (layout_of(shape, height)?, T::ZIP_DOUBLE.0);
        let budget = budget(&layout, lwe.n()).ok_or_else(|| {
            let Layout { columns, units, .. } = layout;
            let reason =
                format!("the noise of {columns} columns of {units} units exceeds the decoding limit");
            Error::Parameters { scheme, reason }
        })?;
        let first = LweParams::new().map_err(unfit(scheme))?;
        Ok(Self { layout, budget, first, second: lwe.clone(), set: PhantomData })
    }

    fn resized(&self, shape: &Shape, height: u64) -> Result<Option<Self>> {
        let layout = layout_of(shape, height)?;
        Ok(budget(&layout, self.second.n()).map(|budget| Self { layout, budget, ..self.clone() }))
    }

    fn heights(shape: &Shape) -> Result<RangeInclusive<u64>> {
        let all = units_of(shape)?.units();
        let (least, most) = (all.div_ceil(MAX_SIDE), all.min(MAX_SIDE));
        if least <= most {
            return Ok(least..=most);
        }
        let reason = format!("{all} units: expected at most {MAX_SIDE} columns of {MAX_SIDE}");
        Err(Error::Parameters { scheme: T::ZIP_DOUBLE.0, reason })
    }

    fn height_for(shape: &Shape, columns: u64) -> Result<u64> {
        Ok(units_of(shape)?.units().div_ceil(columns))
    }

    fn height(&self) -> u64 {
        self.layout.units as u64
    }

    fn hint_rows(&self) -> usize {
        digit_rows(&self.layout)
    }

    fn query_parts(&self) -> Vec<Words> {
        vec![
            Words { count: self.layout.columns, bits: self.budget.first_bits },
            Words { count: self.layout.units, bits: self.budget.second_bits },
        ]
    }

    fn online_words(&self) -> usize {
        self.online_rows() * (self.second.n() + 1)
    }

    fn matrices(&self) -> Vec<u64> {
        self.sides().map(|(rows, columns)| matrix_bytes(rows, columns)).to_vec()
    }

    fn masks_bytes(&self) -> u64 {
        4 * (self.second.n() * self.hint_rows()) as u64
    }

    fn work(&self) -> Work {
        work(&self.layout)
    }

    fn label(&self) -> String {
        format!("{} units, {} columns", self.layout.units, self.layout.columns)
    }

    fn describe(&self) -> Vec<(&'static str, String)> {
        let Self { layout, budget, .. } = self;
        vec![
            ("n of the first level", N.to_string()),
            ("log2 q", LOG2_Q.to_string()),
            ("log2 delta of the second level", LEVEL.log2_delta().to_string()),
            ("sigma", format!("{SIGMA} and {MODULE_SIGMA}")),
            ("unit bytes", layout.bundle.unit_bytes.to_string()),
            ("columns", layout.columns.to_string()),
            ("units of a column", layout.units.to_string()),
            ("query bits", format!("{} and {}", budget.first_bits, budget.second_bits)),
        ]
    }

    fn security(&self) -> Option<Security> {
        let row = self.first.security();
        Some(Security { bits: row.matzov, source: row.set })
    }

    fn failure_log2(&self) -> f64 {
        self.budget.failure_log2
    }

    fn encrypt(&self, seed: Seed, index: u64, rng: &mut SecretRng) -> Encrypted<FirstKey> {
        let Self { layout, budget, .. } = self;
        let place = layout.place(index);
        let (first, key) = (self.first.key(rng), self.second.key(rng));
        let column =
            UnitVector { selected: place.column, length: layout.columns, log2_delta: FIRST.log2_delta };
        let unit = UnitVector { selected: place.unit, length: layout.units, log2_delta: LEVEL.log2_delta() };
        let column = self.first.encrypt(&first_masks(seed), &first, column, budget.first_bits, rng);
        let unit = self.second.encrypt(&second_masks(seed), &key, unit, budget.second_bits, rng);
        let secret = FirstKey { key: first.to_vec(), slot: place.slot };
        Encrypted { key, secret, parts: vec![column, unit] }
    }

    fn decode(&self, _shape: Shape, secret: &FirstKey, rows: &[Row]) -> Result<Record> {
        let digits = rows.iter().map(|(digit, _)| digit.wrapping_add(CENTRE) & ((1 << DIGIT_BITS) - 1));
        let digits: Zeroizing<Vec<u8>> = Zeroizing::new(digits.collect());
        let (unit, distance) = decode_unit(&self.layout, &secret.key, &digits);
        if distance > self.budget.first || worst_distance(rows) > self.budget.second {
            return Err(Error::NotDecodable);
        }
        Ok(self.layout.bundle.select(&unit, secret.slot))
    }

    fn encode(&self, seed: Seed, records: &dyn Records, progress: &dyn Progress) -> Result<StoredLevels> {
        self.prepare(seed, FirstLevel::new(seed, self.layout.encode(records, progress)?), progress)
    }

    /// The masks of the first hint's digits.
    fn hint(&self, _seed: Seed, stored: &StoredLevels) -> impl Fn(usize) -> Vec<u32> + Sync {
        let n = self.second.n();
        move |row| stored.second.masks[row * n..][..n].to_vec()
    }

    /// DoublePIR's two levels.
    fn select(&self, stored: &StoredLevels, queries: &[&[Vec<u32>]]) -> Vec<Selected> {
        let [columns, units] =
            [0, 1].map(|part| queries.iter().map(|parts| parts[part].as_slice()).collect::<Vec<_>>());
        let firsts = stored.first.answers(&columns, self.budget.first_bits);
        let seconds = stored.second.answers(&self.second, &units, self.budget.second_bits, &firsts);
        let select = |Ciphertexts { mut bodies, masks }: Ciphertexts| {
            let online = bodies.split_off(self.hint_rows());
            let online = masks.chunks_exact(self.second.n()).zip(online);
            Selected { bodies, online: online.flat_map(|(mask, body)| centred_row(mask, body)).collect() }
        };
        seconds.into_iter().map(select).collect()
    }

    /// All rows of H depend on each unit.
    fn change_cost(&self, changes: &[Change]) -> Option<Counts> {
        let (layout, units) = (&self.layout, self.layout.changed_units(changes));
        let [(rows, columns), (digits, digit_columns)] = self.sides();
        let changed = if from_scratch(layout, units) { rows } else { units * layout.bundle.unit_bytes };
        let first = transformed_bytes(changed, columns) as f64;
        let second = transformed_bytes(digits, digit_columns) as f64;
        let products = Counts::new().with(Operation::HintProduct8, first, changed);
        (units > 0).then(|| products.with(Operation::HintProduct8, second, digits))
    }

    fn change(
        &self,
        _shape: Shape,
        seed: Seed,
        stored: &StoredLevels,
        changes: &[Change],
        progress: &dyn Progress,
    ) -> Result<Option<Changed<StoredLevels>>> {
        let layout = &self.layout;
        let Some((first, units)) = stored.first.change(layout, changes)? else {
            return Ok(None);
        };
        if from_scratch(layout, units.len()) {
            return Ok(Some(Changed { stored: self.prepare(seed, first, progress)?, rows: None }));
        }
        progress.stage("update", units.len() as u64);
        let hint = first.hint_rows(&self.first, layout, &units);
        let lwe = (&self.second, &second_masks(seed));
        let second = stored.second.change(lwe, layout, (&units, &hint), progress)?;
        Ok(Some(Changed { stored: StoredLevels { first, second }, rows: None }))
    }

    fn read_packed(
        &self,
        _shape: Shape,
        stored: &StoredLevels,
        range: (u64, u64),
        out: &mut [u8],
    ) -> Result<()> {
        self.layout.read_packed(&stored.first.database, range, out)
    }

    fn save(&self, stored: &StoredLevels, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(DATABASE, &[stored.first.database.tiles()])?;
        sink.put(DIGITS, &[stored.second.digits.tiles()])?;
        sink.put(MASKS, &[stored.second.masks.bytes()])
    }

    fn load(&self, seed: Seed, source: &dyn SectionSource) -> Result<StoredLevels> {
        let [(rows, columns), (digits, units)] = self.sides();
        let database = stored("zipdouble's database", source.get(DATABASE)?, rows, columns)?;
        let digits = stored("zipdouble's digits", source.get(DIGITS)?, digits, units)?;
        let masks = BlobSlice::new(source.get(MASKS)?, "zipdouble's masks")?;
        let products = MaskProducts::new(&self.second, &second_masks(seed), units, CENTRE);
        let second = SecondLevel::from_parts(&self.second, &self.layout, digits, products, masks)?;
        Ok(StoredLevels { first: FirstLevel::new(seed, database), second })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_and_the_smallest_matrix_decode() {
        for (bytes, units, columns) in
            [(8, MAX_SIDE, 64), (8, 64, MAX_SIDE), (1, 1 << 15, 1 << 15), (1, 1, 1)]
        {
            let layout = layout_of(&Shape::of_bytes(units * columns, bytes).unwrap(), units).unwrap();
            let budget = budget(&layout, 1280).unwrap();
            assert!(budget.failure_log2 <= -40.0 && budget.second < 256, "{layout:?}: {budget:?}");
            let deviation = |bits| LEVEL.deviation(layout.units, 1280, LOG2_Q - bits);
            let shorter = deviation(budget.second_bits - 1);
            assert!(budget.second_bits == 1 || shorter > deviation(budget.second_bits));
        }
        assert!((LEVEL.deviation(0, 1280, 0) - 7.30).abs() < 0.01);
    }
}
