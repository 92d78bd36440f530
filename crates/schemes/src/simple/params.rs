//! Parameters of SimplePIR: matrix, LWE set and rounding.
//!
//! A *unit* has the fewest records that fill whole bytes: one record of whole bytes, or eight
//! records of 1 or 3 bits.

use std::ops::RangeInclusive;

use papir_core::Choice;
use papir_core::certificate::FailureCertificate;
use papir_core::codec::Writer;
use papir_core::cost::{Counts, DividedWork, Operation, Work};
use papir_core::scheme::{Goal, Parameters, Target};
use papir_core::{
    Description, FailureBound, MAX_RECORD_BITS, Privacy, Result, Shape, Sizes, UpdateCost,
};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_u8::ROWS;
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{LOG2_Q, LweParams, Masks, N, SIGMA, matrix_bytes};
use papir_ring::prg::Seed;

use super::certificate;
use super::noise::{self, Budget, LOG2_DELTA, LOG2_P};
use crate::shared::byte_matrix::{Layout, Limits, UnitOrder};
use crate::shared::messages::{
    SEED_BYTES, read_all, read_failure, read_shape, write_failure, write_shape,
};
use crate::shared::parameters::{
    best, heights_near, one_record, refused, sealed, sealed_public, security, unfit,
};
use crate::shared::units::Units;

/// Name of the scheme.
pub(super) const NAME: &str = "simple";
/// Number of queries that share the cost of fetching the hint once, under the goal `balanced`.
const HINT_QUERIES: f64 = 1000.0;
/// Largest number of columns. The failure probability is below 2⁻⁴⁰ up to this number
/// (`super::noise`).
pub(crate) const MAX_COLUMNS: u64 = 1 << 16;
/// Largest number of rows. One unit of a record of 256 KiB less a bit has about as many: records
/// with an odd number of bits are at most that long.
pub(crate) const MAX_ROWS: u64 = 1 << 21;

/// The bit of the number of units of a column that says that rows are filled first. No number of
/// units is as large.
const ROWS_FIRST: u64 = 1 << 63;

/// SimplePIR, as a scheme.
pub struct Simple;

/// Parameters of [`Simple`].
#[derive(Clone, Debug)]
pub struct SimpleParams {
    pub(super) layout: Layout,
    pub(super) failure: FailureBound,
    pub(super) budget: Budget,
    pub(super) lwe: LweParams,
}

/// Returns the masks A, which have a row for each column of D.
pub(super) fn masks(seed: Seed) -> Masks {
    Masks::new(seed, "simple/lwe-matrix")
}

/// Divides the records of a database into units.
pub(super) fn units_of(shape: &Shape) -> Units {
    let bits = shape.record_bits();
    let per_unit = 8 >> bits.trailing_zeros().min(3);
    Units {
        shape: *shape,
        unit_bytes: (per_unit * bits / 8) as usize,
        stored_bits: bits,
        per_unit,
    }
}

/// Returns the layout of the matrix with `units` units in each column. It refuses too many rows or
/// columns, and a column without a unit.
pub(crate) fn layout_of(shape: &Shape, units: u64) -> Result<Layout> {
    Layout::new(
        units_of(shape),
        units,
        &Limits {
            rows: MAX_ROWS,
            columns: MAX_COLUMNS,
            units: u64::MAX,
        },
    )
}

/// Returns the range of the number of units in a column, from the widest matrix to the highest.
/// Fails if no matrix has few enough rows and columns.
pub(crate) fn heights(scheme: &'static str, shape: &Shape) -> Result<RangeInclusive<u64>> {
    let unit_layout = units_of(shape);
    let units = unit_layout.units();
    let unit_bytes = unit_layout.unit_bytes as u64;

    let least = units.div_ceil(MAX_COLUMNS);
    let most = (MAX_ROWS / unit_bytes).min(units);
    if least <= most {
        return Ok(least..=most);
    }

    let found = format!(
        "{} bytes in {units} units of {unit_bytes}",
        shape.total_bytes()
    );
    Err(refused(scheme)(format!(
        "{found}: at most {MAX_ROWS} rows × {MAX_COLUMNS} columns"
    )))
}

