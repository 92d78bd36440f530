//! Builds snapshots.

use std::path::PathBuf;

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use papir_core::{Error as CoreError, Records, Result as CoreResult, Shape, check_read};
use papir_store::{BuildOptions, BuildReport, Given, build_announced, build_records};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::PyRecordBatchReader;

use crate::arrow::Batches;
use crate::errors::{of_core, of_store};
use crate::pairs::{KEY, Pairs, VALUE};
use crate::progress::Reporter;
use crate::waiting::run;

/// The default scheme, as of `papir build`.
const DEFAULT_SCHEME: &str = "inspire";

/// A source in Python.
enum Source<'py> {
    /// A file or folder.
    Path(PathBuf),
    /// Rows of a table.
    Table(Given),
    /// Keys and values.
    Pairs(Given),
    /// Records of one length.
    Array(PyReadonlyArray2<'py, u8>),
}

impl<'py> Source<'py> {
    fn of(source: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(path) = source.extract::<PathBuf>() {
            return Ok(Self::Path(path));
        }
        if source.hasattr("__arrow_c_stream__")? {
            let reader: PyRecordBatchReader = source.extract()?;
            let reader = reader.into_reader().map_err(|error| PyValueError::new_err(error.to_string()))?;
            return Ok(Self::Table(Given::new(Batches::new(reader))));
        }
        if let Ok(array) = source.extract::<PyReadonlyArray2<'py, u8>>() {
            return Ok(Self::Array(array));
        }
        match Pairs::new(source) {
            Ok(pairs) => Ok(Self::Pairs(Given::new(pairs))),
            Err(_) => Err(PyTypeError::new_err(format!(
                "found {}: expected a path, a table with __arrow_c_stream__, a dict, pairs of keys and values, or \
                 an array of uint8 with a row for each record",
                source.get_type()
            ))),
        }
    }

    /// The columns of pairs, if none are given.
    fn columns(&self, key: Option<String>, values: Vec<String>) -> (Option<String>, Vec<String>) {
        match self {
            Self::Pairs(_) if key.is_none() && values.is_empty() => {
                (Some(KEY.to_owned()), vec![VALUE.to_owned()])
            }
            _ => (key, values),
        }
    }
}

/// Rows of an array as records.
struct Rows<'a> {
    bytes: &'a [u8],
    shape: Shape,
}

impl Records for Rows<'_> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> CoreResult<()> {
        check_read(&self.shape, first, count, out.len())?;
        let start = first as usize * self.shape.record_bytes();
        let bytes = self.bytes.get(start..start + out.len()).ok_or(CoreError::EmptyDatabase)?;
        out.copy_from_slice(bytes);
        Ok(())
    }
}

/// Builds a snapshot: see `pypapir.build`, which has the defaults.
#[pyfunction]
#[pyo3(signature = (source, out, *, key, values, scheme, goal, verifiable, memory, name, params, progress))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn build<'py>(
    py: Python<'py>,
    source: Bound<'py, PyAny>,
    out: PathBuf,
    key: Option<String>,
    values: Vec<String>,
    scheme: Option<String>,
    goal: Option<String>,
    verifiable: bool,
    memory: Option<u64>,
    name: Option<String>,
    params: Option<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (label, source) = (source.get_type().name()?.to_string(), Source::of(&source)?);
    let mut options = BuildOptions::new(format!("a {label}"), out);
    (options.key, options.values) = source.columns(key, values);
    options.scheme = scheme.unwrap_or_else(|| DEFAULT_SCHEME.to_owned());
    if let Some(goal) = goal {
        options.goal = goal.parse().map_err(of_core)?;
    }
    (options.verifiable, options.memory, options.name, options.params) = (verifiable, memory, name, params);
    let built = match source {
        Source::Path(path) => {
            options.source = path;
            build_rows(py, options, progress)?
        }
        Source::Table(rows) | Source::Pairs(rows) => {
            options.given = Some(rows);
            build_rows(py, options, progress)?
        }
        Source::Array(array) => {
            let shape = Shape::of_bytes(array.shape()[0] as u64, array.shape()[1] as u64).map_err(of_core)?;
            let bytes = array.as_slice().map_err(|_| PyValueError::new_err("the array is not contiguous"))?;
            let records = Rows { bytes, shape };
            run(py, |interrupt| {
                let reporter = Reporter::new(interrupt, progress);
                build_records(&options, &records, &mut papir_client::system_rng(), &reporter)
            })?
        }
    };
    report(py, &built.map_err(of_store)?)
}

fn build_rows(
    py: Python<'_>,
    options: BuildOptions,
    progress: Option<Py<PyAny>>,
) -> PyResult<papir_store::Result<BuildReport>> {
    run(py, |interrupt| {
        let reporter = Reporter::new(interrupt, progress);
        build_announced(&options, &|_| Ok(()), &mut papir_client::system_rng(), &reporter)
    })
}

fn report<'py>(py: Python<'py>, report: &BuildReport) -> PyResult<Bound<'py, PyDict>> {
    let (metadata, sizes) = (&report.metadata, &report.description.sizes);
    let dict = PyDict::new(py);
    dict.set_item("name", &metadata.name)?;
    dict.set_item("scheme", &metadata.scheme)?;
    dict.set_item("version", &metadata.version)?;
    dict.set_item("entries", metadata.source.entries)?;
    dict.set_item("records", metadata.records)?;
    dict.set_item("record_bits", metadata.record_bits)?;
    dict.set_item("snapshot_bytes", report.snapshot_bytes)?;
    dict.set_item("public_bytes", sizes.public)?;
    dict.set_item("query_bytes", sizes.query)?;
    dict.set_item("answer_bytes", sizes.answer)?;
    Ok(dict)
}
