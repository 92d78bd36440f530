//! Parameters of ZipPIR on DoublePIR: DoublePIR's matrix for a shape, the client's modulus, slots, rounding.

use std::marker::PhantomData;

use papir_core::Choice;
use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Goal, Parameters};
use papir_core::{
    Description, Error, Limits, MAX_RECORDS, Result, Security, Shape, Sizes, UpdateCost, envelope,
};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_u8::ROWS;
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{LOG2_Q, LweParams, MODULE_SIGMA, N, SIGMA, matrix_bytes};

use super::noise::{self, Budget, LOG2_DELTA};
use crate::double::digits::{BODY, DIGIT_BITS};
use crate::double::layout::{Layout, MAX_RECORD_BITS, MAX_SIDE, units_of};
use crate::double::noise::coefficients;
use crate::double::second::digit_rows;
use crate::shared::parameter_errors::unfit;
use crate::shared::shapes::{SHAPE_BYTES, read_shape, write_shape};
use crate::zip::compression::params::{DIGEST_BYTES, SEED_BYTES, cheapest};
use crate::zip::compression::{Compressed, Compression, Strength};

/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = SHAPE_BYTES + 8 + 4;

/// Parameters of [`ZipDouble`](super::ZipDouble).
#[derive(Clone, Debug)]
pub struct ZipDoubleParams<T> {
    shape: Shape,
    pub(super) layout: Layout,
    pub(super) budget: Budget,
    /// The first level's encryption.
    pub(super) lwe: LweParams,
    /// The second level's, and how its hint is compressed.
    pub(super) compression: Compression,
    strength: PhantomData<fn() -> T>,
}

impl<T: Strength> Compressed for ZipDoubleParams<T> {
    fn compression(&self) -> &Compression {
        &self.compression
    }
}

impl<T: Strength> ZipDoubleParams<T> {
    /// The matrix with `units` units in each column; a unit is as many records as fit the bytes of one.
    /// `key_bits` bits of the second key share one number of a query.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for records above [`MAX_RECORD_BITS`] or a matrix that there is not,
    /// [`Error::Parameters`] when units or columns are too many for the noise, or for unfit `key_bits`.
    pub fn new(shape: Shape, units: u64, key_bits: usize) -> Result<Self> {
        let layout = Layout::new(&shape, units)?;
        let scheme = T::ZIP_DOUBLE.0;
        let compression = Compression::new::<T>(scheme, digit_rows(&layout), key_bits, DIGIT_BITS)?;
        let budget = noise::budget(&layout, compression.n()).ok_or_else(|| {
            let Layout { columns, units, .. } = layout;
            let reason =
                format!("the noise of {columns} columns of {units} units exceeds the decoding limit");
            Error::Parameters { scheme, reason }
        })?;
        let lwe = LweParams::new().map_err(unfit(scheme))?;
        Ok(Self { shape, layout, budget, lwe, compression, strength: PhantomData })
    }

