//! Predicted beside measured: how far the cost model is off on this machine.

use std::io::Write;

use papir_core::cost::{Rates, Work};
use papir_core::scheme::Parameters;
use papir_core::{Goal, Progress, Shape};
use papir_schemes::inspire::Inspire;
use papir_schemes::simple::Simple;
use serde::Serialize;

use crate::best::best;
use crate::measure::Effort;
use crate::report::write_columns;
use crate::size::display;
use crate::subject::{Choice, Measured};
use crate::{Report, Result};

/// One figure, predicted and measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figure {
    /// Seconds that the cost model gives.
    pub predicted_s: f64,
    /// Seconds that it took.
    pub measured_s: f64,
}

impl Figure {
    /// Predicted over measured.
    pub fn ratio(&self) -> f64 {
        self.predicted_s / self.measured_s
    }
}

/// The figures of one database.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// The scheme.
    pub scheme: &'static str,
    /// Its records.
    pub records: u64,
    /// Bytes of each.
    pub record_bytes: u64,
    /// The parameters in a few words.
    pub parameters: String,
    /// An answer.
    pub answer: Figure,
    /// A client's query.
    pub query: Figure,
    /// Preparing the database.
    pub offline: Figure,
}

/// A database to check.
#[derive(Clone, Copy)]
struct Case {
    scheme: &'static str,
    bytes: u64,
    record_bytes: u64,
    choice: Choice,
}

/// How often each database is prepared and queried; the best counts.
const REPEATS: usize = 2;

/// The five databases.
const CASES: [Case; 5] = {
    const fn inspire(mebibytes: u64, record_bytes: u64, columns: u64) -> Case {
        let choice = Choice::Columns(columns);
        Case { scheme: "inspire", bytes: mebibytes << 20, record_bytes, choice }
    }
    let choice = Choice::Goal(Goal::Balanced);
    [
        inspire(64, 64, 1 << 14),
        inspire(256, 64, 1 << 14),
        inspire(256, 1 << 10, 1 << 15),
        inspire(128, 1 << 15, 1 << 12),
        Case { scheme: "simple", bytes: 256 << 20, record_bytes: 64, choice },
    ]
};

/// Measures five databases on one thread and predicts the same.
///
/// # Errors
/// As [`best`].
pub fn check(rates: &Rates, runs: usize, progress: &dyn Progress) -> Result<Vec<Checked>> {
    let effort = Effort { threads: 1, runs };
    let run = |case: &Case| match case.scheme {
        "simple" => case.run::<Simple>(rates, effort, progress),
        _ => case.run::<Inspire>(rates, effort, progress),
    };
    CASES.iter().map(run).collect()
}

impl Case {
    fn run<S: Measured>(&self, rates: &Rates, effort: Effort, progress: &dyn Progress) -> Result<Checked> {
        let shape = Shape::of_bytes(self.bytes / self.record_bytes, self.record_bytes)?;
        let label = S::params(shape, self.choice)?.label();
        let (report, description) = best::<S>(shape, self.choice, effort, REPEATS, progress)?;
        Ok(Checked::of(&report, label, &description.work, rates))
    }
}

impl Checked {
    fn of(report: &Report, parameters: String, work: &Work, rates: &Rates) -> Self {
        let figure = |counts: &papir_core::cost::Counts, measured_s| Figure {
            predicted_s: counts.seconds(rates, report.threads),
            measured_s,
        };
        Self {
            scheme: report.scheme,
            records: report.records,
            record_bytes: report.record_bytes,
            parameters,
            answer: figure(&work.answer, report.answer_ms / 1e3),
            query: figure(&work.query, report.query_ms / 1e3),
            offline: figure(&work.setup, report.offline_s),
        }
    }
}

/// Writes a table, a line for each database.
///
/// # Errors
/// The writer's.
pub fn write_table(out: &mut dyn Write, checked: &[Checked]) -> Result<()> {
    let titles = ["scheme", "database", "record", "parameters", "answer", "client's query", "offline"];
    let mut lines = vec![titles.map(str::to_owned).to_vec()];
    lines.extend(checked.iter().map(|one| {
        let database = display(one.records * one.record_bytes);
        let figures = [one.answer, one.query, one.offline];
        let mut line =
            vec![one.scheme.to_owned(), database, display(one.record_bytes), one.parameters.clone()];
        line.extend(figures.map(cell));
        line
    }));
    write_columns(out, &lines)
}

/// `predicted / measured ms = ratio`.
fn cell(figure: Figure) -> String {
    let [predicted, measured] = [figure.predicted_s, figure.measured_s].map(|seconds| 1e3 * seconds);
    format!("{predicted:.2} / {measured:.2} ms = {:.2}", figure.ratio())
}
