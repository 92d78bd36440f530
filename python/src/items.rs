//! Iterators of Python as sources, whose first item tells what the others are.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use papir_core::Error as CoreError;
use papir_store::{Cell, Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyIterator, PyList, PyString, PyTuple};

use crate::errors::carried;
use crate::waiting::{INTERVAL, Interrupt};

/// Most items that are taken from Python together.
const BLOCK: usize = 4096;

/// An iterator, with its first item.
pub(crate) struct ItemIterator {
    first: Option<Py<PyAny>>,
    rest: Py<PyIterator>,
    interrupt: Arc<Interrupt>,
}

impl ItemIterator {
    /// The items of an iterable, for work that the interrupt ends.
    ///
    /// # Errors
    /// The exceptions of the iterable; `TypeError` if it is none.
    pub(crate) fn of(iterable: &Bound<'_, PyAny>, interrupt: &Arc<Interrupt>) -> PyResult<Self> {
        let mut rest = iterable.try_iter()?;
        let first = rest.next().transpose()?;
        Ok(Self {
            first: first.map(Bound::unbind),
            rest: rest.unbind(),
            interrupt: Arc::clone(interrupt),
        })
    }

    /// The first item, until it is taken; `None` for an empty iterator.
    pub(crate) fn first<'py>(&self, py: Python<'py>) -> Option<&Bound<'py, PyAny>> {
        self.first.as_ref().map(|first| first.bind(py))
    }

    /// The next item; `None` after the last.
    ///
    /// # Errors
    /// The exception of the iterator.
    pub(crate) fn take_next<'py>(
        &mut self,
        py: Python<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.first.take() {
            Some(first) => Ok(Some(first.into_bound(py))),
            None => self.rest.bind(py).clone().next().transpose(),
        }
    }

    /// Ends the work after Ctrl-C: see [`Interrupt::check`]. Not while Python's lock is held.
    pub(crate) fn check(&self) {
        self.interrupt.check();
    }

    /// Parses the next items, at most [`BLOCK`], for a moment; empty after the last.
    ///
    /// # Errors
    /// The exception of the iterator, which passes through papir, and the fault of an item.
    pub(crate) fn block<T>(
        &mut self,
        mut parse: impl FnMut(&Bound<'_, PyAny>) -> Result<T, ItemFault>,
    ) -> Result<Vec<T>> {
        self.check();
        let started = Instant::now();

        Python::attach(|py| -> Result<Vec<T>> {
            let mut block = Vec::new();
            while let Some(item) = self.take_next(py).map_err(carried)? {
                block.push(parse(&item)?);
                // After the first item: an empty block is the end. A slow iterator makes short
                // ones, so that Ctrl-C is seen between them.
                if block.len() == BLOCK || started.elapsed() >= INTERVAL {
                    break;
                }
            }
            Ok(block)
        })
    }
}

/// An object that can be read once.
pub(crate) struct ReadOnce<T>(Mutex<Option<T>>);

impl<T> ReadOnce<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(Some(value)))
    }

    /// # Errors
    /// It was taken before.
    pub(crate) fn take(&self) -> Result<T> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .ok_or_else(|| malformed("a source that was read before", "a new one"))
    }
}

/// The fault of an item.
pub(crate) enum ItemFault {
    /// papir refuses the item.
    Refused(Error),
    /// An exception of the item's own code.
    Raised(PyErr),
}

impl From<PyErr> for ItemFault {
    fn from(exception: PyErr) -> Self {
        Self::Raised(exception)
    }
}

impl From<ItemFault> for Error {
    fn from(fault: ItemFault) -> Self {
        match fault {
            ItemFault::Refused(error) => error,
            ItemFault::Raised(exception) => carried(exception).into(),
        }
    }
}

impl ItemFault {
    /// papir refuses the item.
    pub(crate) fn refused(found: impl ToString, expected: impl ToString) -> Self {
        Self::Refused(malformed(found, expected))
    }

    /// The type of an item is not the expected one.
    pub(crate) fn of_type(item: &Bound<'_, PyAny>, expected: &str) -> Self {
        match item.get_type().name() {
            Ok(name) => Self::refused(format!("an item of type {name}"), expected),
            Err(exception) => Self::Raised(exception),
        }
    }
}

/// The error of a source that is not as expected.
pub(crate) fn malformed(found: impl ToString, expected: impl ToString) -> Error {
    CoreError::malformed("the source", found, expected).into()
}

/// The value of a cell, or why there is none.
pub(crate) fn cell(value: &Bound<'_, PyAny>) -> Result<Cell, ItemFault> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Cell::Bytes(bytes.as_bytes().to_vec()));
    }

    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_str();
        return text
            .map(Cell::text)
            .map_err(|error| ItemFault::refused(error, "text of Unicode characters"));
    }
    if value.is_none() {
        return Ok(Cell::Null);
    }
    number_or_bytes(value)
}

/// Booleans and numbers as Arrow's columns have them, objects like bytes as they are.
fn number_or_bytes(value: &Bound<'_, PyAny>) -> Result<Cell, ItemFault> {
    // Before the integers, of which Python's booleans are some.
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Cell::Json(flag.is_true().to_string()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Cell::float(number.value()));
    }
    if let Ok(number) = value.extract::<i64>() {
        return Ok(Cell::Json(number.to_string()));
    }
    if let Ok(number) = value.extract::<u64>() {
        return Ok(Cell::Json(number.to_string()));
    }

    // A list of small numbers would pass for bytes.
    let is_nested = value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PyDict>();
    match value.extract::<Vec<u8>>() {
        Ok(bytes) if !is_nested => Ok(Cell::Bytes(bytes)),
        _ => Err(ItemFault::of_type(
            value,
            "bytes, str, int of 64 bits, float, bool or None",
        )),
    }
}
