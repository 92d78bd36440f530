//! Parameters of DoublePIR: matrix, LWE set and message bits.
//!
//! A *unit* holds all records that fit into the bytes of one record: eight records of 1 bit in a
//! byte, one record of 13 bits in two bytes. A unit of B bytes takes B neighbouring rows of D.

use papir_core::Choice;
use papir_core::certificate::FailureCertificate;
use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Goal, Parameters, Target};
use papir_core::{Description, Error, FailureBound, Privacy, Result, Shape, Sizes, UpdateCost};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_u8::ROWS;
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{LOG2_Q, LweParams, N, SIGMA, matrix_bytes};

use super::certificate;
use super::levels::{BODY, DIGIT_BITS, MASK, coefficients, digit_rows};
use super::noise::{self, Bits, Bounds, FIRST, SECOND};
use crate::shared::byte_matrix::{Layout, Limits};
use crate::shared::messages::{
    SEED_BYTES, read_bytes, read_failure, read_shape, write_bytes, write_failure, write_shape,
};
use crate::shared::parameters::{
    best, heights_near, one_record, refused, sealed, sealed_public, security, unfit,
};
use crate::shared::units::Units;

/// The scheme's name.
pub(super) const NAME: &str = "double";
/// Largest length of a record in bits. Hint and answer grow with each byte of a record; beyond this
/// length the hint of SimplePIR is smaller.
pub const MAX_RECORD_BITS: u64 = 64;
/// Largest number of columns, and of units in a column. Both levels decode up to this size
/// (`super::noise`).
pub(crate) const MAX_SIDE: u64 = 1 << 18;

/// DoublePIR.
pub struct Double;

/// Parameters of [`Double`].
#[derive(Clone, Debug)]
pub struct DoubleParams {
    pub(super) layout: Layout,
    pub(super) bits: Bits,
    pub(super) failure: FailureBound,
    pub(super) bounds: Bounds,
    pub(super) lwe: LweParams,
}

/// Divides the records of a database into units. Records above [`MAX_RECORD_BITS`] give
/// [`Error::OutOfBounds`].
pub(crate) fn units_of(shape: &Shape) -> Result<Units> {
    let bits = shape.record_bits();
    if bits > MAX_RECORD_BITS {
        let expected = format!("at most {MAX_RECORD_BITS}");
        return Err(Error::out_of_bounds(
            "the record length in bits",
            bits,
            expected,
        ));
    }

    let bytes = bits.div_ceil(8);
    Ok(Units {
        shape: *shape,
        unit_bytes: bytes as usize,
        stored_bits: bits,
        per_unit: 8 * bytes / bits,
    })
}

/// Returns the layout of the matrix with `units` units in each column. It gives
/// [`Error::OutOfBounds`] for too many columns or units, and for no unit in a column.
pub(crate) fn layout_of(shape: &Shape, units: u64) -> Result<Layout> {
    Layout::new(
        units_of(shape)?,
        units,
        &Limits {
            rows: u64::MAX,
            columns: MAX_SIDE,
            units: MAX_SIDE,
        },
    )
}

/// Returns the work of each operation. Both hints and the masks of an answer are products of bytes
/// with masks. An answer reads database and digits. A client encrypts a word for each column and
/// unit, and reads a row of the hint for each digit.
pub(crate) fn work(layout: &Layout) -> Work {
    let Layout {
        rows,
        columns,
        units,
        ..
    } = layout;
    let all = coefficients(layout);

    // Both levels in the same terms: matrix bytes and row groups, and bytes of the products.
    let matrices = [(*rows, *columns), (digit_rows(layout), *units)];
    let [database, digits] =
        matrices.map(|(rows, columns)| (matrix_bytes(rows, columns) as f64, rows.div_ceil(ROWS)));
    let [first, second] = matrices.map(|(rows, columns)| transformed_bytes(rows, columns) as f64);

    let online = BODY.count * layout.unit_layout.unit_bytes;
    let words = 2 * columns + (2 + online) * units + all;

    Work {
        setup: Counts::new()
            .with(Operation::Encode8, database.0, 1)
            .with(Operation::HintProduct8, first, database.1)
            .with(Operation::HintProduct8, second, digits.1),
        query: Counts::new().with(Operation::EncryptColumn, (columns + units) as f64, 1),
        answer: Counts::new()
            .with(Operation::Select8, database.0, database.1)
            .with(Operation::Select8, digits.0, digits.1)
            .with(
                Operation::HintProduct8,
                transformed_bytes(online, *units) as f64,
                online,
            )
            .with(Operation::Word, words as f64, 1),
        extract: Counts::new().with(Operation::DecryptRow, all as f64, 1),
    }
}

