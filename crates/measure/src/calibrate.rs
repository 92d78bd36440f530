//! Calibration of the cost model on this machine.

use papir_core::Progress;
use papir_core::cost::Rates;
use papir_plan::calibration::{self, Measurement, Observation};

pub use papir_plan::calibration::CalibrationConfig;

use crate::best::best;
use crate::effort::Effort;
use crate::{Result, schemes};

/// Measures this machine's rates on one thread and on `threads` threads.
///
/// # Errors
/// The errors of [`best`].
pub fn calibrate(
    config: CalibrationConfig,
    threads: usize,
    progress: &dyn Progress,
) -> Result<Rates> {
    calibration::calibrate(config, threads, |wanted| observe(wanted, progress))
}

fn observe(wanted: Measurement, progress: &dyn Progress) -> Result<Observation> {
    let Measurement {
        scheme,
        shape,
        choice,
        threads,
        runs,
        repeats,
        clients,
    } = wanted;
    let effort = Effort {
        clients,
        ..Effort::alone(threads, runs)
    };

    // The shortest times, because rates are differences of them, and noise in a large time would be
    // all of a small difference.
    let (report, description) = best(
        &*schemes::by_name(scheme)?,
        shape,
        choice,
        effort,
        repeats,
        progress,
    )?;

    Ok(Observation {
        work: description.work,
        stages: report.stages.0,
        answer_ms: report.answer_ms,
        core_ms: report.group.core_ms_per_lookup,
        query_ms: report.query_ms,
        extract_ms: report.extract_ms,
        encode_s: report.encode_s,
        hint_s: report.hint_s,
        material_s: report.material_s,
        material_bytes: report.material_bytes,
    })
}
