//! Parameters of a packed DoublePIR.

use std::marker::PhantomData;

use papir_core::Choice;
use papir_core::certificate::FailureCertificate;
use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Goal, Parameters, Target};
use papir_core::{
    Description, Error, FailureBound, Privacy, Result, Security, Shape, Sizes, UpdateCost,
};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_u8::ROWS;
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{LOG2_Q, LweParams, N, SIGMA, matrix_bytes};

use super::certificate;
use super::literal::{
    self, DigitShape, Frame, Literal, failure_log2, fewest_bits, first_bound, selection,
};
use crate::double::noise::FIRST;
use crate::double::params::{MAX_RECORD_BITS, layout_of, units_of};
use crate::shared::byte_matrix::Layout;
use crate::shared::messages::{SEED_BYTES, read_failure, read_shape, write_failure, write_shape};
use crate::shared::parameters::{one_record, refused, sealed, sealed_public, security, unfit};
use crate::shared::selection::{PackedVariant, SelectionBits, SelectionParams, Selects};

/// Parameters of [`super::PackedDouble`].
#[derive(Clone, Debug)]
pub struct Params<V: PackedVariant> {
    pub(super) literal: Literal,
    pub(super) layout: Layout,
    pub(super) lwe: LweParams,
    /// Largest distance from a multiple of Δ = 2²⁴ that decoding accepts at the first level.
    pub(super) first_bound: u32,
    pub(super) selection: SelectionParams<V>,
    variant: PhantomData<V>,
}

impl<V: PackedVariant> Params<V> {
    /// Checks a literal: security from the table, failure probability from the noise.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for an invalid layout or number of bits, [`Error::Insecure`],
    /// [`Error::Parameters`] if the values do not fit together or do not decode.
    pub fn new(literal: Literal) -> Result<Self> {
        let Literal {
            shape,
            units,
            digits,
            capacity,
            first_bits,
            bits,
            ..
        } = literal;
        let frame = literal.frame();

        let layout = layout_of(&shape, units)?;
        // Checked before the bounds, which subtract these bits from the 32 of a word.
        check_digits::<V>(digits, capacity)?;
        if !(1..=LOG2_Q).contains(&first_bits) {
            let what = "the bits of a first query's word";
            return Err(Error::out_of_bounds(what, first_bits.into(), "1 to 32"));
        }

        let Some(first_bound) = first_bound(&layout, &frame, first_bits) else {
            let noise = format!(
                "the noise of {} columns in {first_bits} bits",
                layout.columns
            );
            return Err(refused(V::DOUBLE.name)(format!(
                "{noise} exceeds the limit"
            )));
        };
        let selection =
            SelectionParams::new(V::DOUBLE.name, selection::<V>(&layout, &frame), bits)?;
        let lwe = LweParams::new().map_err(unfit(V::DOUBLE.name))?;

        Ok(Self {
            literal,
            layout,
            lwe,
            first_bound,
            selection,
            variant: PhantomData,
        })
    }

    /// Chooses the best parameters with at most `columns` columns. Every column but the last has
    /// the same whole number of units.
    ///
    /// # Errors
    /// The errors of [`Params::new`].
    pub fn with_columns(shape: Shape, columns: u64) -> Result<Self> {
        Self::with_units(shape, units_of(&shape)?.units().div_ceil(columns.max(1)))
    }

    /// Chooses the best parameters with `units` units in each column.
    ///
    /// # Errors
    /// The errors of [`Params::new`].
    pub fn with_units(shape: Shape, units: u64) -> Result<Self> {
        Self::new(literal::best::<V>(shape, &[units], Goal::Balanced.into())?)
    }

    /// Chooses the parameters with the smallest messages for a layout, digits and a capacity.
    ///
    /// # Errors
    /// The errors of [`Params::new`].
    pub fn with_digits(
        shape: Shape,
        units: u64,
        digits: DigitShape,
        capacity: usize,
    ) -> Result<Self> {
        check_digits::<V>(digits, capacity)?;
        let frame = Frame {
            digits,
            capacity,
            failure: FailureBound::DEFAULT,
        };

        match fewest_bits::<V>(shape, units, frame)? {
            Some(literal) => Self::new(literal),
            None => Err(refused(V::DOUBLE.name)(format!(
                "{digits:?} in packs of {capacity} do not decode"
            ))),
        }
    }

    /// Returns the values of the parameters.
    pub fn literal(&self) -> &Literal {
        &self.literal
    }

    /// Returns the number of bytes of a query's payload.
    pub(super) fn query_bytes(&self) -> usize {
        let first = packed_len(self.layout.columns, self.literal.first_bits);
        first + self.selection.query_parts().iter().sum::<usize>()
    }

    fn sizes(&self) -> Sizes {
        let masks = self.selection.public_masks_bytes();
        let unit_layout = &self.layout.unit_layout;

        Sizes {
            public: sealed_public(self.encode().len(), SEED_BYTES + masks),
            hint: masks as u64,
            query_keys: self.selection.query_parts()[1] as u64,
            query: sealed(self.query_bytes()),
            answer: sealed(self.selection.answer_parts().iter().sum()),
            database: matrix_bytes(self.layout.rows, self.layout.columns),
            material: self.selection.matrix_bytes() + self.selection.packs_bytes(),
            seen: unit_layout.seen(unit_layout.unit_bytes as u64, masks as u64),
            ..Sizes::default()
        }
    }

