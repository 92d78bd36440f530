//! Measurements of schemes.

use papir_core::{Choice, Goal};
use papir_measure::cli::{Outcome, perform};
use papir_measure::definitions::BenchWork;
use papir_measure::effort::Effort;
use pyo3::prelude::*;

use crate::errors::{of_bench, of_core, raised};
use crate::progress::Reporter;
use crate::waiting::run;

/// The arguments of `pypapir.bench` besides the schemes, which has their defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Measured {
    records: u64,
    record_bytes: u64,
    goal: Option<String>,
    runs: usize,
    threads: usize,
    clients: usize,
}

/// The measurements as JSON, and the schemes that refuse the database: see `pypapir.bench`.
#[pyfunction]
#[pyo3(signature = (schemes, measured, progress))]
pub(crate) fn bench(
    py: Python<'_>,
    schemes: Vec<String>,
    measured: Measured,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Vec<(String, String)>)> {
    let goal: Goal = match measured.goal.as_deref() {
        Some(goal) => goal.parse().map_err(of_core)?,
        None => Goal::default(),
    };
    let Measured {
        records,
        record_bytes,
        runs,
        threads,
        clients,
        ..
    } = measured;

    let schemes: Vec<&str> = schemes.iter().map(String::as_str).collect();
    let record_bits = record_bytes.saturating_mul(8);
    let work = BenchWork::Schemes {
        schemes: &schemes,
        records,
        record_bits,
        choice: Choice::Goal(goal),
    };
    let effort = Effort {
        threads,
        runs,
        clients,
    };

    let outcome = run(py, |interrupt| {
        perform(work, effort, &Reporter::new(interrupt, progress))
    })?;
    let outcome = outcome
        .and_then(|outcome| outcome.check().map(|()| outcome))
        .map_err(of_bench)?;

    let Outcome::Schemes(reports, refused) = outcome else {
        return Ok(("[]".to_owned(), Vec::new()));
    };

    let refused = refused
        .into_iter()
        .map(|one| (one.scheme, one.reason))
        .collect();

    let text = serde_json::to_string(&reports)
        .map_err(|error| raised::<crate::errors::Error>(error, None))?;
    Ok((text, refused))
}
