//! Parameters of a packed DoublePIR: the matrix for a shape, the digits, both levels' bits.

use std::marker::PhantomData;

use papir_core::Choice;
use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Goal, Parameters, Scheme};
use papir_core::{
    Description, Error, Limits, MAX_RECORDS, Result, Security, Shape, Sizes, UpdateCost, envelope,
};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_u8::ROWS;
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{LOG2_Q, LweParams, N, SIGMA, matrix_bytes};

use super::digits::DigitShape;
use super::{PackedDouble, Variant, noise, search};
use crate::double::layout::{Layout, MAX_RECORD_BITS, units_of};
use crate::double::noise::FIRST;
use crate::shared::selection::params::{BITS_BYTES, insecure};
use crate::shared::selection::{SelectionBits, SelectionParams};
use crate::shared::shapes::{SHAPE_BYTES, read_shape, write_shape};

/// Bytes of the seed of all masks.
const SEED_BYTES: usize = 32;
/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = SHAPE_BYTES + 8 + 3 + 4 + 1 + BITS_BYTES;

/// Unchecked values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Records and their length.
    pub shape: Shape,
    /// Units of a column of D: columns of the second level.
    pub units: u64,
    /// How words become digits.
    pub digits: DigitShape,
    /// LWE encryptions in a pack.
    pub capacity: usize,
    /// Bits that a word of the first level's query is sent in.
    pub first_bits: u32,
    /// The second level's bits.
    pub bits: SelectionBits,
}

/// Parameters of [`PackedDouble`].
#[derive(Clone, Debug)]
pub struct Params<V: Variant> {
    literal: Literal,
    pub(super) layout: Layout,
    pub(super) lwe: LweParams,
    first_bound: u32,
    selection: SelectionParams<V::Family>,
    variant: PhantomData<V>,
}

impl<V: Variant> Params<V> {
    /// Checks a literal: security from the table, failure probability from the noise.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for a layout or bits that there are not, [`Error::Insecure`],
    /// [`Error::Parameters`] when the values do not fit together or do not decode.
    pub fn new(literal: Literal) -> Result<Self> {
        let Literal { shape, units, digits, capacity, first_bits, bits } = literal;
        let layout = Layout::new(&shape, units)?;
        let unfit = |reason: String| Error::Parameters { scheme: V::NAME, reason };
        if !digits.fits() {
            return Err(unfit(format!("{digits:?}")));
        }
        if !(1..=LOG2_Q).contains(&first_bits) {
            return Err(Error::out_of_bounds(
                "the bits of a first query's word",
                first_bits.into(),
                "1 to 32",
            ));
        }
        if !capacity.is_power_of_two() {
            return Err(unfit(format!("packs of {capacity}: expected a power of two")));
        }
        let first_bound = noise::first_bound(&layout, digits, first_bits).ok_or_else(|| {
            unfit(format!("the noise of {} columns in {first_bits} bits exceeds the limit", layout.columns))
        })?;
        let selection = SelectionParams::new(V::NAME, noise::selection(&layout, digits, capacity), bits)?;
        let lwe = LweParams::new().map_err(|error| insecure(V::NAME, error))?;
        Ok(Self { literal, layout, lwe, first_bound, selection, variant: PhantomData })
    }

    /// The best parameters with as many columns as asked for, or the next fewer that whole units give.
    ///
    /// # Errors
    /// As [`Params::new`].
    pub fn with_columns(shape: Shape, columns: u64) -> Result<Self> {
        Self::with_units(shape, units_of(&shape)?.0.div_ceil(columns.max(1)))
    }

    /// The best parameters with so many units in each column.
    ///
    /// # Errors
    /// As [`Params::new`].
    pub fn with_units(shape: Shape, units: u64) -> Result<Self> {
        Self::new(search::best::<V>(shape, &[units], Goal::Balanced)?)
    }

    /// The smallest messages for a layout, digits and a capacity.
    ///
    /// # Errors
    /// As [`Params::new`].
    pub fn with_digits(shape: Shape, units: u64, digits: DigitShape, capacity: usize) -> Result<Self> {
        let unfit = |reason: String| Error::Parameters { scheme: V::NAME, reason };
        if !digits.fits() || !capacity.is_power_of_two() {
            return Err(unfit(format!("{digits:?} in packs of {capacity}")));
        }
        let literal = search::literal::<V>(shape, units, digits, capacity)?;
        Self::new(literal.ok_or_else(|| unfit(format!("{digits:?} in packs of {capacity} do not decode")))?)
    }

