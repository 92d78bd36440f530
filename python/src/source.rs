//! Sources in Python: paths, tables, pairs, arrays.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use papir_core::{Error as CoreError, Records, Result as CoreResult, Shape, check_read};
use papir_store::{BuildOptions, Given, GivenRows};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMapping, PyString, PyTuple};

use crate::arrow::{Batches, YieldedBatches, has_stream, is_batch};
use crate::errors::{of_core, of_store};
use crate::items::ItemIterator;
use crate::login::address_of;
use crate::pairs::{KEY, Pairs, VALUE, YieldedRows};
use crate::waiting::Interrupt;

/// A source in Python.
pub(crate) enum Source<'py> {
    /// Rows, which are in the options.
    Rows,
    /// Records of one length.
    Array(Array<'py>),
}

impl<'py> Source<'py> {
    /// The source, and the options of a build from it to `out`, with the columns of keys and
    /// values. The interrupt ends the reading of its rows.
    pub(crate) fn options(
        source: &Bound<'py, PyAny>,
        out: PathBuf,
        key: Option<String>,
        values: Vec<String>,
        interrupt: &Arc<Interrupt>,
    ) -> PyResult<(BuildOptions, Self)> {
        let named = BuildOptions::new(format!("a {}", source.get_type().name()?), &out);

        if let Some(files) = files_of(source)? {
            let mut files = files.into_iter();
            let first = files.next().unwrap_or_default();
            return Ok((
                BuildOptions {
                    key,
                    values,
                    more: files.collect(),
                    ..BuildOptions::new(first, out)
                },
                Self::Rows,
            ));
        }

        // Without this attribute there may be no numpy, which the extraction needs.
        if source.hasattr("__array_interface__")? && source.hasattr("dtype")? {
            let array = Array::of(source)?;
            let source = BuildOptions::new("an array", out);
            return Ok((
                BuildOptions {
                    key,
                    values,
                    ..source
                },
                Self::Array(array),
            ));
        }

        let GivenTable { rows, is_pairs } = GivenTable::of(source, interrupt)?;
        let (key, values) = match is_pairs && key.is_none() && values.is_empty() {
            true => (Some(KEY.to_owned()), vec![VALUE.to_owned()]),
            false => (key, values),
        };

        Ok((
            BuildOptions {
                given: Some(rows),
                key,
                values,
                ..named
            },
            Self::Rows,
        ))
    }
}

/// The files that a path, a pattern, or a list of them names; `None` for another source.
fn files_of(source: &Bound<'_, PyAny>) -> PyResult<Option<Vec<PathBuf>>> {
    if is_path(source)? {
        return Ok(Some(expanded(&source.extract::<PathBuf>()?)?));
    }
    let is_list = source.is_instance_of::<PyList>() || source.is_instance_of::<PyTuple>();
    if !is_list || source.len()? == 0 {
        return Ok(None);
    }

    let mut files = Vec::new();
    for item in source.try_iter()? {
        let item = item?;
        if !is_path(&item)? {
            return Ok(None);
        }
        files.extend(expanded(&item.extract::<PathBuf>()?)?);
    }
    Ok(Some(files))
}

fn is_path(source: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(source.is_instance_of::<PyString>() || source.hasattr("__fspath__")?)
}

/// The files that a path names, if it is a pattern. The address of a server is none.
fn expanded(path: &Path) -> PyResult<Vec<PathBuf>> {
    if address_of(path).is_some() {
        return Ok(vec![path.to_owned()]);
    }
    papir_store::expand(path).map_err(of_store)
}

/// Rows of a program.
struct GivenTable {
    rows: Given,
    /// Set if its columns are a key and a value, which need not be named.
    is_pairs: bool,
}