/// Returns the work of each operation. The hint is the matrix times masks, a client encrypts a word
/// for each column, the answer reads the padded matrix, and a client decrypts each row.
pub(crate) fn work(&Layout { rows, columns, .. }: &Layout) -> Work {
    let bytes = matrix_bytes(rows, columns) as f64;
    let groups = rows.div_ceil(ROWS);
    let setup = Counts::new().with(Operation::Encode8, bytes, 1);

    Work {
        setup: setup.with(
            Operation::HintProduct8,
            transformed_bytes(rows, columns) as f64,
            groups,
        ),
        query: Counts::new().with(Operation::EncryptColumn, columns as f64, 1),
        answer: Counts::new().with(Operation::Select8, bytes, groups),
        extract: Counts::new().with(Operation::DecryptRow, rows as f64, 1),
    }
}

impl SimpleParams {
    /// Returns the work of an answer: the server splits the query, multiplies, and rounds each row.
    /// Slices are row groups, and the combiner only joins them.
    pub(crate) fn answering(&self) -> DividedWork {
        let Layout { rows, columns, .. } = self.layout;
        DividedWork {
            slices: work(&self.layout)
                .answer
                .with(Operation::Word, rows as f64, 1),
            shard: Counts::new().with(Operation::Word, 2.0 * columns as f64, 1),
            combiner: Counts::new(),
            combiner_bytes: self.hint_bytes() as u64,
        }
    }

    /// Creates the parameters of the matrix with `column_units` units in each column. A unit has
    /// the fewest records that fill whole bytes.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] for too many rows or columns or for no unit in a column,
    /// [`papir_core::Error::Parameters`] if the noise is too large.
    pub fn new(shape: Shape, column_units: u64) -> Result<Self> {
        Self::failing_less(shape, column_units, FailureBound::DEFAULT)
    }

    /// Creates the parameters of [`Self::new`] within this bound on the failure probability.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn failing_less(shape: Shape, column_units: u64, failure: FailureBound) -> Result<Self> {
        let layout = layout_of(&shape, column_units)?;
        let budget = noise::budget(layout.rows, layout.columns, failure).ok_or_else(|| {
            refused(NAME)(format!(
                "the noise of {} columns exceeds the decoding limit",
                layout.columns
            ))
        })?;
        Ok(Self {
            layout,
            failure,
            budget,
            lwe: LweParams::new().map_err(unfit(NAME))?,
        })
    }

    /// Returns the same parameters with the records in the order of rows: unit k is in column k
    /// modulo the number of columns. A run of changed records then changes few rows of the hint.
    #[must_use]
    pub fn rows_first(mut self) -> Self {
        self.layout.order = UnitOrder::RowsFirst;
        self
    }

    /// Returns true if the records are in the order of rows.
    pub fn is_rows_first(&self) -> bool {
        self.layout.order == UnitOrder::RowsFirst
    }

    /// Returns the number of bits of a word of the answer.
    pub(super) fn answer_bits(&self) -> u32 {
        LOG2_Q - self.budget.dropped_bits
    }

    /// Returns the bytes of the hint: rows × n words of 32 bits. The result saturates at
    /// `usize::MAX`.
    pub(super) fn hint_bytes(&self) -> usize {
        self.layout.rows.saturating_mul(4 * N)
    }

    /// Returns the bytes of a query's payload.
    pub(super) fn query_bytes(&self) -> usize {
        4 * self.layout.columns
    }

    /// Returns the bytes of an answer's payload.
    pub(super) fn answer_bytes(&self) -> usize {
        packed_len(self.layout.rows, self.answer_bits())
    }

    fn sizes(&self) -> Sizes {
        let hint = self.layout.rows as u64 * 4 * N as u64;
        Sizes {
            public: sealed_public(self.encode().len(), SEED_BYTES) + hint,
            hint,
            query: sealed(self.query_bytes()),
            answer: sealed(self.answer_bytes()),
            database: matrix_bytes(self.layout.rows, self.layout.columns),
            device: matrix_bytes(self.layout.rows, self.layout.columns),
            // Each row of a column is a byte.
            seen: self.layout.unit_layout.seen(self.layout.rows as u64, hint),
            ..Sizes::default()
        }
    }
}

