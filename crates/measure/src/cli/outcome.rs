//! Runs of benchmarks, and their results.

use std::io::Write;

use papir_core::{Choice, Progress, Shape};

use crate::batch::{self, BatchReport};
use crate::definitions::BenchWork;
use crate::effort::{Effort, MeasurementPlan};
use crate::measure::measure;
use crate::psi::{self, PsiReport};
use crate::records::Synthetic;
use crate::report::{write_json, write_table};
use crate::{Error, Report, Result, schemes};

/// A scheme of a comparison that could not be measured.
#[derive(Clone, Debug, serde::Serialize)]
pub struct NotMeasured {
    /// Name of the scheme.
    pub scheme: String,
    /// Reason that it was not measured.
    pub reason: String,
}

/// Result of a benchmark.
pub enum Outcome {
    /// A report for each scheme. In a comparison, also the schemes that do not support the
    /// database.
    Schemes(Vec<Report>, Vec<NotMeasured>),
    /// Report of a benchmark of batches.
    Batch(BatchReport),
    /// Report of a set intersection.
    Psi(PsiReport),
}

/// Runs a benchmark.
///
/// # Errors
/// The errors of the measurement.
pub fn perform(work: BenchWork<'_>, effort: Effort, progress: &dyn Progress) -> Result<Outcome> {
    match work {
        BenchWork::Batch(config) => batch::measure(config, effort, progress).map(Outcome::Batch),
        BenchWork::Psi(config) => psi::measure(config, effort, progress).map(Outcome::Psi),
        BenchWork::Schemes {
            schemes,
            records,
            record_bits,
            choice,
        } => compare(
            schemes,
            Shape::new(records, record_bits)?,
            choice,
            effort,
            progress,
        ),
    }
}

/// Measures schemes on one database.
fn compare(
    schemes: &[&str],
    shape: Shape,
    choice: Choice,
    effort: Effort,
    progress: &dyn Progress,
) -> Result<Outcome> {
    let records = Synthetic::of(shape);
    let plan = MeasurementPlan {
        records: &records,
        expected: &records,
        choice,
        effort,
    };
    let mut reports = Vec::new();
    let mut not_measured = Vec::new();

    for name in schemes {
        match measure_named(name, &plan, progress) {
            Ok(report) => reports.push(report),
            // In a comparison, one failing scheme must not hide the results of the others.
            Err(error @ (Error::Core(_) | Error::Usage { .. })) if schemes.len() > 1 => {
                not_measured.push(NotMeasured {
                    scheme: (*name).to_owned(),
                    reason: error.to_string(),
                });
            }
            Err(error) => return Err(error),
        }
    }

    // A comparison without any report is a failure, which an exit code must show.
    if let ([], [first, ..]) = (&reports[..], &not_measured[..]) {
        return Err(Error::usage(
            &first.reason,
            "a database that one of the schemes supports",
        ));
    }
    Ok(Outcome::Schemes(reports, not_measured))
}

/// Measures the scheme with this name.
fn measure_named(
    name: &str,
    plan: &MeasurementPlan<'_>,
    progress: &dyn Progress,
) -> Result<Report> {
    measure(&*schemes::by_name(name)?, plan, progress)
}

impl Outcome {
    pub(super) fn write(&self, out: &mut dyn Write, json: bool) -> Result<()> {
        match (self, json) {
            (Self::Schemes(reports, not_measured), false) => {
                write_table(out, reports)?;
                for NotMeasured { scheme, reason } in not_measured {
                    writeln!(out, "{scheme} not measured: {reason}")?;
                }
                Ok(())
            }
            (Self::Batch(report), false) => report.write_table(out),
            (Self::Psi(report), false) => report.write_table(out),
            (Self::Schemes(reports, not_measured), true) => match (&reports[..], &not_measured[..])
            {
                // A single report is an object and no array of one, because most calls measure one
                // scheme.
                ([report], []) => write_json(out, report),
                (_, []) => write_json(out, reports),
                // One array for both, so that a reader finds every scheme that was asked for.
                _ => write_json(out, &both(reports, not_measured)?),
            },
            (Self::Batch(report), true) => write_json(out, report),
            (Self::Psi(report), true) => write_json(out, report),
        }
    }

    /// Checks that all returned records were correct.
    ///
    /// # Errors
    /// [`Error::Wrong`] if a record was wrong.
    pub fn check(&self) -> Result<()> {
        let wrong: Vec<&str> = match self {
            Self::Schemes(reports, _) => reports
                .iter()
                .filter(|report| !report.correct)
                .map(|report| report.scheme)
                .collect(),
            Self::Batch(report) if !report.correct => vec![report.part],
            Self::Psi(report) if !report.correct => vec![report.part],
            Self::Batch(_) | Self::Psi(_) => Vec::new(),
        };

        if wrong.is_empty() {
            return Ok(());
        }

        Err(Error::Wrong {
            what: wrong.join(", "),
        })
    }
}

/// Returns the reports as JSON, followed by the schemes that were not measured.
fn both(reports: &[Report], not_measured: &[NotMeasured]) -> Result<Vec<serde_json::Value>> {
    let values = reports
        .iter()
        .map(serde_json::to_value)
        .chain(not_measured.iter().map(serde_json::to_value));
    Ok(values.collect::<Result<_, _>>()?)
}
