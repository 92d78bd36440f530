//! Comparison of predicted with measured costs.

use std::io::Write;

use papir_core::cost::Rates;
use papir_core::{Choice, Description, Goal, Progress, Shape};
use serde::Serialize;

use crate::best::best;
use crate::effort::Effort;
use crate::report::write_columns;
use crate::schemes;
use crate::{Report, Result};
use papir_plan::units::bytes as display;

/// A predicted and a measured time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ComparedTime {
    /// Prediction of the cost model in seconds.
    pub predicted_s: f64,
    /// Measured time in seconds.
    pub measured_s: f64,
}

impl ComparedTime {
    /// Returns the predicted time divided by the measured time.
    pub fn ratio(&self) -> f64 {
        self.predicted_s / self.measured_s
    }
}

/// Predicted and measured times for one database.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Number of records.
    pub records: u64,
    /// Bytes of a record.
    pub record_bytes: u64,
    /// Label of the parameters.
    pub parameters: String,
    /// Time of an answer.
    pub answer: ComparedTime,
    /// Time of a client's query.
    pub query: ComparedTime,
    /// Time to prepare the database.
    pub offline: ComparedTime,
}

/// A database to check.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    scheme: &'static str,
    bytes: u64,
    record_bytes: u64,
    choice: Choice,
}

/// Number of times that each database is prepared and queried. The shortest times are kept.
const REPEATS: usize = 2;

const fn columns(scheme: &'static str, bytes: u64, record_bytes: u64, columns: u64) -> Case {
    Case {
        scheme,
        bytes,
        record_bytes,
        choice: Choice::Columns(columns),
    }
}

/// Five databases of realistic sizes.
pub const FIVE: [Case; 5] = [
    columns("inspire", 256 << 20, 64, 1 << 14),
    columns("inspire", 256 << 20, 1 << 10, 1 << 15),
    columns("inspire", 128 << 20, 1 << 15, 1 << 12),
    columns("inspire2", 256 << 20, 64, 1 << 12),
    Case {
        scheme: "simple",
        bytes: 256 << 20,
        record_bytes: 64,
        choice: Choice::Goal(Goal::Balanced),
    },
];

/// Small databases, for tests.
pub const TINY: [Case; 2] = [
    columns("inspire", 1 << 18, 64, 16),
    columns("simple", 1 << 16, 64, 256),
];

/// Measures databases on one thread, and predicts their costs with `rates`.
///
/// # Errors
/// The errors of [`best`].
pub fn check(
    cases: &[Case],
    rates: &Rates,
    runs: usize,
    progress: &dyn Progress,
) -> Result<Vec<Checked>> {
    let effort = Effort::alone(1, runs);
    cases
        .iter()
        .map(|case| case.run(rates, effort, progress))
        .collect()
}

impl Case {
    fn run(&self, rates: &Rates, effort: Effort, progress: &dyn Progress) -> Result<Checked> {
        let shape = Shape::of_bytes(self.bytes / self.record_bytes, self.record_bytes)?;
        let scheme = schemes::by_name(self.scheme)?;
        // The shortest times, as the calibration keeps them: both are of an undisturbed machine.
        let (report, description) = best(&*scheme, shape, self.choice, effort, REPEATS, progress)?;
        Ok(Checked::of(&report, &description, rates))
    }
}

impl Checked {
    fn of(report: &Report, description: &Description, rates: &Rates) -> Self {
        let work = &description.work;
        let figure = |counts: &papir_core::cost::Counts, measured_s| ComparedTime {
            // The threads of the measurement, and not those of the rates.
            predicted_s: counts.seconds(rates, report.threads),
            measured_s,
        };

        Self {
            scheme: report.scheme,
            records: report.records,
            record_bytes: report.record_bytes,
            parameters: columns_of(description),
            answer: figure(&work.answer, report.answer_ms / 1e3),
            query: figure(&work.query, report.query_ms / 1e3),
            offline: figure(&work.setup, report.offline_s),
        }
    }
}

/// Returns the number of columns of a matrix as text, from the description. It is empty if there is
/// none.
fn columns_of(description: &Description) -> String {
    let columns = description
        .parameters
        .iter()
        .find(|(name, _)| name.contains("columns"));
    columns.map_or(String::new(), |(_, columns)| format!("{columns} columns"))
}

/// Writes a table with a line for each database.
///
/// # Errors
/// The I/O errors of `out`.
pub fn write_table(out: &mut dyn Write, checked: &[Checked]) -> Result<()> {
    let titles = [
        "scheme",
        "database",
        "record",
        "parameters",
        "answer",
        "client's query",
        "offline",
    ];
    let mut lines = vec![titles.map(str::to_owned).to_vec()];

    lines.extend(checked.iter().map(|one| {
        let database = display(one.records * one.record_bytes);
        let figures = [one.answer, one.query, one.offline];
        let mut line = vec![
            one.scheme.to_owned(),
            database,
            display(one.record_bytes),
            one.parameters.clone(),
        ];
        line.extend(figures.map(cell));
        line
    }));

    write_columns(out, &lines)
}

/// Returns the text `predicted / measured ms = ratio`.
fn cell(figure: ComparedTime) -> String {
    let [predicted, measured] =
        [figure.predicted_s, figure.measured_s].map(|seconds| 1e3 * seconds);
    format!("{predicted:.2} / {measured:.2} ms = {:.2}", figure.ratio())
}