    /// The values.
    pub fn literal(&self) -> &Literal {
        &self.literal
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn lwe(&self) -> &LweParams {
        &self.lwe
    }

    /// How words become digits.
    pub fn digits(&self) -> DigitShape {
        self.literal.digits
    }

    /// Bits of a word of the first level's query.
    pub fn first_bits(&self) -> u32 {
        self.literal.first_bits
    }

    /// The largest distance from a multiple of Δ = 2²⁴ that decoding accepts at the first level.
    pub fn first_bound(&self) -> u32 {
        self.first_bound
    }

    /// The second level.
    pub fn selection(&self) -> &SelectionParams<V::Family> {
        &self.selection
    }

    /// Bytes of a query's payload.
    pub fn query_bytes(&self) -> usize {
        packed_len(self.layout.columns, self.first_bits())
            + self.selection.query_parts().iter().sum::<usize>()
    }

    /// Bytes of an answer's payload.
    pub fn answer_bytes(&self) -> usize {
        self.selection.answer_parts().iter().sum()
    }

    fn sizes(&self) -> Sizes {
        let sealed = |payload: usize| (payload + envelope::OVERHEAD) as u64;
        Sizes {
            public: sealed(8 + ENCODED_BYTES + SEED_BYTES),
            query_keys: self.selection.query_parts()[1] as u64,
            query: sealed(self.query_bytes()),
            answer: sealed(self.answer_bytes()),
            database: matrix_bytes(self.layout.rows(), self.layout.columns),
            material: (self.selection.matrix_bytes() + self.selection.packs_bytes()) as u64,
            ..Sizes::default()
        }
    }

    /// What the verbs do.
    fn work(&self) -> Work {
        let Layout { columns, unit_bytes, .. } = self.layout;
        let rows = self.layout.rows();
        let (database, groups) = (matrix_bytes(rows, columns) as f64, rows.div_ceil(ROWS));
        let selection = self.selection.selection();
        let hint = Counts::new().with(Operation::Encode8, database, 1).with(
            Operation::HintProduct8,
            transformed_bytes(rows, columns) as f64,
            groups,
        );
        let first = Counts::new().with(Operation::Select8, database, groups).with(
            Operation::Word,
            (2 * columns + selection.singles * selection.columns) as f64,
            1,
        );
        Work {
            setup: self.selection.count_setup(hint),
            query: Counts::new().with(Operation::EncryptColumn, columns as f64, 1).with(
                Operation::Encrypt,
                self.selection.encryptions() as f64,
                1,
            ),
            answer: self.selection.count_answer(first),
            extract: Counts::new().with(Operation::Decrypt, selection.packs() as f64, 1).with(
                Operation::DecryptRow,
                unit_bytes as f64,
                1,
            ),
        }
    }

    /// The parameters by name.
    fn values(&self) -> Vec<(&'static str, String)> {
        let Self { layout, literal, .. } = self;
        let digits = literal.digits;
        let dropped = digits.of_mask().dropped_bits();
        let first = FIRST.deviation(layout.columns, LOG2_Q - literal.first_bits, dropped);
        let mut values = vec![
            ("n", N.to_string()),
            ("log2 q of the first level", LOG2_Q.to_string()),
            ("sigma of the first level", SIGMA.to_string()),
            ("p of the first level", "256".to_owned()),
            ("unit bytes", layout.unit_bytes.to_string()),
            ("columns", layout.columns.to_string()),
            ("units of a column", layout.units.to_string()),
            ("digits of a mask and of a body", format!("{} and {}", digits.mask, digits.body)),
            ("first query bits", literal.first_bits.to_string()),
            ("log2 noise of the first level", format!("{:.2}", first.log2())),
        ];
        values.extend(self.selection.values());
        values
    }

    /// The lower of both levels' estimates.
    fn security(&self) -> Option<Security> {
        let rows = [Some(self.lwe.security()), self.selection.security()].into_iter().flatten();
        let lowest = rows.min_by(|a, b| a.matzov.total_cmp(&b.matzov));
        lowest.map(|row| Security { bits: row.matzov, source: row.set })
    }
}

impl<V: Variant> Parameters for Params<V> {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        Self::new(search::best::<V>(shape, &search::units(&shape)?, goal)?)
    }

    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            Choice::Columns(columns) => Self::with_columns(shape, columns),
            other => Err(other.refused_by(V::NAME)),
        }
    }

    fn label(&self) -> String {
        let Literal { units, digits, capacity, .. } = self.literal;
        let columns = self.layout.columns;
        format!("{units} units, {columns} columns, digits of {} bits, packs of {capacity}", digits.bits)
    }

    fn shape(&self) -> Shape {
        self.literal.shape
    }

    fn describe(&self) -> Description {
        Description {
            scheme: V::NAME,
            privacy: PackedDouble::<V>::PRIVACY,
            shape: self.literal.shape,
            sizes: self.sizes(),
            security: self.security(),
            failure_log2: noise::failure_log2(&self.layout, self.selection.selection()),
            limits: Limits {
                records: MAX_RECORDS,
                record_bits: MAX_RECORD_BITS,
                batch: 1,
                client_keys: false,
                tickets: false,
                owner_key: false,
                update: UpdateCost::PerPack,
            },
            parameters: self.values(),
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let Literal { shape, units, digits, capacity, first_bits, bits } = self.literal;
        let mut writer = Writer::new();
        write_shape(&mut writer, shape);
        writer.u64(units).u8(digits.bits as u8).u8(digits.mask as u8).u8(digits.body as u8);
        writer.u32(capacity as u32).u8(first_bits as u8);
        bits.write(&mut writer);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("parameters of two levels", bytes);
        let (shape, units) = (read_shape(&mut reader)?, reader.u64()?);
        let [bits, mask, body] = reader.array::<3>()?;
        let digits = DigitShape { bits: bits.into(), mask: mask.into(), body: body.into() };
        let (capacity, first_bits) = (reader.u32()? as usize, reader.u8()?.into());
        let bits = SelectionBits::read(&mut reader)?;
        reader.finish()?;
        Self::new(Literal { shape, units, digits, capacity, first_bits, bits })
    }
}
