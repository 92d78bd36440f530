//! Keys and values of Python: dicts, and iterables of pairs.

use std::sync::{Mutex, PoisonError};

use papir_core::Error as CoreError;
use papir_store::{Cell, Error, GivenRows, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// The column of keys.
pub(crate) const KEY: &str = "key";
/// The column of values.
pub(crate) const VALUE: &str = "value";
/// Pairs that are taken from Python together.
const BLOCK: usize = 4096;

/// An iterator over pairs, which is used once.
pub(crate) struct Pairs {
    iterator: Mutex<Option<Py<PyAny>>>,
    count: u64,
}

impl Pairs {
    /// The items of a mapping, or the pairs of an iterable.
    pub(crate) fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let count = source.len().unwrap_or_default() as u64;
        let items = match source.hasattr("items")? {
            true => source.call_method0("items")?,
            false => source.clone(),
        };
        Ok(Self {
            iterator: Mutex::new(Some(items.try_iter()?.into_any().unbind())),
            count,
        })
    }
}

impl GivenRows for Pairs {
    fn columns(&self) -> Vec<String> {
        vec![KEY.to_owned(), VALUE.to_owned()]
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn each(&self, wanted: &[&str], on_row: &mut dyn FnMut(Vec<Cell>) -> Result<()>) -> Result<()> {
        let taken = self
            .iterator
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let iterator = taken.ok_or_else(|| refused("an iterator that was used before"))?;

        loop {
            let block = Python::attach(|py| take(iterator.bind(py)))
                .map_err(|error| refused(&error.to_string()))?;
            if block.is_empty() {
                return Ok(());
            }

            for [key, value] in block {
                let mut pair = [Some(key), Some(value)];

                let row = wanted.iter().map(|name| {
                    pair[usize::from(*name == VALUE)]
                        .take()
                        .unwrap_or(Cell::Null)
                });
                on_row(row.collect())?;
            }
        }
    }
}

fn refused(found: &str) -> Error {
    CoreError::malformed(
        "pairs of keys and values",
        found,
        "pairs of bytes or str, once",
    )
    .into()
}

/// The next pairs of an iterator, at most [`BLOCK`].
fn take(iterator: &Bound<'_, PyAny>) -> PyResult<Vec<[Cell; 2]>> {
    let items = iterator.try_iter()?.take(BLOCK);
    items
        .map(|item| {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item?.extract()?;
            Ok([cell(&key)?, cell(&value)?])
        })
        .collect()
}

/// Bytes as they are, text as UTF-8, None as nothing, numbers as their text.
fn cell(value: &Bound<'_, PyAny>) -> PyResult<Cell> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Cell::Bytes(bytes.as_bytes().to_vec()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Cell::text(text.to_str()?));
    }
    if value.is_none() {
        return Ok(Cell::Null);
    }

    match value.extract::<i64>() {
        Ok(number) => Ok(Cell::Json(number.to_string())),
        Err(_) => Ok(Cell::Bytes(value.extract::<Vec<u8>>()?)),
    }
}
