//! Keys and values of Python: dicts, and iterables of pairs or of rows.

use papir_store::{Cell, GivenRows, Result};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PyString, PyTuple};

use crate::items::{ItemFault, ItemIterator, ReadOnce, cell};

/// The column of keys.
pub(crate) const KEY: &str = "key";
/// The column of values.
pub(crate) const VALUE: &str = "value";

/// Pairs of keys and values, which are read once.
pub(crate) struct Pairs {
    items: ReadOnce<ItemIterator>,
    count: u64,
}

impl Pairs {
    /// `count` is the number of pairs; 0 if it is not known.
    pub(crate) fn new(items: ItemIterator, count: u64) -> Self {
        Self {
            items: ReadOnce::new(items),
            count,
        }
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
        let mut items = self.items.take()?;

        loop {
            let block = items.block(pair)?;
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

/// The key and the value of a tuple or list of two.
fn pair(item: &Bound<'_, PyAny>) -> Result<[Cell; 2], ItemFault> {
    let is_pair = item.is_instance_of::<PyTuple>() || item.is_instance_of::<PyList>();
    if !is_pair || item.len()? != 2 {
        let expected = "pairs of a key and a value, or dicts";
        return Err(ItemFault::of_type(item, expected));
    }

    Ok([cell(&item.get_item(0)?)?, cell(&item.get_item(1)?)?])
}

/// Rows that are mappings from columns to values, read once.
pub(crate) struct YieldedRows {
    columns: Vec<String>,
    items: ReadOnce<ItemIterator>,
    count: u64,
}

impl YieldedRows {
    /// Rows with the columns of the first. `count` is the number of rows; 0 if it is not known.
    ///
    /// # Errors
    /// The exceptions of the first row; `TypeError` if it has a column that is not named by a str.
    pub(crate) fn new(
        first: &Bound<'_, PyMapping>,
        items: ItemIterator,
        count: u64,
    ) -> PyResult<Self> {
        let columns = first
            .keys()?
            .iter()
            .map(|name| name.extract::<String>())
            .collect::<PyResult<Vec<_>>>()?;
        Ok(Self {
            columns,
            items: ReadOnce::new(items),
            count,
        })
    }
}

impl GivenRows for YieldedRows {
    fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn each(&self, wanted: &[&str], on_row: &mut dyn FnMut(Vec<Cell>) -> Result<()>) -> Result<()> {
        let mut items = self.items.take()?;
        let names: Vec<Py<PyString>> = Python::attach(|py| {
            wanted
                .iter()
                .map(|name| PyString::new(py, name).unbind())
                .collect()
        });

        loop {
            let block = items.block(|item| row(item, &names))?;
            if block.is_empty() {
                return Ok(());
            }
            block.into_iter().try_for_each(&mut *on_row)?;
        }
    }
}

/// The cells of a row. As in JSON Lines, each row has all wanted columns.
fn row(item: &Bound<'_, PyAny>, names: &[Py<PyString>]) -> Result<Vec<Cell>, ItemFault> {
    let Ok(row) = item.cast::<PyMapping>() else {
        return Err(ItemFault::of_type(item, "a dict, as the first row is"));
    };

    names
        .iter()
        .map(|name| {
            let name = name.bind(item.py());
            if !row.contains(name)? {
                return Err(ItemFault::refused(
                    format!("a row without `{name}`"),
                    "the columns of the first row",
                ));
            }
            cell(&row.get_item(name)?)
        })
        .collect()
}
