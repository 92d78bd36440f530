//! Tasks that prepare a database on many machines.

use std::path::PathBuf;

use papir_core::{Error as CoreError, NoProgress, Progress, Result as CoreResult};
use papir_store::{RunTasks, Tasks};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};

use crate::errors::of_core;
use crate::waiting::run;

/// A Python function that runs tasks: it takes their folder, and how many encode and prepare, and returns
/// an iterator of (stage, done, of), which ends with the tasks.
pub(crate) struct Function(pub(crate) Py<PyAny>);

impl RunTasks for Function {
    fn run(&self, tasks: &Tasks, progress: &dyn Progress) -> CoreResult<()> {
        let failed = |error: PyErr| CoreError::Io {
            what: "running the tasks of a build".to_owned(),
            source: std::io::Error::other(error.to_string()),
        };
        let started = Python::attach(|py| {
            let steps = self.0.call1(py, (&tasks.folder, tasks.encode, tasks.prepare))?;
            Ok(steps.bind(py).try_iter()?.unbind())
        });
        let (steps, mut shown) = (started.map_err(failed)?, (String::new(), 0));
        // The lock is free between two steps, when Ctrl-C is looked for.
        while let Some((stage, done, of)) = Python::attach(|py| next(steps.bind(py))).map_err(failed)? {
            if stage != shown.0 {
                progress.stage(&stage, of);
                shown = (stage, 0);
            }
            progress.advance(done - shown.1);
            shown.1 = done;
        }
        Ok(())
    }
}

/// The next step of running tasks.
fn next(steps: &Bound<'_, PyIterator>) -> PyResult<Option<(String, u64, u64)>> {
    steps.clone().next().transpose()?.map(|step| step.extract()).transpose()
}

/// Encodes the columns of a task of the build in `folder`, on `threads` threads.
#[pyfunction]
pub(crate) fn encode_task(py: Python<'_>, folder: PathBuf, task: usize, threads: usize) -> PyResult<()> {
    on_threads(py, threads, || papir_store::encode_task(&folder, task, &NoProgress))
}

/// Prepares the slices of a task of the build in `folder`, on `threads` threads.
#[pyfunction]
pub(crate) fn prepare_task(py: Python<'_>, folder: PathBuf, task: usize, threads: usize) -> PyResult<()> {
    on_threads(py, threads, || papir_store::prepare_task(&folder, task, &NoProgress))
}

fn on_threads(py: Python<'_>, threads: usize, work: impl FnOnce() -> CoreResult<()> + Send) -> PyResult<()> {
    let failed = |error: ThreadPoolBuildError| PyRuntimeError::new_err(error.to_string());
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(failed)?;
    run(py, |_| pool.install(work))?.map_err(of_core)
}
