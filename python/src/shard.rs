//! One of several machines with a database.

use std::ops::Range;
use std::path::PathBuf;

use papir_core::NoProgress;
use papir_core::erased::ErasedShard;
use papir_store::{division_of, open_shard};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::{of_core, of_store};
use crate::waiting::run;

/// The version of a snapshot, and its slices for each of `shards` machines, as (first, after the
/// last).
#[pyfunction]
pub(crate) fn slices(path: PathBuf, shards: usize) -> PyResult<(String, Vec<(usize, usize)>)> {
    let (version, division) = division_of(&path).map_err(of_store)?;
    let ranges = division.split(shards).map_err(of_core)?.into_iter();
    Ok((
        version.to_string(),
        ranges.map(|Range { start, end }| (start, end)).collect(),
    ))
}

/// Some slices of a snapshot.
#[pyclass(frozen, module = "pypapir")]
pub(crate) struct Shard {
    shard: ErasedShard,
    pool: ThreadPool,
}

#[pymethods]
impl Shard {
    /// Opens slices, to be answered on `threads` threads; by default on all cores.
    #[new]
    #[pyo3(signature = (path, start, end, threads = None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        start: usize,
        end: usize,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads.unwrap_or(0))
            .build()
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;

        run(py, |_| {
            let shard = pool
                .install(|| open_shard(&path, start..end))
                .map_err(of_store)?;
            Ok(Self { shard, pool })
        })?
    }

    /// The version, 16 hexadecimal digits.
    #[getter]
    fn version(&self) -> String {
        self.shard.version().to_string()
    }

    /// The partial answers to queries, in order.
    fn partials(&self, py: Python<'_>, queries: Vec<Vec<u8>>) -> PyResult<Vec<Vec<u8>>> {
        run(py, |_| {
            let queries: Vec<&[u8]> = queries.iter().map(Vec::as_slice).collect();
            let partials = self
                .pool
                .install(|| self.shard.partial_many(&queries, &NoProgress));

            partials
                .into_iter()
                .collect::<Result<Vec<_>, _>>()
                .map_err(of_core)
        })?
    }
}
