//! DoublePIR below ZipPIR: two levels of encryption.
//!
//! The first key is the key of DoublePIR, with n = 1024. The second key has 1,280 bits, since a
//! plaintext has room for bits. `crate::double::noise` has the noise of the first level.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use papir_core::certificate::FailureCertificate;
use papir_core::cost::{Counts, Operation, Work};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{BlobSlice, Change, FailureBound, Progress, Record, Result, Shape};
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{
    LOG2_Q, LweParams, MODULE_SIGMA, MaskProducts, Masks, N, SIGMA, UnitVector, matrix_bytes,
};
use papir_ring::prg::{SecretRng, Seed};
use zeroize::Zeroizing;

use super::base::{Base, Changed, Encrypted, Figures, ParameterSet, Selected};
use super::certificate::CompressedTerms;
use super::noise::{Budget, Level};
use super::slots::{DecodedRow, centred_row, worst_distance};
use crate::double::certificate::add_first;
use crate::double::client::decode_unit;
use crate::double::levels::{
    BODY, CENTRE, Ciphertexts, DIGIT_BITS, FirstLevel, MASK, SecondLevel, coefficients, digit_rows,
    first_masks, from_scratch,
};
use crate::double::noise::{FIRST, TAIL_LOG2, first_bound};
use crate::double::params::{MAX_RECORD_BITS, MAX_SIDE, layout_of, units_of, work};
use crate::shared::byte_matrix::{ByteMatrix, Layout, load_matrix};
use crate::shared::parameters::{refused, security, unfit};
use crate::shared::units::decoded;

const DATABASE: &str = "zipdouble/database";
const DIGITS: &str = "zipdouble/digits";
const MASKS: &str = "zipdouble/masks";
/// Constants of the second level.
pub(super) const LEVEL: Level = Level {
    word: CENTRE as f64,
    message_bits: DIGIT_BITS,
    default_tail_log2: TAIL_LOG2,
    least_bits: 1,
};

/// A matrix of bytes in DoublePIR's layout, with both levels' encryption.
#[derive(Clone, Debug)]
pub struct Levels<T> {
    pub(super) layout: Layout,
    failure: FailureBound,
    /// Number of bits of a word of the first level's query.
    first_bits: u32,
    /// Largest distance from a multiple of Δ that decoding accepts at the first level, in q.
    first_bound: u32,
    /// Budget of the second level.
    pub(super) budget: Budget,
    first: LweParams,
    second: LweParams,
    set: PhantomData<fn() -> T>,
}

/// Both levels' matrices.
#[derive(Clone)]
pub struct StoredLevels {
    pub(super) first: FirstLevel,
    pub(super) second: SecondLevel,
}

/// Secret of one query: the first level's key, and the record's place in its unit. It is erased on
/// drop.
pub struct FirstKey {
    key: Zeroizing<Vec<u32>>,
    /// Position of the record in its unit. It is boxed, so that moving the secret leaves no copy
    /// behind.
    slot: Box<Zeroizing<u64>>,
}

/// Returns the masks A₂, which have a row for each unit of a column of D.
fn second_masks(seed: Seed) -> Masks {
    Masks::module(seed, "zipdouble/second")
}

impl<T> Levels<T> {
    /// Returns the rows and columns of both levels' matrices.
    fn sides(&self) -> [(usize, usize); 2] {
        [
            (self.layout.rows, self.layout.columns),
            (digit_rows(&self.layout), self.layout.units),
        ]
    }

    /// Returns the number of ciphertexts that are sent with their masks: digits of the first
    /// answer.
    fn online_rows(&self) -> usize {
        BODY.count * self.layout.unit_layout.unit_bytes
    }

    /// Prepares the second level over the first. Returns both.
    fn over(&self, seed: Seed, first: FirstLevel, progress: &dyn Progress) -> Result<StoredLevels> {
        let mut hint = first.hint(&self.first, progress);
        let masks = second_masks(seed);

        let second = SecondLevel::new(
            &self.second,
            &self.layout,
            hint.slice_mut(),
            &masks,
            progress,
        )?;
        Ok(StoredLevels { first, second })
    }

    /// Returns the ciphertexts of an answer. The last ones are sent with their masks.
    fn selected(&self, answer: Ciphertexts) -> Selected {
        let Ciphertexts { mut bodies, masks } = answer;
        // Rows of H come first; the masks of the others depend on the query.
        let online = bodies.split_off(digit_rows(&self.layout));

        let rows = masks.chunks_exact(self.second.n()).zip(online);
        Selected {
            bodies,
            online: rows
                .flat_map(|(mask, body)| centred_row(mask, body))
                .collect(),
        }
    }
}