    /// As [`Self::new`], by the number of columns: so many, or the next fewer that whole units give.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_columns(shape: Shape, columns: u64, key_bits: usize) -> Result<Self> {
        Self::new(shape, units_of(&shape)?.0.div_ceil(columns.max(1)), key_bits)
    }

    /// The best for a goal, with so many bits of the second key in one number of a query, or as many as suit.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn choose_packed(shape: Shape, goal: Goal, key_bits: Option<usize>) -> Result<Self> {
        let (all, _) = units_of(&shape)?;
        let (least, most) = (all.div_ceil(MAX_SIDE), all.min(MAX_SIDE));
        if least > most {
            let reason = format!("{all} units: at most {MAX_SIDE} columns of as many");
            return Err(Error::Parameters { scheme: T::ZIP_DOUBLE.0, reason });
        }
        let any = Self::new(shape, most, key_bits.unwrap_or(1))?;
        let compression = |bits| Compression::new::<T>(T::ZIP_DOUBLE.0, 0, bits, DIGIT_BITS);
        let cost = |height, compression: &Compression| {
            let candidate = any.with(Layout::new(&shape, height)?, compression);
            Ok(candidate.map_or(f64::INFINITY, |params| params.cost(goal)))
        };
        let (height, key_bits) = cheapest(least..=most, key_bits, compression, cost)?;
        Self::new(shape, height, key_bits)
    }

    pub(super) fn query_bytes(&self) -> usize {
        let first = packed_len(self.layout.columns, self.budget.first_bits);
        let second = packed_len(self.layout.units, self.budget.second_bits);
        self.compression.masked_key_bytes() + first + second
    }

    /// Bytes of the first answer's ciphertexts.
    pub(super) fn online_bytes(&self) -> usize {
        2 * BODY.count * self.layout.unit_bytes * (self.compression.n() + 1)
    }

    fn answer_bytes(&self) -> usize {
        self.online_bytes() + self.compression.joined_bytes()
    }

    /// Rows and columns of both levels' matrices.
    fn matrices(&self) -> [(usize, usize); 2] {
        [(self.layout.rows(), self.layout.columns), (digit_rows(&self.layout), self.layout.units)]
    }

    fn sizes(&self) -> Sizes {
        let (compression, sealed) =
            (&self.compression, |payload: usize| (payload + envelope::OVERHEAD) as u64);
        let [database, digits] = self.matrices().map(|(rows, columns)| matrix_bytes(rows, columns));
        let masks = 4 * compression.n() * compression.rows;
        Sizes {
            public: sealed(8 + ENCODED_BYTES + SEED_BYTES + DIGEST_BYTES),
            keys: sealed(compression.keys_bytes()),
            ticket: compression.ticket_bytes() as u64,
            query: sealed(self.query_bytes()),
            query_keys: compression.offsets_bytes() as u64,
            answer: sealed(self.answer_bytes()),
            database,
            material: digits + (masks + compression.material_bytes()) as u64,
            ..Sizes::default()
        }
    }

    /// What the verbs do, Paillier's part of client and tickets left out: that is done ahead.
    fn work(&self) -> Work {
        let Layout { columns, units, unit_bytes, .. } = self.layout;
        let matrices = self.matrices();
        let [database, digits] =
            matrices.map(|(rows, columns)| (matrix_bytes(rows, columns) as f64, rows.div_ceil(ROWS)));
        let [first, second] = matrices.map(|(rows, columns)| transformed_bytes(rows, columns) as f64);
        let online = BODY.count * unit_bytes;
        let words = 2 * columns + (2 + online) * units + coefficients(&self.layout);
        Work {
            setup: Counts::new()
                .with(Operation::Encode8, database.0, 1)
                .with(Operation::HintProduct8, first, database.1)
                .with(Operation::HintProduct8, second, digits.1),
            query: Counts::new().with(Operation::EncryptColumn, (columns + units) as f64, 1),
            answer: Counts::new()
                .with(Operation::Select8, database.0, database.1)
                .with(Operation::Select8, digits.0, digits.1)
                .with(Operation::HintProduct8, transformed_bytes(online, units) as f64, online)
                .with(Operation::Matrix, self.compression.residue_bytes() as f64, digits.1)
                .with(Operation::Word, words as f64, 1),
            extract: Counts::new().with(Operation::DecryptRow, coefficients(&self.layout) as f64, 1),
        }
    }

    /// What they cost under a goal, in bytes sent or touched.
    fn cost(&self, goal: Goal) -> f64 {
        let sent = (self.query_bytes() + self.answer_bytes()) as f64;
        let matrices: u64 = self.matrices().map(|(rows, columns)| matrix_bytes(rows, columns)).iter().sum();
        let read = (matrices + self.compression.residue_bytes() as u64) as f64;
        self.compression.cost(goal, sent, read)
    }

    /// The same parameters for another matrix and packing; `None` where its noise is too much.
    fn with(&self, layout: Layout, compression: &Compression) -> Option<Self> {
        let compression = compression.clone().with_rows(digit_rows(&layout));
        let budget = noise::budget(&layout, compression.n())?;
        Some(Self { layout, budget, compression, ..self.clone() })
    }
}