impl Parameters for SimpleParams {
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        let Target { goal, failure } = target.into();
        let heights = heights(NAME, &shape)?;
        let least = *heights.start();
        let unit_layout = units_of(&shape);

        // Without padding, the sum of upload and download is least if both cost the same.
        let (column_cost, row_cost) = costs(goal);
        let ideal = (unit_layout.units() as f64 * column_cost
            / (unit_layout.unit_bytes as f64 * row_cost))
            .sqrt() as u64;

        // Padding moves the optimum, so that matrices around the ideal one are compared.
        let layouts = heights_near(ideal, heights)
            .map(|height| layout_of(&shape, height))
            .collect::<Result<Vec<_>>>()?;
        let cheapest = best(layouts, |layout| {
            let bytes = matrix_bytes(layout.rows, layout.columns) as f64;
            let padded = if goal == Goal::MinTime { bytes } else { 0.0 };
            padded + column_cost * layout.columns as f64 + row_cost * layout.rows as f64
        });

        let units = cheapest.map_or(least, |layout| layout.units as u64);
        Self::failing_less(shape, units, failure)
    }

    fn with_fixed(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            // Records of whole bytes are units of one record.
            Choice::Columns(columns) => Self::new(shape, shape.records().div_ceil(columns.max(1))),
            Choice::RowsFirst(target) => Ok(Self::choose(shape, target)?.rows_first()),
            other => Err(other.refused_by(NAME)),
        }
    }

    fn label(&self) -> String {
        format!("{} rows, {} columns", self.layout.rows, self.layout.columns)
    }

    fn shape(&self) -> Shape {
        self.layout.unit_layout.shape
    }

    fn describe(&self) -> Description {
        let Layout { rows, columns, .. } = self.layout;
        let work = work(&self.layout);
        let answer = self.answering().together();
        let mut parameters = vec![
            ("n", N.to_string()),
            ("log2 q", LOG2_Q.to_string()),
            ("p", (1u32 << LOG2_P).to_string()),
            ("log2 delta", LOG2_DELTA.to_string()),
            ("sigma", SIGMA.to_string()),
            ("rows", rows.to_string()),
            ("columns", columns.to_string()),
            ("answer bits", self.answer_bits().to_string()),
            (
                "log2 noise",
                format!("{:.2}", noise::deviation(columns).log2()),
            ),
        ];
        if self.is_rows_first() {
            parameters.push(("order", "rows first".to_owned()));
        }

        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: self.shape(),
            sizes: self.sizes(),
            security: Some(security(self.lwe.security())),
            failure_log2: self.budget.failure_log2,
            failure_bound: self.failure,
            limits: one_record(MAX_RECORD_BITS, UpdateCost::PerRecord),
            parameters,
            work: Work { answer, ..work },
        }
    }

    fn certificate(&self) -> Result<FailureCertificate> {
        certificate::of(&self.describe(), &self.layout, &self.budget, &self.lwe)
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape());
        let order = if self.is_rows_first() { ROWS_FIRST } else { 0 };
        writer.u64(self.layout.units as u64 | order);
        write_failure(&mut writer, self.failure);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let (shape, stated, failure) = read_all("simple's parameters", bytes, |reader| {
            Ok((read_shape(reader)?, reader.u64()?, read_failure(reader)?))
        })?;

        let params = Self::failing_less(shape, stated & !ROWS_FIRST, failure)?;
        match stated & ROWS_FIRST {
            0 => Ok(params),
            _ => Ok(params.rows_first()),
        }
    }
}

/// Returns the cost of one column and the cost of one row under a goal, in bytes sent or read.
fn costs(goal: Goal) -> (f64, f64) {
    let upload = 4.0;
    let download = 9.0 / 8.0;
    match goal {
        Goal::MinCommunication => (upload, download),
        Goal::Balanced => (upload, download + 4.0 * N as f64 / HINT_QUERIES),
        // The server reads the padded matrix, the query, and the sums of the rows.
        Goal::MinTime => (4.0, 4.0),
    }
}
