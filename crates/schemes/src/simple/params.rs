//! Parameters of SimplePIR: matrix, LWE set and rounding of the answer.

use papir_core::Choice;
use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Operation, Work};
use papir_core::scheme::{Goal, Parameters};
use papir_core::{Description, MAX_RECORD_BITS, Privacy, Result, Shape, Sizes, UpdateCost};
use papir_kernels::bits::packed_len;
use papir_lattice::lwe32::{LOG2_Q, LweParams, N, SIGMA, matrix_bytes};

use super::layout::{Layout, heights, unit_of};
use super::noise::{self, Budget, LOG2_DELTA, LOG2_P};
use crate::shared::messages::{SEED_BYTES, SHAPE_BYTES, read_all, read_shape, write_shape};
use crate::shared::parameters::{
    best, heights_near, one_record, refused, sealed, sealed_public, security, unfit,
};

/// The scheme's name.
pub(super) const NAME: &str = "simple";
/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = SHAPE_BYTES + 8;
/// Queries over which the goal `balanced` spreads the one fetch of the hint.
const HINT_QUERIES: f64 = 1000.0;

/// SimplePIR.
pub struct Simple;

/// Parameters of [`Simple`].
#[derive(Clone, Debug)]
pub struct SimpleParams {
    shape: Shape,
    pub(super) layout: Layout,
    pub(super) budget: Budget,
    pub(super) lwe: LweParams,
}

impl SimpleParams {
    /// The matrix with `column_units` units in each column; a unit is the fewest records that fill
    /// whole bytes.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] for more rows or columns than the noise or the hint
    /// allows.
    pub fn new(shape: Shape, column_units: u64) -> Result<Self> {
        let layout = Layout::new(&shape, column_units)?;
        let budget = noise::budget(layout.rows, layout.columns).ok_or_else(|| {
            refused(NAME)(format!("the noise of {} columns exceeds the decoding limit", layout.columns))
        })?;
        Ok(Self { shape, layout, budget, lwe: LweParams::new().map_err(unfit(NAME))? })
    }

    /// Bits of a word of the answer.
    pub(super) fn answer_bits(&self) -> u32 {
        LOG2_Q - self.budget.dropped_bits
    }

    /// Bytes of the hint: rows × n words of 32 bits. Saturates at `usize::MAX`.
    pub(super) fn hint_bytes(&self) -> usize {
        self.layout.rows.saturating_mul(4 * N)
    }

    /// Bytes of a query's payload.
    pub(super) fn query_bytes(&self) -> usize {
        4 * self.layout.columns
    }

    /// Bytes of an answer's payload.
    pub(super) fn answer_bytes(&self) -> usize {
        packed_len(self.layout.rows, self.answer_bits())
    }

    fn sizes(&self) -> Sizes {
        let hint = self.layout.rows as u64 * 4 * N as u64;
        Sizes {
            public: sealed_public(ENCODED_BYTES, SEED_BYTES) + hint,
            hint,
            query: sealed(self.query_bytes()),
            answer: sealed(self.answer_bytes()),
            database: matrix_bytes(self.layout.rows, self.layout.columns),
            ..Sizes::default()
        }
    }

    /// Work of the verbs; an answer also rounds each row and splits the query.
    fn work(&self) -> Work {
        let Layout { rows, columns, .. } = self.layout;
        let work = self.layout.work();
        Work { answer: work.answer.with(Operation::Word, (2 * columns + rows) as f64, 1), ..work }
    }
}