impl DoubleParams {
    /// Creates the parameters of the matrix with `units` units in each column, with the fewest
    /// message bits. A unit holds all records that fit into the bytes of one record.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for records above [`MAX_RECORD_BITS`] or for too many units or
    /// columns, [`Error::Parameters`] if the noise is too large.
    pub fn new(shape: Shape, units: u64) -> Result<Self> {
        Self::failing_less(shape, units, FailureBound::DEFAULT)
    }

    /// Creates the parameters of [`Self::new`] within this bound on the failure probability.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn failing_less(shape: Shape, units: u64, failure: FailureBound) -> Result<Self> {
        let layout = layout_of(&shape, units)?;
        let bits = noise::choose(&layout, failure).ok_or_else(|| too_noisy(&layout))?;
        Self::with_bits(layout, bits, failure)
    }

    /// Creates the parameters of [`Self::new`] with at most `columns` columns. Every column but the
    /// last has the same whole number of units.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn with_columns(shape: Shape, columns: u64) -> Result<Self> {
        Self::new(shape, units_of(&shape)?.units().div_ceil(columns.max(1)))
    }

    /// Checks message bits and creates the parameters.
    fn with_bits(layout: Layout, bits: Bits, failure: FailureBound) -> Result<Self> {
        // Before the noise is computed: it subtracts these bits from the 32 of a word.
        for found in [bits.first, bits.second, bits.mask, bits.body] {
            if !(1..=LOG2_Q).contains(&found) {
                return Err(Error::out_of_bounds(
                    "the bits of a word of double",
                    found.into(),
                    "1 to 32",
                ));
            }
        }

        let bounds = noise::bounds(&layout, &bits, failure).ok_or_else(|| too_noisy(&layout))?;

        Ok(Self {
            layout,
            bits,
            failure,
            bounds,
            lwe: LweParams::new().map_err(unfit(NAME))?,
        })
    }

    /// Returns the bytes of a row of the hint, n words. n is a multiple of 8, so rows are whole
    /// bytes.
    pub(super) fn hint_row_bytes(&self) -> usize {
        packed_len(N, self.bits.mask)
    }

    /// Returns the bytes of the hint.
    pub(super) fn hint_bytes(&self) -> usize {
        digit_rows(&self.layout) * self.hint_row_bytes()
    }

    /// Returns the bytes of both parts of a query's payload: of the first level and of the second.
    pub(super) fn query_bytes(&self) -> [usize; 2] {
        let Layout { columns, units, .. } = self.layout;
        [
            packed_len(columns, self.bits.first),
            packed_len(units, self.bits.second),
        ]
    }

    /// Returns the number of words of an answer's masks.
    pub(super) fn answer_masks(&self) -> usize {
        self.layout.unit_layout.unit_bytes * BODY.count * N
    }

    /// Returns the bytes of both parts of an answer's payload: of the masks and of the bodies.
    pub(super) fn answer_bytes(&self) -> [usize; 2] {
        let bodies = packed_len(coefficients(&self.layout), self.bits.body);
        [packed_len(self.answer_masks(), self.bits.mask), bodies]
    }

    fn sizes(&self) -> Sizes {
        let layout = &self.layout;
        let hint = self.hint_bytes();

        Sizes {
            public: sealed_public(self.encode().len(), SEED_BYTES + hint),
            hint: hint as u64,
            query: sealed(self.query_bytes().iter().sum()),
            answer: sealed(self.answer_bytes().iter().sum()),
            database: matrix_bytes(layout.rows, layout.columns),
            // Digits, and all masks in full length: updates add to them, and the hint is rounded.
            material: matrix_bytes(digit_rows(layout), layout.units)
                + (4 * N * digit_rows(layout)) as u64,
            seen: layout
                .unit_layout
                .seen(layout.unit_layout.unit_bytes as u64, hint as u64),
            ..Sizes::default()
        }
    }

    /// Returns the parameters as pairs of name and value.
    fn values(&self) -> Vec<(&'static str, String)> {
        let Self { layout, bits, .. } = self;
        let deviations = [
            FIRST.deviation(layout.columns, LOG2_Q - bits.first, MASK.dropped_bits()),
            SECOND.deviation(layout.units, LOG2_Q - bits.second, LOG2_Q - bits.mask),
        ];
        let [first, second] = deviations.map(|deviation| format!("{:.2}", deviation.log2()));

        vec![
            ("n", N.to_string()),
            ("log2 q", LOG2_Q.to_string()),
            ("sigma", SIGMA.to_string()),
            ("p of the first level", "256".to_owned()),
            ("p of the second level", (1u32 << DIGIT_BITS).to_string()),
            (
                "digits of a mask and of a body",
                format!("{} and {}", MASK.count, BODY.count),
            ),
            ("unit bytes", layout.unit_layout.unit_bytes.to_string()),
            ("columns", layout.columns.to_string()),
            ("units of a column", layout.units.to_string()),
            ("query bits", format!("{} and {}", bits.first, bits.second)),
            ("mask bits", bits.mask.to_string()),
            ("body bits", bits.body.to_string()),
            ("log2 noise of the first level", first),
            ("log2 noise of the second level", second),
        ]
    }
}

