//! Tasks that prepare a database on many machines.

use std::path::{Path, PathBuf};

use papir_core::{NoProgress, Progress, Result as CoreResult};
use papir_store::{Given, RunTasks, Tasks};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use rayon::ThreadPoolBuilder;

use crate::arrow::Batches;
use crate::errors::{carried, of_core, of_store};
use crate::waiting::run;

/// Python functions that run tasks.
pub(crate) struct Functions {
    /// Takes the folder of a build, and returns an iterator of the names of parts, and of None
    /// where it waits. It ends once all are read. `None` if the build reads its rows itself.
    pub(crate) read: Option<Py<PyAny>>,
    /// Takes the folder, and how many tasks encode and prepare, and returns an iterator of (stage,
    /// done, of), which ends with the tasks.
    pub(crate) run: Py<PyAny>,
}

impl RunTasks for Functions {
    fn read_rows(&self, folder: &Path, progress: &dyn Progress) -> CoreResult<Vec<String>> {
        let Some(read) = &self.read else {
            return Ok(Vec::new());
        };

        progress.stage("reading", 0);
        let parts = Steps::of(read, (folder,))?;
        let mut names = Vec::new();

        while let Some(part) = parts.next::<Option<String>>()? {
            progress.advance(part.is_some().into());
            names.extend(part);
        }
        Ok(names)
    }

    fn run(&self, tasks: &Tasks, progress: &dyn Progress) -> CoreResult<()> {
        let steps = Steps::of(&self.run, (&tasks.folder, tasks.encode, tasks.prepare))?;

        let mut shown = (String::new(), 0);
        // The lock is free between two steps, when Ctrl-C is looked for.
        while let Some((stage, done, of)) = steps.next::<(String, u64, u64)>()? {
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

/// An iterator over the steps of a Python generator. Dropping it closes the generator at once, so
/// that tasks stop before the build removes its folder.
struct Steps(Py<PyIterator>);

impl Steps {
    fn of(function: &Py<PyAny>, arguments: impl for<'py> PyCallArgs<'py>) -> CoreResult<Self> {
        let steps = Python::attach(|py| -> PyResult<Self> {
            let iterator = function.bind(py).call1(arguments)?.try_iter()?;
            Ok(Self(iterator.unbind()))
        });
        steps.map_err(carried)
    }

    fn next<T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>>(&self) -> CoreResult<Option<T>> {
        let next = Python::attach(|py| -> PyResult<Option<T>> {
            match self.0.bind(py).clone().next() {
                Some(step) => {
                    let step = step?;
                    step.extract().map(Some)
                }
                None => Ok(None),
            }
        });
        next.map_err(carried)
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        Python::attach(|py| {
            if let Err(error) = self.0.call_method0(py, "close") {
                error.write_unraisable(py, None);
            }
        });
    }
}

/// Adds the rows of a table of Arrow as a part to the build in `folder`.
#[pyfunction]
pub(crate) fn add_rows(
    py: Python<'_>,
    folder: PathBuf,
    name: &str,
    rows: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let rows = Given::new(Batches::of(rows)?);
    run(py, |_| papir_store::add_rows(&folder, name, &rows))?.map_err(of_store)
}

/// Encodes the columns of a task of the build in `folder`, on `threads` threads.
#[pyfunction]
pub(crate) fn encode_task(
    py: Python<'_>,
    folder: PathBuf,
    task: usize,
    threads: usize,
) -> PyResult<()> {
    on_threads(py, threads, || {
        papir_store::encode_task(&folder, task, &NoProgress)
    })
}

/// Prepares the slices of a task of the build in `folder`, on `threads` threads.
#[pyfunction]
pub(crate) fn prepare_task(
    py: Python<'_>,
    folder: PathBuf,
    task: usize,
    threads: usize,
) -> PyResult<()> {
    on_threads(py, threads, || {
        papir_store::prepare_task(&folder, task, &NoProgress)
    })
}

fn on_threads(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce() -> CoreResult<()> + Send,
) -> PyResult<()> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;

    run(py, |_| pool.install(work))?.map_err(of_core)
}
