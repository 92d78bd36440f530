//! Rows of Arrow tables: what pyarrow, pandas and polars give by `__arrow_c_stream__`.

use std::iter;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use papir_core::Error as CoreError;
use papir_store::{Cell, Error, GivenRows, Result, each_arrow_row};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};

use crate::errors::carried;
use crate::items::{ItemIterator, ReadOnce};

type BatchReader = Box<dyn RecordBatchReader + Send>;

/// The batches of a table, which are read once.
pub(crate) struct Batches {
    schema: SchemaRef,
    reader: ReadOnce<BatchReader>,
}

/// Returns whether an object is a table with a stream of batches.
pub(crate) fn has_stream(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.hasattr("__arrow_c_stream__")
}

/// Returns whether an object is a batch.
pub(crate) fn is_batch(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.hasattr("__arrow_c_array__")
}

impl Batches {
    /// The batches of an object with `__arrow_c_stream__`.
    pub(crate) fn of(table: &Bound<'_, PyAny>) -> PyResult<Self> {
        let reader = reader_of_table(table)?;
        Ok(Self {
            schema: reader.schema(),
            reader: ReadOnce::new(reader),
        })
    }
}

/// The batches of an object with `__arrow_c_stream__`.
fn reader_of_table(table: &Bound<'_, PyAny>) -> PyResult<BatchReader> {
    let reader = table.extract::<PyRecordBatchReader>()?.into_reader();
    reader.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Batches and tables that an iterator of Python yields, read once.
///
/// An iterator with a stream of its own, such as pyarrow's reader, is read so, too: of an exception
/// the stream would pass on the text only.
pub(crate) struct YieldedBatches {
    schema: SchemaRef,
    yielded: ReadOnce<Yielded>,
}

/// The batches of the first item, and the other items.
struct Yielded {
    first: BatchStream,
    rest: ItemIterator,
}

/// The batches of one item.
type BatchStream = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

impl YieldedBatches {
    /// Batches with the columns of the first item.
    pub(crate) fn new(first: &Bound<'_, PyAny>, rest: ItemIterator) -> PyResult<Self> {
        let YieldedItem { schema, batches } = YieldedItem::of(first)?;
        Ok(Self {
            schema,
            yielded: ReadOnce::new(Yielded {
                first: batches,
                rest,
            }),
        })
    }
}

/// A batch or table that an iterator yields.
struct YieldedItem {
    schema: SchemaRef,
    batches: BatchStream,
}

impl YieldedItem {
    fn of(item: &Bound<'_, PyAny>) -> PyResult<Self> {
        if is_batch(item)? {
            let batch = item.extract::<PyRecordBatch>()?.into_inner();
            return Ok(Self {
                schema: batch.schema(),
                batches: Box::new(iter::once(Ok(batch))),
            });
        }

        let reader = reader_of_table(item)?;
        Ok(Self {
            schema: reader.schema(),
            batches: Box::new(reader),
        })
    }
}

impl Yielded {
    /// Calls a function with each batch.
    fn each(mut self, mut on_batch: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let mut batches = self.first;
        loop {
            for batch in batches {
                on_batch(&batch.map_err(|error| refused(error, "batches of Arrow"))?)?;
                self.rest.check();
            }

            let next = Python::attach(|py| -> PyResult<Option<YieldedItem>> {
                let item = self.rest.take_next(py)?;
                item.map(|item| YieldedItem::of(&item)).transpose()
            });
            match next.map_err(carried)? {
                Some(item) => batches = item.batches,
                None => return Ok(()),
            }
        }
    }
}

impl GivenRows for YieldedBatches {
    fn columns(&self) -> Vec<String> {
        names_of(&self.schema)
    }

    fn each(&self, wanted: &[&str], on_row: &mut dyn FnMut(Vec<Cell>) -> Result<()>) -> Result<()> {
        let yielded = self.yielded.take()?;
        yielded.each(|batch| each_arrow_row(batch, wanted, on_row))
    }
}

/// The names of all columns.
fn names_of(schema: &SchemaRef) -> Vec<String> {
    schema
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect()
}

impl GivenRows for Batches {
    fn columns(&self) -> Vec<String> {
        names_of(&self.schema)
    }

    fn each(&self, wanted: &[&str], on_row: &mut dyn FnMut(Vec<Cell>) -> Result<()>) -> Result<()> {
        for batch in self.reader.take()? {
            let batch = batch.map_err(|error| refused(error, "batches of Arrow"))?;
            each_arrow_row(&batch, wanted, on_row)?;
        }
        Ok(())
    }
}

fn refused(found: impl ToString, expected: impl ToString) -> Error {
    CoreError::malformed("a table", found, expected).into()
}