fn too_noisy(layout: &Layout) -> Error {
    let Layout { columns, units, .. } = layout;
    refused(NAME)(format!(
        "the noise of {columns} columns of {units} units exceeds the decoding limit"
    ))
}

impl Parameters for DoubleParams {
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        let Target { goal, failure } = target.into();
        let unit_layout = units_of(&shape)?;
        let all = unit_layout.units();
        let QueryCosts { word, byte } = costs(goal);
        // A unit costs a word of the second query, and a column of the digits of the hint.
        let unit = word + byte * (unit_layout.unit_bytes * N * MASK.count) as f64;

        // Neither side may exceed the limit of the noise.
        let least = all.div_ceil(MAX_SIDE);
        let most = all.min(MAX_SIDE);
        if least > most {
            return Err(refused(NAME)(format!(
                "{all} units: at most {MAX_SIDE} columns of as many"
            )));
        }

        // Near the height at which columns and units cost as much; whole tiles decide between them.
        let ideal = (all as f64 * word / unit).sqrt() as u64;
        let layouts = heights_near(ideal, least..=most)
            .map(|units| layout_of(&shape, units))
            .collect::<Result<Vec<_>>>()?;
        let cheapest = best(layouts, |layout| {
            let read = byte * matrix_bytes(layout.rows, layout.columns) as f64;
            read + word * layout.columns as f64 + unit * layout.units as f64
        });

        let units = cheapest.map_or(least, |layout| layout.units as u64);
        Self::failing_less(shape, units, failure)
    }

    fn with_fixed(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Columns(columns) => Self::with_columns(shape, columns),
            other => Err(other.refused_by(NAME)),
        }
    }

    fn label(&self) -> String {
        format!(
            "{} units, {} columns",
            self.layout.units, self.layout.columns
        )
    }

    fn shape(&self) -> Shape {
        self.layout.unit_layout.shape
    }

    fn describe(&self) -> Description {
        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: self.shape(),
            sizes: self.sizes(),
            security: Some(security(self.lwe.security())),
            failure_log2: self.bounds.failure_log2,
            failure_bound: self.failure,
            limits: one_record(MAX_RECORD_BITS, UpdateCost::PerRecord),
            parameters: self.values(),
            work: work(&self.layout),
        }
    }

    fn certificate(&self) -> Result<FailureCertificate> {
        let description = self.describe();
        certificate::of(
            &description,
            &self.layout,
            &self.bits,
            &self.bounds,
            &self.lwe,
        )
    }

    fn encode(&self) -> Vec<u8> {
        let Bits {
            first,
            second,
            mask,
            body,
        } = self.bits;

        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape());
        writer.u64(self.layout.units as u64);
        write_bytes(&mut writer, [first, second, mask, body]);
        write_failure(&mut writer, self.failure);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("double's parameters", bytes);
        let shape = read_shape(&mut reader)?;
        let units = reader.u64()?;
        let [first, second, mask, body] = read_bytes(&mut reader)?;
        let failure = read_failure(&mut reader)?;
        reader.finish()?;

        let layout = layout_of(&shape, units)?;
        let bits = Bits {
            first,
            second,
            mask,
            body,
        };
        Self::with_bits(layout, bits, failure)
    }
}

/// Costs of a query, in nanoseconds.
struct QueryCosts {
    /// Cost of a word of the query.
    word: f64,
    /// Cost of a byte that the server reads.
    byte: f64,
}

/// Returns the costs under a goal. A word of about 26 bits is sent at 10 Mbit/s, or under
/// [`Goal::MinTime`] only made and parsed. A core reads 25 GB/s.
fn costs(goal: Goal) -> QueryCosts {
    let word = match goal {
        Goal::MinCommunication | Goal::Balanced => 2600.0,
        Goal::MinTime => 2.0,
    };
    let byte = match goal {
        Goal::MinCommunication => 0.0,
        Goal::Balanced | Goal::MinTime => 0.04,
    };
    QueryCosts { word, byte }
}