impl<T: Strength> Parameters for ZipDoubleParams<T> {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        Self::choose_packed(shape, goal, None)
    }

    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            Choice::Registered { goal, key_bits, .. } => Self::choose_packed(shape, goal, key_bits),
            Choice::Columns(columns) => Self::with_columns(shape, columns, 1),
            other => Err(other.refused_by(T::ZIP_DOUBLE.0)),
        }
    }

    fn label(&self) -> String {
        let Layout { columns, units, .. } = self.layout;
        format!("{units} units, {columns} columns, {} key bits", self.compression.key_bits)
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        // The first level's encryption is another one.
        let (first, compression) = (self.lwe.security(), self.compression.security());
        let weaker = Security { bits: first.matzov, source: first.set };
        let security = compression.map(|one| if one.bits <= weaker.bits { one } else { weaker });
        let Self { layout, budget, .. } = self;
        Description {
            scheme: T::ZIP_DOUBLE.0,
            privacy: T::PRIVACY,
            shape: self.shape,
            sizes: self.sizes(),
            security,
            failure_log2: budget.failure_log2,
            limits: Limits {
                records: MAX_RECORDS,
                record_bits: MAX_RECORD_BITS,
                batch: 1,
                client_keys: true,
                tickets: true,
                owner_key: false,
                update: UpdateCost::PerRecord,
            },
            parameters: [
                ("n of the first level", N.to_string()),
                ("log2 q", LOG2_Q.to_string()),
                ("log2 delta of the second level", LOG2_DELTA.to_string()),
                ("sigma", format!("{SIGMA} and {MODULE_SIGMA}")),
                ("unit bytes", layout.unit_bytes.to_string()),
                ("columns", layout.columns.to_string()),
                ("units of a column", layout.units.to_string()),
                ("query bits", format!("{} and {}", budget.first_bits, budget.second_bits)),
            ]
            .into_iter()
            .chain(self.compression.describe())
            .collect(),
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape);
        writer.u64(self.layout.units as u64).u32(self.compression.key_bits as u32);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("zipdouble's parameters", bytes);
        let (shape, units, key_bits) = (read_shape(&mut reader)?, reader.u64()?, reader.u32()?);
        reader.finish()?;
        Self::new(shape, units, key_bits as usize)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::zip::compression::Full;

    fn described(records: u64, bits: u64, goal: Goal) -> Description {
        ZipDoubleParams::<Full>::choose(Shape::new(records, bits).unwrap(), goal).unwrap().describe()
    }

    #[test]
    fn choices_fit_their_goals() {
        for (records, bits) in [(1 << 30, 8), (1_000_003, 16), (1 << 20, 1), (99_991, 64)] {
            let [least, balanced, fast] = Goal::ALL.map(|goal| described(records, bits, goal));
            let traffic = |one: &Description| one.sizes.query + one.sizes.answer;
            assert!(traffic(&least) <= traffic(&balanced) + 1000 && traffic(&least) <= traffic(&fast) + 1000);
        }
    }

    #[test]
    fn parameters_survive_their_bytes() {
        let params =
            ZipDoubleParams::<Full>::choose(Shape::new(12_345, 13).unwrap(), Goal::Balanced).unwrap();
        let again = ZipDoubleParams::<Full>::decode(&params.encode()).unwrap();
        assert_eq!((again.describe(), params.encode().len()), (params.describe(), ENCODED_BYTES));
    }

    #[test]
    fn tickets_do_not_grow_with_the_records() {
        let of =
            |records: u64| ZipDoubleParams::<Full>::new(Shape::of_bytes(records, 1).unwrap(), 1 << 10, 4);
        let [small, large] = [1 << 20, 1 << 28].map(|records| of(records).unwrap().describe().sizes);
        assert!(small.ticket == large.ticket && small.answer == large.answer && small.query < large.query);
    }

    #[test]
    fn extremes_are_taken_or_refused_with_a_reason() {
        for (records, bits) in [(1 << 38, 1), (1, 1), (1 << 30, 64)] {
            let description = described(records, bits, Goal::Balanced);
            assert!(description.failure_log2 <= -40.0, "{records} × {bits}: {}", description.failure_log2);
            assert!(description.security.unwrap().bits >= 128.0);
        }
        for (records, bits) in [(9, 65), (1 << 40, 8)] {
            assert!(
                ZipDoubleParams::<Full>::choose(Shape::new(records, bits).unwrap(), Goal::Balanced).is_err()
            );
        }
    }
}
