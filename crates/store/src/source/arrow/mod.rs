//! Reads Arrow files, which Feather version 2 is, and Arrow streams.

mod message;
mod value;

use std::path::Path;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::{Field, Schema};
use papir_core::Progress;

use super::cell::{self, Cell};
use super::guard::catch_panic;
use super::named::index_of;
use super::request::Columns;
use super::row::{Fault, OnRow, Position, SourceRow};
use crate::error::{Error, Result};
use crate::file::name_of;
use message::IpcMessages;
use value::CellReader;

/// The name of a table of a program, for errors.
const TABLE: &str = "the table";
/// The name by which Arrow's own extension type marks columns of UUIDs.
const UUID: &str = "arrow.uuid";

/// Reads the requested columns of all rows, numbered from 1. A file is read in order, as a stream
/// is. Returns the number of bytes read.
pub(super) fn rows(
    path: &Path,
    columns: Columns<'_>,
    progress: &dyn Progress,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let mut messages = IpcMessages::open(path, progress)?;
    let mut decoder = StreamDecoder::new();
    let mut table = ArrowRows {
        path,
        columns,
        indices: None,
        rows: 0,
    };

    while let Some(message) = messages.next_message()? {
        let mut bytes = Buffer::from_vec(message);
        // A message without a body is decoded together with the one after it.
        while !bytes.is_empty() {
            // Behind a barrier: the decoder answers some damage by a panic.
            let batch = catch_panic(|| decoder.decode(&mut bytes))
                .map_err(|reason| messages.damaged(&reason))?;
            if let Some(schema) = decoder.schema() {
                table.find(&schema)?;
            }
            if let Some(batch) = batch {
                table.pass(&batch, on_row)?;
            }
        }
    }

    if table.indices.is_none() {
        return Err(messages.damaged("no schema"));
    }
    Ok(messages.bytes())
}

/// Indices of the requested columns among all.
struct ColumnIndices {
    key: Option<usize>,
    values: Vec<usize>,
}

/// The rows of a file.
struct ArrowRows<'a> {
    path: &'a Path,
    columns: Columns<'a>,
    /// `None` until the schema is read.
    indices: Option<ColumnIndices>,
    /// Number of rows so far.
    rows: u64,
}

impl ArrowRows<'_> {
    /// Finds the requested columns in the schema, once.
    fn find(&mut self, schema: &Schema) -> Result<()> {
        if self.indices.is_some() {
            return Ok(());
        }

        let names = names_of(schema);
        let key = match self.columns.key {
            Some(name) => Some(index_of(self.path, &names, name)?),
            None => None,
        };
        let mut values = Vec::with_capacity(self.columns.values.len());
        for name in self.columns.values {
            values.push(index_of(self.path, &names, name)?);
        }
        self.indices = Some(ColumnIndices { key, values });
        Ok(())
    }

    /// Passes the rows of a batch on.
    fn pass(&mut self, batch: &RecordBatch, on_row: &mut OnRow<'_>) -> Result<()> {
        let Some(ColumnIndices { key, values }) = &self.indices else {
            return Ok(());
        };
        let key = match key {
            Some(index) => Some(ArrowColumn::of(self.path, batch, *index)?),
            None => None,
        };
        let mut columns = Vec::with_capacity(values.len());
        for index in values {
            columns.push(ArrowColumn::of(self.path, batch, *index)?);
        }

        let mut number = self.rows;
        for row in 0..batch.num_rows() {
            number += 1;
            let cells = catch_panic(|| Ok::<_, String>(row_of(key.as_ref(), &columns, row)));
            // Arrays are validated as they are decoded, so that this is damage nevertheless.
            let cells = cells.map_err(|reason| Error::Row {
                file: name_of(self.path),
                row: number,
                reason,
            })?;
            on_row(Position::Row(number), cells)?;
        }
        self.rows = number;
        Ok(())
    }
}

/// A column of a batch.
struct ArrowColumn<'a> {
    name: &'a str,
    /// The cell of a row.
    read: CellReader<'a>,
}

impl<'a> ArrowColumn<'a> {
    /// The column at an index. Refuses a type that has no form in bytes; `path` is for the error.
    fn of(path: &Path, batch: &'a RecordBatch, index: usize) -> Result<Self> {
        let field = batch.schema_ref().field(index);
        let array = batch.column(index);
        let name = field.name().as_str();

        match reader_of(field, array.as_ref()) {
            Some(read) => Ok(Self { name, read }),
            None => {
                let kind = field.data_type();
                let reason = format!(
                    "column `{name}` of type {kind} cannot be converted to bytes: expected another \
                     column, or text"
                );
                Err(Error::unreadable(path, reason))
            }
        }
    }
}

/// Passes the cells of the wanted columns of each row of a batch to `on_row`, in the order of
/// `wanted`.
///
/// # Errors
/// [`Error::MissingColumn`]; [`Error::Unreadable`] for a column whose type has no form in bytes;
/// [`Error::Row`] for a value without one; and errors of `on_row`.
pub fn each_arrow_row(
    batch: &RecordBatch,
    wanted: &[&str],
    on_row: &mut dyn FnMut(Vec<Cell>) -> Result<()>,
) -> Result<()> {
    let path = Path::new(TABLE);
    let schema = batch.schema_ref();
    let names = names_of(schema);
    let mut columns = Vec::with_capacity(wanted.len());
    for name in wanted {
        let index = index_of(path, &names, name)?;
        columns.push(ArrowColumn::of(path, batch, index)?);
    }

    for row in 0..batch.num_rows() {
        let mut cells = Vec::with_capacity(columns.len());
        for column in &columns {
            let cell = (column.read)(row).map_err(|fault| Error::Row {
                file: TABLE.to_owned(),
                row: row as u64 + 1,
                reason: fault.to_string(),
            })?;
            cells.push(cell);
        }
        on_row(cells)?;
    }
    Ok(())
}

/// The names of all columns.
fn names_of(schema: &Schema) -> Vec<&str> {
    let fields = schema.fields().iter();
    fields.map(|field| field.name().as_str()).collect()
}

/// The reader of a column's cells; `None` if its type has no form in bytes.
fn reader_of<'a>(field: &'a Field, array: &'a dyn Array) -> Option<CellReader<'a>> {
    let is_uuid = field.extension_type_name() == Some(UUID);
    let uuids = if is_uuid { value::uuids(array) } else { None };
    uuids.or_else(|| value::reader_of(field.name(), array))
}

/// The row of a batch.
fn row_of(
    key: Option<&ArrowColumn<'_>>,
    columns: &[ArrowColumn<'_>],
    row: usize,
) -> Result<SourceRow, Fault> {
    let key = match key {
        Some(column) => Some((column.read)(row)?),
        None => None,
    };
    let mut values = Vec::with_capacity(columns.len());
    for ArrowColumn { name, read } in columns {
        values.push((*name, read(row)?));
    }
    cell::row(key, values)
}