impl Parameters for SimpleParams {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        let heights = heights(NAME, &shape)?;
        let least = *heights.start();
        let (unit_records, unit_bytes) = unit_of(&shape);
        let units = shape.records().div_ceil(unit_records);
        // Without padding, the sum of upload and download is least if both cost the same.
        let (column_cost, row_cost) = costs(goal);
        let ideal = (units as f64 * column_cost / (unit_bytes as f64 * row_cost)).sqrt() as u64;
        let heights = heights_near(ideal, heights);
        let layouts = heights.map(|height| Layout::new(&shape, height)).collect::<Result<Vec<_>>>()?;
        let cost = |layout: &Layout| {
            let bytes = matrix_bytes(layout.rows, layout.columns) as f64;
            let padded = if goal == Goal::MinTime { bytes } else { 0.0 };
            padded + column_cost * layout.columns as f64 + row_cost * layout.rows as f64
        };
        Self::new(shape, best(layouts, cost).map_or(least, |layout| layout.column_units))
    }

    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            // Records of whole bytes are units of one record.
            Choice::Columns(columns) => Self::new(shape, shape.records().div_ceil(columns.max(1))),
            other => Err(other.refused_by(NAME)),
        }
    }

    fn label(&self) -> String {
        format!("{} rows, {} columns", self.layout.rows, self.layout.columns)
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        let Layout { rows, columns, .. } = self.layout;
        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: self.shape,
            sizes: self.sizes(),
            security: Some(security(self.lwe.security())),
            failure_log2: self.budget.failure_log2,
            limits: one_record(MAX_RECORD_BITS, UpdateCost::PerRecord),
            parameters: vec![
                ("n", N.to_string()),
                ("log2 q", LOG2_Q.to_string()),
                ("p", (1u32 << LOG2_P).to_string()),
                ("log2 delta", LOG2_DELTA.to_string()),
                ("sigma", SIGMA.to_string()),
                ("rows", rows.to_string()),
                ("columns", columns.to_string()),
                ("answer bits", self.answer_bits().to_string()),
                ("log2 noise", format!("{:.2}", noise::deviation(columns).log2())),
            ],
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape);
        writer.u64(self.layout.column_units);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let read = |reader: &mut Reader<'_>| Ok((read_shape(reader)?, reader.u64()?));
        let (shape, column_units) = read_all("simple's parameters", bytes, read)?;
        Self::new(shape, column_units)
    }
}

/// Cost of one column and of one row under a goal, in bytes sent or read.
fn costs(goal: Goal) -> (f64, f64) {
    let (upload, download) = (4.0, 9.0 / 8.0);
    match goal {
        Goal::MinCommunication => (upload, download),
        Goal::Balanced => (upload, download + 4.0 * N as f64 / HINT_QUERIES),
        // The server reads the padded matrix, the query, and the sums of the rows.
        Goal::MinTime => (4.0, 4.0),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::Error;

    use super::*;

    fn described(records: u64, bits: u64, goal: Goal) -> Description {
        SimpleParams::choose(Shape::new(records, bits).unwrap(), goal).unwrap().describe()
    }

    #[test]
    fn choices_fit_their_goals() {
        for (records, bits) in [(1 << 24, 512), (1_000_003, 8), (1 << 20, 1), (99_991, 4096)] {
            let goals = [Goal::MinCommunication, Goal::Balanced, Goal::MinTime];
            let [least, balanced, fast] = goals.map(|goal| described(records, bits, goal).sizes);
            let traffic = |sizes: Sizes| sizes.query + sizes.answer;
            assert!(traffic(least) <= traffic(balanced) && traffic(least) <= traffic(fast));
            assert!(balanced.hint <= least.hint && fast.database <= least.database);
            let bytes = Shape::new(records, bits).unwrap().total_bytes() as f64;
            let optimum = 2.0 * (4.0 * 9.0 / 8.0 * bytes).sqrt();
            assert!(traffic(least) as f64 <= 1.05 * optimum + 200.0, "{records} × {bits} bits");
            assert!((fast.database as f64) < 1.02 * bytes.max(1e6), "{records} × {bits} bits");
        }
    }

    #[test]
    fn parameters_survive_their_bytes() {
        let params = SimpleParams::choose(Shape::new(12_345, 13).unwrap(), Goal::Balanced).unwrap();
        let again = SimpleParams::decode(&params.encode()).unwrap();
        assert_eq!((again.describe(), params.encode().len()), (params.describe(), ENCODED_BYTES));
    }

    #[test]
    fn extremes_are_taken_or_refused_with_a_reason() {
        for (records, bits) in
            [(1 << 40, 1), (1 << 32, 8), (1, 1 << 21), (1 << 16, 1 << 21), (9, (1 << 21) - 1)]
        {
            let description = described(records, bits, Goal::Balanced);
            assert!(description.failure_log2 <= -40.0, "{records} × {bits}: {}", description.failure_log2);
            assert!(description.security.unwrap().bits >= 128.0);
        }
        for (records, bits) in [(1 << 32, 512), (1 << 40, 1 << 21)] {
            let error = SimpleParams::choose(Shape::new(records, bits).unwrap(), Goal::Balanced).unwrap_err();
            assert!(matches!(error, Error::Parameters { .. }), "{error}");
        }
    }
}
