//! Recorded runs: all tables and experiments that fit a memory, as JSON files.
//!
//! `papir-papers --record FOLDER --memory BYTES` writes a file for each of them. A file says which
//! rows were not measured and why, on which machine, from which commit, by which command and when.
//! A file that exists is kept, so that an interrupted run continues where it ended.
//!
//! | file | contents |
//! |---|---|
//! | `origin` | the machine, the commit, the command and the date |

mod origin;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use papir_core::Progress;
use papir_measure::cost::Status;
use papir_measure::effort::Effort;
use papir_plan::rates_file::LoadedRates;
use serde::Serialize;
use serde_json::Value;

use crate::depir::sheet::{SheetKind, SheetReport};
use crate::experiments::{self, check_correct, perform};
use crate::tables::{self, Bench, TableReport, TableRow};
use crate::{Error, Result, depir};

use origin::RecordOrigin;

/// Version of the files' format.
const FORMAT: u32 = 1;
/// The end of the name of a file that is being written.
const UNFINISHED: &str = ".unfinished";
/// Why the predicted rows of doubly-efficient PIR are not measured.
const FIXED_SETS: &str = "two sets are measured, and the others predicted from their rate: a query takes minutes, or more memory than there is";

/// A run to record.
#[derive(Clone, Debug)]
pub struct RecordRun<'a> {
    /// The folder of the files, which is created if it does not exist.
    pub folder: &'a Path,
    /// The most memory of a measurement in bytes.
    pub memory: u64,
    /// The largest database to measure, in bytes of records.
    pub largest: u64,
    /// Names of tables and experiments; all if empty.
    pub only: &'a [String],
    /// Threads and runs.
    pub effort: Effort,
    /// The command line.
    pub command: String,
}

/// The content of a file.
#[derive(Debug, Serialize)]
struct RecordedFile<'a> {
    format: u32,
    /// The name of the table or experiment.
    name: &'a str,
    #[serde(flatten)]
    origin: RecordOrigin,
    /// Threads for setup and answers.
    threads: usize,
    /// Timed queries.
    runs: usize,
    /// The most memory of a measurement in bytes.
    memory_bytes: u64,
    #[serde(flatten)]
    result: RecordedResult,
}

/// A report, and the rows that it could not measure.
#[derive(Debug, Serialize)]
struct RecordedResult {
    not_measured: Vec<UnmeasuredRow>,
    report: Value,
}

/// A row that was not measured.
#[derive(Debug, Serialize)]
struct UnmeasuredRow {
    row: String,
    reason: String,
}

/// Records a run, and lists its files and the rows that were not measured.
///
/// # Errors
/// [`Error::Usage`] for an unknown name and for a file that cannot be written, errors of the
/// measurements, and [`Error::Wrong`] if a record was wrong. Finished files stay.
pub fn record(
    run: &RecordRun<'_>,
    rates: LoadedRates,
    out: &mut dyn Write,
    progress: &dyn Progress,
) -> Result<()> {
    let names = chosen(run.only)?;
    fs::create_dir_all(run.folder).map_err(|error| cannot_write(run.folder, &error))?;

    // One bench for all tables, so that a configuration in several of them is measured once.
    let mut bench = Bench::new(run.largest, run.effort, rates, progress).within(Some(run.memory));
    for name in names {
        let path = run.folder.join(format!("{name}.json"));
        if path.exists() {
            writeln!(out, "{name}: {} exists and is kept", path.display())?;
            continue;
        }

        // Taken before a measurement of hours, during which a checkout may change.
        let origin = RecordOrigin::now(&run.command)?;
        let file = RecordedFile {
            format: FORMAT,
            name,
            origin,
            threads: run.effort.threads,
            runs: run.effort.runs,
            memory_bytes: run.memory,
            result: measured(name, run, &mut bench, progress)?,
        };

        write(&path, &file)?;
        writeln!(out, "{name}: {}", path.display())?;
        for UnmeasuredRow { row, reason } in &file.result.not_measured {
            writeln!(out, "  not measured: {row}: {reason}")?;
        }
        out.flush()?;
    }
    Ok(())
}

