//! Shortest times of repeated measurements.
//!
//! Interference from other programs only adds time, so the minimum is closest to the true cost.

use papir_core::erased::ErasedScheme;
use papir_core::{Choice, Description, Progress, Shape};

use crate::effort::{Effort, MeasurementPlan};
use crate::measure::measure;
use crate::records::Synthetic;
use crate::report::Stages;
use crate::schemes::candidate;
use crate::{Error, Report, Result};

/// Measures a database of whole-byte records `repeats` times, at least once.
///
/// Returns a report with the minimum of each time, and the description of the parameters.
///
/// # Errors
/// The errors of [`measure`], and [`Error::Wrong`] if a record was wrong.
pub fn best(
    scheme: &dyn ErasedScheme,
    shape: Shape,
    choice: Choice,
    effort: Effort,
    repeats: usize,
    progress: &dyn Progress,
) -> Result<(Report, Description)> {
    let records = Synthetic::new(shape.records(), shape.record_bytes() as u64)?;
    let plan = MeasurementPlan {
        records: &records,
        expected: &records,
        choice,
        effort,
    };

    let once = || match measure(scheme, &plan, progress)? {
        // The time of an answer that is wrong says nothing about a right one.
        report if report.correct => Ok(report),
        report => Err(Error::Wrong {
            what: report.scheme.to_owned(),
        }),
    };

    let mut found = once()?;
    for _ in 1..repeats {
        found = minimum(found, &once()?);
    }

    Ok((found, candidate(scheme, shape, choice)?.description))
}

/// Combines two reports: keeps the smaller of each pair of times.
fn minimum(mut a: Report, b: &Report) -> Report {
    // Each time on its own: a run that was disturbed in one stage may be the fastest in another.
    // Sizes are equal in both reports.
    let times = [
        (&mut a.answer_ms, b.answer_ms),
        (&mut a.query_ms, b.query_ms),
        (&mut a.extract_ms, b.extract_ms),
        (&mut a.encode_s, b.encode_s),
        (&mut a.hint_s, b.hint_s),
        (&mut a.material_s, b.material_s),
        (&mut a.offline_s, b.offline_s),
        (&mut a.group.core_ms_per_lookup, b.group.core_ms_per_lookup),
    ];
    for (one, other) in times {
        *one = one.min(other);
    }

    // The same scheme with the same parameters has the same stages in the same order.
    let stages = a.stages.0.iter().zip(&b.stages.0);
    a.stages = Stages(
        stages
            .map(|(one, other)| (one.0.clone(), one.1.min(other.1)))
            .collect(),
    );
    a
}
