//! Parameters of SimplePIR: the matrix for a shape, the LWE set, the answer's rounding.

use papir_core::Choice;
use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Operation, Work};
use papir_core::scheme::{Goal, Parameters, Scheme};
use papir_core::{
    Description, Error, Limits, MAX_RECORD_BITS, MAX_RECORDS, Result, Security, Shape, Sizes, UpdateCost,
    envelope,
};
use papir_kernels::bits::packed_len;
use papir_lattice::lwe32::{LOG2_Q, LweParams, N, SIGMA, matrix_bytes};

use super::Simple;
use super::layout::{Layout, heights, unit_of};
use super::noise::{self, Budget, LOG2_DELTA, LOG2_P};
use crate::shared::parameter_errors::unfit;
use crate::shared::shapes::{SHAPE_BYTES, read_shape, write_shape};

/// Bytes of the seed of A.
pub(super) const SEED_BYTES: usize = 32;
/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = SHAPE_BYTES + 8;
/// Queries over which the goal `balanced` spreads the one fetch of the hint.
const HINT_QUERIES: f64 = 1000.0;
/// Candidate heights that are compared.
const CANDIDATES: u64 = 2048;

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
    /// [`Error::OutOfBounds`] when rows or columns are too many for the noise or the hint.
    pub fn new(shape: Shape, column_units: u64) -> Result<Self> {
        let layout = Layout::new(&shape, column_units)?;
        let budget = noise::budget(layout.rows, layout.columns).ok_or_else(|| {
            let reason = format!("the noise of {} columns exceeds the decoding limit", layout.columns);
            Error::Parameters { scheme: Simple::NAME, reason }
        })?;
        Ok(Self { shape, layout, budget, lwe: LweParams::new().map_err(unfit(Simple::NAME))? })
    }

    /// Bits of a word of the answer.
    pub(super) fn answer_bits(&self) -> u32 {
        LOG2_Q - self.budget.dropped_bits
    }

    /// Bytes of the hint: rows × n words of 32 bits. `usize::MAX` where that is no `usize`.
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
        let sealed = |payload: usize| (payload + envelope::OVERHEAD) as u64;
        let hint = self.layout.rows as u64 * 4 * N as u64;
        Sizes {
            public: sealed(8 + ENCODED_BYTES + SEED_BYTES) + hint,
            hint,
            query: sealed(self.query_bytes()),
            answer: sealed(self.answer_bytes()),
            database: matrix_bytes(self.layout.rows, self.layout.columns),
            ..Sizes::default()
        }
    }

    /// What the verbs do; an answer rounds each row, too, and takes the query apart.
    fn work(&self) -> Work {
        let Layout { rows, columns, .. } = self.layout;
        let work = self.layout.work();
        Work { answer: work.answer.with(Operation::Word, (2 * columns + rows) as f64, 1), ..work }
    }
}

impl Parameters for SimpleParams {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        let heights = heights(Simple::NAME, &shape)?;
        let (least, most) = (*heights.start(), *heights.end());
        let (unit_records, unit_bytes) = unit_of(&shape);
        let units = shape.records().div_ceil(unit_records);
        // Without padding, upload and download are least where both cost the same.
        let (column_cost, row_cost) = costs(goal);
        let ideal = (units as f64 * column_cost / (unit_bytes as f64 * row_cost)).sqrt() as u64;
        let (from, to) = ((ideal / 2).clamp(least, most), (ideal * 2 + 1).clamp(least, most));
        let candidates = (from..=to).step_by(((to - from) / CANDIDATES + 1) as usize);
        let layouts = candidates.map(|height| Layout::new(&shape, height)).collect::<Result<Vec<_>>>()?;
        let cost = |layout: &Layout| {
            let bytes = matrix_bytes(layout.rows, layout.columns) as f64;
            let padded = if goal == Goal::MinTime { bytes } else { 0.0 };
            padded + column_cost * layout.columns as f64 + row_cost * layout.rows as f64
        };
        let best = layouts.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
        Self::new(shape, best.map_or(least, |layout| layout.column_units))
    }

    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            // Records of whole bytes are units of one record.
            Choice::Columns(columns) => Self::new(shape, shape.records().div_ceil(columns.max(1))),
            other => Err(other.refused_by(Simple::NAME)),
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
        let security = self.lwe.security();
        Description {
            scheme: Simple::NAME,
            privacy: Simple::PRIVACY,
            shape: self.shape,
            sizes: self.sizes(),
            security: Some(Security { bits: security.matzov, source: security.set }),
            failure_log2: self.budget.failure_log2,
            limits: Limits {
                records: MAX_RECORDS,
                record_bits: MAX_RECORD_BITS,
                batch: 1,
                client_keys: false,
                tickets: false,
                owner_key: false,
                update: UpdateCost::PerRecord,
            },
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
        let mut reader = Reader::new("simple's parameters", bytes);
        let (shape, column_units) = (read_shape(&mut reader)?, reader.u64()?);
        reader.finish()?;
        Self::new(shape, column_units)
    }
}

/// What one column and one row cost under a goal, in bytes sent or touched.
fn costs(goal: Goal) -> (f64, f64) {
    let (upload, download) = (4.0, 9.0 / 8.0);
    match goal {
        Goal::MinCommunication => (upload, download),
        Goal::Balanced => (upload, download + 4.0 * N as f64 / HINT_QUERIES),
        // The server reads the filled-up matrix, the query, and the sums of the rows.
        Goal::MinTime => (4.0, 4.0),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
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