/// Returns the work of the hint of a matrix.
fn hint_product(rows: usize, columns: usize) -> Counts {
    let bytes = transformed_bytes(rows, columns) as f64;
    Counts::new().with(Operation::HintProduct8, bytes, rows)
}

impl<T: ParameterSet> Base for Levels<T> {
    type Set = T;
    type Stored = StoredLevels;
    type Secret = FirstKey;

    const NAME: &'static str = T::ZIP_DOUBLE.0;
    const ID: u16 = T::ZIP_DOUBLE.1;
    const SEED: &'static str = "zipdouble/seed";
    const SELECT: &'static str = "levels";
    const LEVEL: Level = LEVEL;
    const MAX_RECORD_BITS: u64 = MAX_RECORD_BITS;

    fn new(
        shape: &Shape,
        height: u64,
        failure: FailureBound,
        lwe: &LweParams,
        other: Option<&Self>,
    ) -> Result<Option<Self>> {
        let layout = layout_of(shape, height)?;

        // The shortest query whose noise decodes.
        let shortest =
            (1..=LOG2_Q).find_map(|bits| Some((bits, first_bound(&layout, bits, failure)?)));
        let Some((first_bits, first_bound)) = shortest else {
            return Ok(None);
        };
        let second_words = coefficients(&layout);
        let Some(budget) = LEVEL.budget(second_words, layout.units, lwe.n(), failure) else {
            return Ok(None);
        };

        // A search shares one ring instead of making one for every height.
        let first = match other {
            Some(other) => other.first.clone(),
            None => LweParams::new().map_err(unfit(T::ZIP_DOUBLE.0))?,
        };
        let second = lwe.clone();

        Ok(Some(Self {
            layout,
            failure,
            first_bits,
            first_bound,
            budget,
            first,
            second,
            set: PhantomData,
        }))
    }

    fn heights(shape: &Shape) -> Result<RangeInclusive<u64>> {
        let all = units_of(shape)?.units();
        let least = all.div_ceil(MAX_SIDE);
        let most = all.min(MAX_SIDE);
        if least <= most {
            return Ok(least..=most);
        }

        let reason = format!("{all} units: expected at most {MAX_SIDE} columns of {MAX_SIDE}");
        Err(refused(T::ZIP_DOUBLE.0)(reason))
    }

