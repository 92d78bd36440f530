//! Log of retries, by Python's `logging`.

use std::time::Duration;

use papir_client::{RetryObserver, RetryPause};
use pyo3::prelude::*;

/// The name of the logger.
const LOGGER: &str = "pypapir";
/// Longest retries that are not worth a warning, as for the program.
const MOMENT: Duration = Duration::from_secs(1);

/// Logs every pause before a request is tried again.
pub(crate) fn logged() -> RetryObserver {
    RetryObserver::new(|pause| {
        // There is no interpreter while the process ends, and nobody reads its log.
        let _ = Python::try_attach(|py| {
            if let Err(error) = log(py, pause) {
                // A handler of the application that fails must not end a lookup.
                error.write_unraisable(py, None);
            }
        });
    })
}

fn log(py: Python<'_>, pause: &RetryPause) -> PyResult<()> {
    let is_long = pause.since.saturating_add(pause.pause) > MOMENT;
    let level = if is_long { "warning" } else { "debug" };

    let logger = py.import("logging")?.call_method1("getLogger", (LOGGER,))?;
    let words = ("waiting for %s: %s", &pause.url, &pause.reason);
    logger.call_method1(level, words)?;
    Ok(())
}