/// The names of all tables and experiments that can be recorded. Quoted tables have no figures of
/// papir's, and figures those of tables.
fn all_names() -> Result<Vec<&'static str>> {
    let mut names: Vec<&str> = tables::all()?.iter().map(|table| table.name).collect();
    let sheets = depir::all_sheets().filter(|sheet| sheet.kind == SheetKind::Table);
    names.extend(sheets.map(|sheet| sheet.name));
    names.extend(experiments::ALL.iter().map(|named| named.name));
    Ok(names)
}

/// The names to record, in their own order. An unknown one is refused before anything is measured.
fn chosen(only: &[String]) -> Result<Vec<&'static str>> {
    let all = all_names()?;
    if let Some(unknown) = only.iter().find(|name| !all.contains(&name.as_str())) {
        return Err(Error::usage(format!("`{unknown}`"), all.join(", ")));
    }

    let names = all.into_iter();
    Ok(names
        .filter(|name| only.is_empty() || only.iter().any(|one| one == name))
        .collect())
}

/// Measures a table or an experiment.
fn measured(
    name: &str,
    run: &RecordRun<'_>,
    bench: &mut Bench<'_>,
    progress: &dyn Progress,
) -> Result<RecordedResult> {
    if let Some(table) = tables::by_name(name)? {
        let report = tables::run(table, bench)?;
        check_correct(name, report.correct())?;
        return RecordedResult::of_table(&report);
    }
    if let Some(sheet) = depir::sheet_by_name(SheetKind::Table, name) {
        let sets = [depir::Set::Tiny, depir::Set::Small];
        let report = sheet.make(sets, run.effort, progress)?;
        check_correct(name, report.correct)?;
        return RecordedResult::of_sheet(&report);
    }

    let Some(named) = experiments::by_name(name) else {
        return Err(Error::usage(format!("`{name}`"), all_names()?.join(", ")));
    };
    let report = perform(named.experiment, run.effort, progress)?;
    report.check()?;
    Ok(RecordedResult {
        not_measured: Vec::new(),
        report: serde_json::to_value(&report)?,
    })
}

impl RecordedResult {
    fn of_table(report: &TableReport) -> Result<Self> {
        Ok(Self {
            not_measured: report.rows.iter().filter_map(UnmeasuredRow::of).collect(),
            report: serde_json::to_value(report)?,
        })
    }

    /// A sheet has no status of a row, and says in a cell that it is predicted.
    fn of_sheet(report: &SheetReport) -> Result<Self> {
        let rows = report.rows.iter();
        let predicted = rows.filter(|row| row.iter().any(|cell| cell.contains("predicted")));
        let unmeasured = predicted.map(|row| UnmeasuredRow {
            row: row[..2].join(", "),
            reason: FIXED_SETS.to_owned(),
        });

        Ok(Self {
            not_measured: unmeasured.collect(),
            report: serde_json::to_value(report)?,
        })
    }
}

impl UnmeasuredRow {
    /// The row of a configuration of papir that was not measured; `None` for others.
    fn of(row: &TableRow) -> Option<Self> {
        let configuration = row.configuration.as_ref()?;
        let reason = match (&row.papir, &row.unmeasured) {
            (Status::NoParameters { reason }, _) => reason.clone(),
            (Status::NotBuiltIn, _) => "not built in".to_owned(),
            (_, limit) => limit.clone()?,
        };

        Some(Self {
            row: format!("{}, {}, {configuration}", row.database, row.entry),
            reason,
        })
    }
}

/// Writes a file under another name first: a file of the final name is complete.
fn write(path: &Path, file: &RecordedFile<'_>) -> Result<()> {
    let mut text = serde_json::to_string_pretty(file)?;
    text.push('\n');

    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(UNFINISHED);
    let unfinished = PathBuf::from(unfinished);
    fs::write(&unfinished, text).map_err(|error| cannot_write(&unfinished, &error))?;
    fs::rename(&unfinished, path).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Error {
    Error::usage(
        format!("{}: {error}", path.display()),
        "a folder that can be written",
    )
}