    fn height_for(shape: &Shape, columns: u64) -> Result<u64> {
        Ok(units_of(shape)?.units().div_ceil(columns))
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn figures(&self) -> Figures {
        let layout = &self.layout;
        let n = self.second.n();

        Figures {
            hint_rows: digit_rows(layout),
            query: vec![
                (layout.columns, self.first_bits),
                (layout.units, self.budget.query_bits),
            ],
            online_words: self.online_rows() * (n + 1),
            matrices: self
                .sides()
                .map(|(rows, columns)| matrix_bytes(rows, columns))
                .to_vec(),
            masks_bytes: 4 * (n * digit_rows(layout)) as u64,
            security: Some(security(self.first.security())),
            // Either level may exceed its bound, with the same probability.
            failure_log2: 1.0 + LEVEL.tail_log2(self.failure),
            failure_bound: self.failure,
        }
    }

    fn certify(&self, certificate: &mut FailureCertificate) -> Result<()> {
        let dropped_bits = [
            LOG2_Q - self.first_bits,
            MASK.dropped_bits(),
            BODY.dropped_bits(),
        ];
        add_first(
            certificate,
            &self.first,
            &self.layout,
            dropped_bits,
            self.first_bound,
            self.failure,
        )?;

        let second = CompressedTerms {
            level: &LEVEL,
            budget: self.budget,
            columns: self.layout.units,
            rows: coefficients(&self.layout),
            lwe: &self.second,
            failure: self.failure,
        };
        second.add(certificate)
    }

    fn work(&self) -> Work {
        work(&self.layout)
    }

    fn label(&self) -> String {
        format!(
            "{} units, {} columns",
            self.layout.units, self.layout.columns
        )
    }

    fn describe(&self) -> Vec<(&'static str, String)> {
        let layout = &self.layout;

        vec![
            ("n of the first level", N.to_string()),
            ("log2 q", LOG2_Q.to_string()),
            (
                "log2 delta of the second level",
                LEVEL.log2_delta().to_string(),
            ),
            ("sigma", format!("{SIGMA} and {MODULE_SIGMA}")),
            ("unit bytes", layout.unit_layout.unit_bytes.to_string()),
            ("columns", layout.columns.to_string()),
            ("units of a column", layout.units.to_string()),
            (
                "query bits",
                format!("{} and {}", self.first_bits, self.budget.query_bits),
            ),
        ]
    }

    fn encrypt(
        &self,
        seed: Seed,
        index: u64,
        key: &[u32],
        rng: &mut SecretRng,
    ) -> Encrypted<FirstKey> {
        let layout = &self.layout;
        let place = layout.place(index);
        let first = self.first.key(rng);

        let column = UnitVector {
            selected: place.column,
            length: layout.columns,
            log2_delta: FIRST.log2_delta,
        };
        let unit = UnitVector {
            selected: place.unit,
            length: layout.units,
            log2_delta: LEVEL.log2_delta(),
        };

        let column = self
            .first
            .encrypt(&first_masks(seed), &first, column, self.first_bits, rng);
        let unit = self
            .second
            .encrypt(&second_masks(seed), key, unit, self.budget.query_bits, rng);

        let secret = FirstKey {
            key: first,
            slot: Box::new(Zeroizing::new(place.slot)),
        };
        Encrypted {
            secret,
            parts: vec![column, unit],
        }
    }

    fn decode(&self, secret: &FirstKey, rows: &[DecodedRow]) -> Result<Record> {
        let digits = rows
            .iter()
            .map(|(digit, _)| digit.wrapping_add(CENTRE) & ((1 << DIGIT_BITS) - 1));
        let digits: Zeroizing<Vec<u8>> = Zeroizing::new(digits.collect());
        let (unit, distance) = decode_unit(&self.layout, &secret.key, &digits);

        let record = self.layout.unit_layout.select(&unit, **secret.slot);

        // Both levels are compared in any case: `&` has no shortcut.
        let first = distance <= self.first_bound;
        let second = worst_distance(rows) <= self.budget.bound;
        decoded(record, first & second)
    }

    fn prepare(
        &self,
        seed: Seed,
        database: ByteMatrix,
        progress: &dyn Progress,
    ) -> Result<StoredLevels> {
        self.over(seed, FirstLevel::new(seed, database), progress)
    }

    fn database(stored: &StoredLevels) -> &ByteMatrix {
        &stored.first.database
    }

    /// Returns the rows of H, which are the masks of the first hint's digits.
    fn hint(&self, _seed: Seed, stored: &StoredLevels) -> impl Fn(usize) -> Vec<u32> + Sync {
        let n = self.second.n();
        move |row| stored.second.masks[row * n..][..n].to_vec()
    }

    /// Runs the two levels of DoublePIR.
    fn select(&self, stored: &StoredLevels, queries: &[&[Vec<u32>]]) -> Vec<Selected> {
        let [columns, units] = [0, 1].map(|part| {
            queries
                .iter()
                .map(|parts| &parts[part][..])
                .collect::<Vec<_>>()
        });

        let firsts = stored.first.answers(&columns, self.first_bits);
        let seconds = stored
            .second
            .answers(&self.second, &units, self.budget.query_bits, &firsts);
        seconds
            .into_iter()
            .map(|answer| self.selected(answer))
            .collect()
    }

    /// Returns the work of an update's hint products. All rows of H depend on each unit.
    fn change_cost(&self, changes: &[Change]) -> Counts {
        let layout = &self.layout;
        let units = self.layout.changed_units(changes);
        let [(rows, columns), (digits, digit_columns)] = self.sides();
        let changed = if from_scratch(layout, units) {
            rows
        } else {
            units * layout.unit_layout.unit_bytes
        };

        hint_product(changed, columns).and(hint_product(digits, digit_columns))
    }

    fn change(
        &self,
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
            return Ok(Some(Changed {
                stored: self.over(seed, first, progress)?,
                rows: None,
            }));
        }

        progress.stage("update", units.len() as u64);
        let hint = first.hint_rows(&self.first, layout, &units);
        let lwe = (&self.second, &second_masks(seed));
        let second = stored
            .second
            .change(lwe, layout, (&units, &hint), progress)?;

        Ok(Some(Changed {
            stored: StoredLevels { first, second },
            rows: None,
        }))
    }

    fn save(&self, stored: &StoredLevels, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(DATABASE, &[stored.first.database.tiles()])?;
        sink.put(DIGITS, &[stored.second.digits.tiles()])?;
        sink.put(MASKS, &[stored.second.masks.bytes()])
    }

    fn load(&self, seed: Seed, source: &dyn SectionSource) -> Result<StoredLevels> {
        let [(rows, columns), (digits, units)] = self.sides();
        let database = load_matrix(source, DATABASE, rows, columns)?;
        let digits = load_matrix(source, DIGITS, digits, units)?;
        let masks = BlobSlice::new(source.get(MASKS)?, MASKS)?;

        let products = MaskProducts::new(&self.second, &second_masks(seed), units, CENTRE);
        let second = SecondLevel::from_parts(&self.second, &self.layout, digits, products, masks)?;
        Ok(StoredLevels {
            first: FirstLevel::new(seed, database),
            second,
        })
    }
}