impl GivenTable {
    /// The rows of a table, of a mapping or of an iterable.
    ///
    /// # Errors
    /// The exceptions of the source; `TypeError` for one of another kind.
    fn of(source: &Bound<'_, PyAny>, interrupt: &Arc<Interrupt>) -> PyResult<Self> {
        let is_iterator = source.hasattr("__next__")?;
        if has_stream(source)? && !is_iterator {
            return Ok(Self::with_columns(Batches::of(source)?));
        }

        let count = match source.hasattr("__len__")? {
            true => source.len()? as u64,
            false => 0,
        };
        if source.hasattr("items")? {
            let items = ItemIterator::of(&source.call_method0("items")?, interrupt)?;
            return Ok(Self::of_pairs(items, count));
        }

        if is_iterable(source)? {
            let items = ItemIterator::of(source, interrupt)?;
            return Self::yielded(source, items, count);
        }
        Err(refused(source))
    }

    /// The rows that a source yields, told apart by the first.
    fn yielded(source: &Bound<'_, PyAny>, mut items: ItemIterator, count: u64) -> PyResult<Self> {
        let py = source.py();
        let Some(first) = items.first(py).cloned() else {
            // A reader without batches still has columns.
            return match has_stream(source)? {
                true => Ok(Self::with_columns(Batches::of(source)?)),
                false => Ok(Self::of_pairs(items, count)),
            };
        };

        if is_batch(&first)? || has_stream(&first)? {
            items.take_next(py)?;
            return Ok(Self::with_columns(YieldedBatches::new(&first, items)?));
        }
        match first.cast::<PyMapping>() {
            Ok(row) => Ok(Self::with_columns(YieldedRows::new(row, items, count)?)),
            Err(_) => Ok(Self::of_pairs(items, count)),
        }
    }

    fn with_columns(rows: impl GivenRows + 'static) -> Self {
        Self {
            rows: Given::new(rows),
            is_pairs: false,
        }
    }

    fn of_pairs(items: ItemIterator, count: u64) -> Self {
        Self {
            rows: Given::new(Pairs::new(items, count)),
            is_pairs: true,
        }
    }
}

/// Returns whether a source has items. Those of bytes are numbers, and no rows.
fn is_iterable(source: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_bytes = source.is_instance_of::<PyBytes>() || source.is_instance_of::<PyByteArray>();
    Ok(!is_bytes && (source.hasattr("__iter__")? || source.hasattr("__getitem__")?))
}

/// The error for a source of another kind.
fn refused(source: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!(
        "found {}: expected a path, a table with __arrow_c_stream__ or an iterable of such tables, a dict, pairs of \
         keys and values, rows as dicts, or an array of uint8 with a row for each record",
        source.get_type()
    ))
}

/// An array with a row for each record.
pub(crate) struct Array<'py>(PyReadonlyArray2<'py, u8>);

impl<'py> Array<'py> {
    /// An array of numpy.
    ///
    /// # Errors
    /// `TypeError` unless it has two axes of `uint8`; `ImportError` without numpy.
    fn of(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(rows) = array.extract::<PyReadonlyArray2<'py, u8>>() {
            return Ok(Self(rows));
        }

        let kind = array.getattr("dtype")?;
        let axes = array.getattr("ndim")?;
        Err(PyTypeError::new_err(format!(
            "found an array of {kind} with {axes} axes: expected uint8 with 2, a row for each record"
        )))
    }

    /// Its records.
    pub(crate) fn rows(&self) -> PyResult<Rows<'_>> {
        let [records, bytes] = [0, 1].map(|axis| self.0.shape()[axis] as u64);
        let shape = Shape::of_bytes(records, bytes).map_err(of_core)?;
        let bytes = self
            .0
            .as_slice()
            .map_err(|_| PyValueError::new_err("the array is not contiguous"))?;
        Ok(Rows { bytes, shape })
    }
}

/// Rows of an array as records.
pub(crate) struct Rows<'a> {
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
        let bytes = self
            .bytes
            .get(start..start + out.len())
            .ok_or(CoreError::EmptyDatabase)?;
        out.copy_from_slice(bytes);
        Ok(())
    }
}
