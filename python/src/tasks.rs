//! Tasks that prepare a database on many machines.

use std::path::{Path, PathBuf};

use papir_core::{Error as CoreError, NoProgress, Progress, Result as CoreResult};
use papir_store::{Given, RunTasks, Tasks};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};

use crate::arrow::Batches;
use crate::errors::{of_core, of_store};
use crate::waiting::run;

/// Python functions that run tasks.
pub(crate) struct Functions {
    /// Takes the folder of a build, and returns an iterator of the names of parts, which ends once all are
    /// read. `None` if the build reads its rows itself.
    pub(crate) read: Option<Py<PyAny>>,
    /// Takes the folder, and how many tasks encode and prepare, and returns an iterator of (stage, done, of),
    /// which ends with the tasks.
    pub(crate) run: Py<PyAny>,
}

fn failed(error: PyErr) -> CoreError {
    CoreError::Io {
        what: "running the tasks of a build".to_owned(),
        source: std::io::Error::other(error.to_string()),
    }
}

impl RunTasks for Functions {
    fn read_rows(&self, folder: &Path, progress: &dyn Progress) -> CoreResult<Vec<String>> {
        let Some(read) = &self.read else { return Ok(Vec::new()) };
        progress.stage("reading", 0);
        let started = Python::attach(|py| Ok(read.call1(py, (folder,))?.bind(py).try_iter()?.unbind()));
        let (parts, mut names) = (started.map_err(failed)?, Vec::new());
        while let Some(name) = Python::attach(|py| next(parts.bind(py))).map_err(failed)? {
            names.push(name);
            progress.advance(1);
        }
        Ok(names)
    }

    fn run(&self, tasks: &Tasks, progress: &dyn Progress) -> CoreResult<()> {
        let started = Python::attach(|py| {
            let steps = self.run.call1(py, (&tasks.folder, tasks.encode, tasks.prepare))?;
            Ok(steps.bind(py).try_iter()?.unbind())
        });
        let (steps, mut shown) = (started.map_err(failed)?, (String::new(), 0));
        // The lock is free between two steps, when Ctrl-C is looked for.
        while let Some(step) = Python::attach(|py| next(steps.bind(py))).map_err(failed)? {
            let (stage, done, of): (String, u64, u64) = step;
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
fn next<T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>>(
    steps: &Bound<'_, PyIterator>,
) -> PyResult<Option<T>> {
    steps.clone().next().transpose()?.map(|step| step.extract()).transpose()
}

/// Adds the rows of a table of Arrow as a part to the build in `folder`.
#[pyfunction]
pub(crate) fn add_rows(py: Python<'_>, folder: PathBuf, name: &str, rows: &Bound<'_, PyAny>) -> PyResult<()> {
    let rows = Given::new(Batches::of(rows)?);
    run(py, |_| papir_store::add_rows(&folder, name, &rows))?.map_err(of_store)
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
