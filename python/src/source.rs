//! Sources in Python: paths, tables, pairs, arrays.

use std::path::PathBuf;

use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use papir_core::{Error as CoreError, Records, Result as CoreResult, Shape, check_read};
use papir_store::{BuildOptions, Given};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrow::Batches;
use crate::errors::of_core;
use crate::pairs::{KEY, Pairs, VALUE};

/// A source in Python.
pub(crate) enum Source<'py> {
    /// Rows, which are in the options.
    Rows,
    /// Records of one length.
    Array(Array<'py>),
}

impl<'py> Source<'py> {
    /// The source, and the options of a build from it to `out`, with the columns of keys and
    /// values.
    pub(crate) fn options(
        source: &Bound<'py, PyAny>,
        out: PathBuf,
        key: Option<String>,
        values: Vec<String>,
    ) -> PyResult<(BuildOptions, Self)> {
        let named = BuildOptions::new(format!("a {}", source.get_type().name()?), &out);

        if let Ok(path) = source.extract::<PathBuf>() {
            return Ok((
                BuildOptions {
                    key,
                    values,
                    ..BuildOptions::new(path, out)
                },
                Self::Rows,
            ));
        }

        if source.hasattr("__arrow_c_stream__")? {
            let rows = Given::new(Batches::of(source)?);
            return Ok((
                BuildOptions {
                    given: Some(rows),
                    key,
                    values,
                    ..named
                },
                Self::Rows,
            ));
        }

        // Without this attribute there may be no numpy, which the extraction needs.
        if source.hasattr("__array_interface__")?
            && let Ok(array) = source.extract::<PyReadonlyArray2<'py, u8>>()
        {
            let source = BuildOptions::new("an array", out);
            return Ok((
                BuildOptions {
                    key,
                    values,
                    ..source
                },
                Self::Array(Array(array)),
            ));
        }

        let Ok(pairs) = Pairs::new(source) else {
            return Err(PyTypeError::new_err(format!(
                "found {}: expected a path, a table with __arrow_c_stream__, a dict, pairs of keys and values, or \
                 an array of uint8 with a row for each record",
                source.get_type()
            )));
        };

        let (key, values) = match key.is_none() && values.is_empty() {
            true => (Some(KEY.to_owned()), vec![VALUE.to_owned()]),
            false => (key, values),
        };

        Ok((
            BuildOptions {
                given: Some(Given::new(pairs)),
                key,
                values,
                ..named
            },
            Self::Rows,
        ))
    }
}

/// An array with a row for each record.
pub(crate) struct Array<'py>(PyReadonlyArray2<'py, u8>);

impl Array<'_> {
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
