//! Reads Arrow files, which Feather version 2 is, and Arrow streams.

mod message;
mod value;

use std::path::Path;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::{Field, Schema};
use papir_core::Progress;

use super::cell;
use super::guard::catch_panic;
use super::named::index_of;
use super::request::Columns;
use super::row::{Fault, OnRow, Position, SourceRow};
use crate::error::{Error, Result};
use crate::file::name_of;
use message::MessageReader;
use value::CellReader;

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
    let mut messages = MessageReader::open(path, progress)?;
    let mut decoder = StreamDecoder::new();
    let mut table = Table {
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
struct Table<'a> {
    path: &'a Path,
    columns: Columns<'a>,
    /// `None` until the schema is read.
    indices: Option<ColumnIndices>,
    /// Number of rows so far.
    rows: u64,
}

impl Table<'_> {
    /// Finds the requested columns in the schema, once.
    fn find(&mut self, schema: &Schema) -> Result<()> {
        if self.indices.is_some() {
            return Ok(());
        }

        let fields = schema.fields().iter();
        let names: Vec<&str> = fields.map(|field| field.name().as_str()).collect();
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
            Some(index) => Some(self.column(batch, *index)?.1),
            None => None,
        };
        let mut readers = Vec::with_capacity(values.len());
        for index in values {
            readers.push(self.column(batch, *index)?);
        }

        let mut number = self.rows;
        for row in 0..batch.num_rows() {
            number += 1;
            let cells = catch_panic(|| Ok::<_, String>(row_of(key.as_ref(), &readers, row)));
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

    /// The name of a column of a batch, and the reader of its cells.
    fn column<'b>(
        &self,
        batch: &'b RecordBatch,
        index: usize,
    ) -> Result<(&'b str, CellReader<'b>)> {
        let field = batch.schema_ref().field(index);
        let array = batch.column(index);
        match reader_of(field, array.as_ref()) {
            Some(reader) => Ok((field.name().as_str(), reader)),
            None => {
                let name = field.name();
                let reason = format!(
                    "column `{name}` has a type that cannot be converted to bytes: expected \
                     another column"
                );
                Err(Error::unreadable(self.path, reason))
            }
        }
    }
}

/// The reader of a column's cells; `None` if its type has no form in bytes.
fn reader_of<'a>(field: &'a Field, array: &'a dyn Array) -> Option<CellReader<'a>> {
    let is_uuid = field.extension_type_name() == Some(UUID);
    let uuids = if is_uuid { value::uuids(array) } else { None };
    uuids.or_else(|| value::reader_of(field.name(), array))
}

/// The row of a batch.
fn row_of(
    key: Option<&CellReader<'_>>,
    values: &[(&str, CellReader<'_>)],
    row: usize,
) -> Result<SourceRow, Fault> {
    let key = match key {
        Some(read) => Some(read(row)?),
        None => None,
    };
    let mut cells = Vec::with_capacity(values.len());
    for (name, read) in values {
        cells.push((*name, read(row)?));
    }
    cell::row(key, cells)
}