    /// Returns the work of each operation.
    fn work(&self) -> Work {
        let Layout { rows, columns, .. } = self.layout;
        let database = matrix_bytes(rows, columns) as f64;
        let groups = rows.div_ceil(ROWS);
        let selection = &self.selection.counts;
        let hint = transformed_bytes(rows, columns) as f64;
        let words = (2 * columns + selection.singles * selection.columns) as f64;

        let setup = Counts::new().with(Operation::Encode8, database, 1);
        let first = Counts::new().with(Operation::Select8, database, groups);
        let query = Counts::new().with(Operation::EncryptColumn, columns as f64, 1);
        let extract = Counts::new().with(Operation::Decrypt, selection.packs() as f64, 1);

        Work {
            setup: self
                .selection
                .count_setup(setup.with(Operation::HintProduct8, hint, groups)),
            query: query.with(Operation::Encrypt, self.selection.encryptions() as f64, 1),
            answer: self
                .selection
                .count_answer(first.with(Operation::Word, words, 1)),
            extract: extract.with(
                Operation::DecryptRow,
                self.layout.unit_layout.unit_bytes as f64,
                1,
            ),
        }
    }

    /// Returns the parameters as pairs of name and value.
    fn values(&self) -> Vec<(&'static str, String)> {
        let Self {
            layout, literal, ..
        } = self;
        let digits = literal.digits;
        let dropped = digits.of_mask().dropped_bits();
        let first = FIRST.deviation(layout.columns, LOG2_Q - literal.first_bits, dropped);

        let mut values = vec![
            ("n", N.to_string()),
            ("log2 q of the first level", LOG2_Q.to_string()),
            ("sigma of the first level", SIGMA.to_string()),
            ("p of the first level", "256".to_owned()),
            ("unit bytes", layout.unit_layout.unit_bytes.to_string()),
            ("columns", layout.columns.to_string()),
            ("units of a column", layout.units.to_string()),
            (
                "digits of a mask and of a body",
                format!("{} and {}", digits.mask, digits.body),
            ),
            ("first query bits", literal.first_bits.to_string()),
            (
                "log2 noise of the first level",
                format!("{:.2}", first.log2()),
            ),
        ];

        values.extend(self.selection.values());
        values
    }

    /// Returns the lower of both levels' security estimates.
    fn security(&self) -> Option<Security> {
        // Each level hides a part of the index, so the weaker one counts.
        let rows = [Some(self.lwe.security()), self.selection.rlwe().security()]
            .into_iter()
            .flatten();

        rows.min_by(|a, b| a.matzov.total_cmp(&b.matzov))
            .map(security)
    }
}

/// Checks digits and the capacity of packs.
fn check_digits<V: PackedVariant>(digits: DigitShape, capacity: usize) -> Result<()> {
    if digits.fits() && capacity.is_power_of_two() {
        return Ok(());
    }
    let reason =
        format!("{digits:?} in packs of {capacity}: expected at most 16 bits, a power of two");
    Err(refused(V::DOUBLE.name)(reason))
}

impl<V: PackedVariant> Selects for Params<V> {
    type Variant = V;

    fn selection(&self) -> &SelectionParams<V> {
        &self.selection
    }
}

impl<V: PackedVariant> Parameters for Params<V> {
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        Self::new(literal::best::<V>(
            shape,
            &literal::units(&shape)?,
            target.into(),
        )?)
    }

    fn with_fixed(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Columns(columns) => Self::with_columns(shape, columns),
            other => Err(other.refused_by(V::DOUBLE.name)),
        }
    }

    fn label(&self) -> String {
        let Literal {
            units,
            digits,
            capacity,
            ..
        } = self.literal;
        let columns = self.layout.columns;
        format!(
            "{units} units, {columns} columns, digits of {} bits, packs of {capacity}",
            digits.bits
        )
    }

    fn shape(&self) -> Shape {
        self.literal.shape
    }

    fn describe(&self) -> Description {
        Description {
            scheme: V::DOUBLE.name,
            privacy: Privacy::Private,
            shape: self.literal.shape,
            sizes: self.sizes(),
            security: self.security(),
            failure_log2: failure_log2(&self.selection.counts),
            failure_bound: self.literal.failure,
            limits: one_record(MAX_RECORD_BITS, UpdateCost::PerPack),
            parameters: self.values(),
            work: self.work(),
        }
    }

    fn certificate(&self) -> Result<FailureCertificate> {
        certificate::of(
            &self.describe(),
            &self.literal,
            &self.layout,
            &self.lwe,
            self.first_bound,
            &self.selection,
        )
    }

    fn encode(&self) -> Vec<u8> {
        let Literal {
            shape,
            units,
            digits,
            capacity,
            first_bits,
            bits,
            failure,
        } = self.literal;

        let mut writer = Writer::new();
        write_shape(&mut writer, shape);
        writer
            .u64(units)
            .u8(digits.bits as u8)
            .u8(digits.mask as u8)
            .u8(digits.body as u8);
        writer.u32(capacity as u32).u8(first_bits as u8);

        bits.write(&mut writer, V::MASKS);
        write_failure(&mut writer, failure);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("parameters of two levels", bytes);
        let shape = read_shape(&mut reader)?;
        let units = reader.u64()?;
        let [bits, mask, body] = reader.array::<3>()?;
        let digits = DigitShape {
            bits: bits.into(),
            mask: mask.into(),
            body: body.into(),
        };

        let capacity = reader.u32()? as usize;
        let first_bits = reader.u8()?.into();
        let bits = SelectionBits::read(&mut reader, V::MASKS)?;
        // Last, and read to the end: the default bound has no byte.
        let failure = read_failure(&mut reader)?;

        Self::new(Literal {
            shape,
            units,
            digits,
            capacity,
            first_bits,
            bits,
            failure,
        })
    }
}
