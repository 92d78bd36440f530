//! Runs a table: each row that papir has, measured or predicted, beside the paper's figures.

use std::io::Write;

use papir_core::{Error as CoreError, Progress, Records, Sizes};
use serde::Serialize;

use super::{Block, Published, Table};
use crate::measure::{Effort, Plan, fits_memory};
use crate::records::Synthetic;
use crate::report::{Report, write_columns};
use crate::subject::{self, Choice};
use crate::{Error, Result};

/// One row: the paper's figures and papir's.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Row {
    pub database: &'static str,
    pub scheme: &'static str,
    pub columns: Option<u64>,
    pub paper_total_kb: u64,
    pub paper_server_ms: f64,
    pub paper_offline_s: f64,
    pub total_kb: Option<f64>,
    pub server_ms: Option<f64>,
    /// × one read of the database.
    pub reads: Option<f64>,
    pub offline_s: Option<f64>,
    /// Whether time was predicted, not measured.
    pub predicted: bool,
    /// Whether every retrieved record was right; null where none was retrieved.
    pub correct: Option<bool>,
    /// Why papir has no parameters for this configuration, where it has none.
    pub refused: Option<String>,
}

/// A whole table.
#[derive(Clone, Debug, Serialize)]
pub struct TableReport {
    /// Its name.
    pub table: &'static str,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// Seconds for each byte that an answer reads of database and material, from a measured answer.
#[derive(Clone, Copy)]
struct Rates {
    database: f64,
    material: f64,
    read: f64,
}

impl Rates {
    fn of(report: &Report, sizes: &Sizes) -> Self {
        let stage = |name| report.stages.0.iter().find(|stage| stage.0 == name).map_or(0.0, |stage| stage.1);
        Self {
            database: stage("select") / sizes.database as f64,
            material: stage("pack") / sizes.material as f64,
            read: report.read_ms / sizes.database as f64,
        }
    }

    /// Predicted milliseconds, and their ratio to one read.
    fn predict(&self, sizes: &Sizes) -> (f64, f64) {
        let (database, material) = (sizes.database as f64, sizes.material as f64);
        let milliseconds = self.database * database + self.material * material;
        (milliseconds, milliseconds / (self.read * database))
    }
}

/// Runs a table; databases above `largest` bytes are predicted.
///
/// # Errors
/// Those of the measurement.
pub fn run(table: &Table, largest: u64, effort: Effort, progress: &dyn Progress) -> Result<TableReport> {
    let mut rates = None;
    let mut rows = Vec::new();
    for block in table.blocks {
        for published in block.published {
            rows.push(row(block, published, largest, effort, &mut rates, progress)?);
        }
    }
    Ok(TableReport { table: table.name, rows })
}

fn row(
    block: &Block,
    published: &Published,
    largest: u64,
    effort: Effort,
    rates: &mut Option<Rates>,
    progress: &dyn Progress,
) -> Result<Row> {
    let mut row = printed(block, published);
    let Some((scheme, columns)) = published.ours else {
        return Ok(row);
    };
    let (subject, choice) = (subject::by_name(scheme)?, Choice::Columns(columns));
    let records = Synthetic::new(block.records, block.record_bytes)?;
    let description = match subject.describe(records.shape(), choice) {
        Err(Error::Core(CoreError::Parameters { reason, .. })) => {
            row.refused = Some(reason);
            return Ok(row);
        }
        described => described?,
    };
    let sizes = description.sizes;
    row.total_kb = Some((sizes.query + sizes.answer) as f64 / 1024.0);
    if block.records * block.record_bytes > largest || !fits_memory(&description) {
        row.predicted = true;
        (row.server_ms, row.reads) = rates.map(|rates| rates.predict(&sizes)).unzip();
        return Ok(row);
    }
    let plan = Plan { records: &records, expected: &records, choice, effort };
    let report = subject.measure(&plan, progress)?;
    *rates = Some(Rates::of(&report, &sizes));
    row.server_ms = Some(report.answer_ms);
    row.reads = Some(report.reads);
    row.offline_s = Some(report.offline_s);
    row.correct = Some(report.correct);
    Ok(row)
}

/// The paper's part of a row.
fn printed(block: &Block, published: &Published) -> Row {
    Row {
        database: block.database,
        scheme: published.scheme,
        columns: published.ours.map(|(_, columns)| columns),
        paper_total_kb: published.total_kb,
        paper_server_ms: published.server_ms,
        paper_offline_s: published.offline_s,
        total_kb: None,
        server_ms: None,
        reads: None,
        offline_s: None,
        predicted: false,
        correct: None,
        refused: None,
    }
}

const HEADER: [&str; 11] = [
    "database",
    "scheme",
    "N/t",
    "total KB, paper",
    "papir",
    "server, paper",
    "papir",
    "reads",
    "offline, paper",
    "papir",
    "records",
];

impl TableReport {
    /// Writes the table.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_table(&self, out: &mut dyn Write) -> Result<()> {
        let header = HEADER.map(str::to_owned).to_vec();
        let lines: Vec<Vec<String>> =
            std::iter::once(header).chain(self.rows.iter().map(Row::cells)).collect();
        write_columns(out, &lines)?;
        let above = self.rows.iter().filter(|row| row.total_kb > Some(row.paper_total_kb as f64)).count();
        writeln!(out, "Configurations whose communication is above the paper's: {above}")?;
        for row in &self.rows {
            if let (Some(columns), Some(reason)) = (row.columns, &row.refused) {
                writeln!(out, "No parameters for {} at N/t = {columns}: {reason}", row.database)?;
            }
        }
        Ok(())
    }

    /// Whether every record that came back was right.
    pub fn correct(&self) -> bool {
        self.rows.iter().all(|row| row.correct != Some(false))
    }
}

impl Row {
    fn verdict(&self) -> &'static str {
        match (self.correct, &self.refused) {
            (Some(true), _) => "right",
            (Some(false), _) => "WRONG",
            (None, Some(_)) => "no parameters",
            (None, None) => "-",
        }
    }

    fn cells(&self) -> Vec<String> {
        let mark = if self.predicted { " predicted" } else { "" };
        let number = |value: Option<f64>, unit: &str| {
            value.map_or("-".to_owned(), |value| format!("{value:.1}{unit}"))
        };
        vec![
            self.database.to_owned(),
            self.scheme.to_owned(),
            self.columns.map_or("-".to_owned(), |columns| columns.to_string()),
            self.paper_total_kb.to_string(),
            number(self.total_kb, ""),
            format!("{:.0} ms", self.paper_server_ms),
            number(self.server_ms, " ms") + mark,
            self.reads.map_or("-".to_owned(), |reads| format!("{reads:.2}")),
            format!("{:.0} s", self.paper_offline_s),
            number(self.offline_s, " s"),
            self.verdict().to_owned(),
        ]
    }
}
