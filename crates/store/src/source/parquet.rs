//! Reads Parquet files.

mod value;

use std::path::Path;
use std::sync::Arc;

use papir_core::Progress;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row as Record};
use parquet::schema::types::{Type, TypePtr};

use super::cell::{self, Cell};
use super::guard::catch_panic;
use super::request::Columns;
use super::row::{Fault, OnRow, Position, SourceRow};
use crate::error::{Error, Result};
use crate::file::open_regular;

/// Rows between two progress reports.
const STEP: u64 = 1024;

/// Reads the requested columns of all rows, numbered from 1. Returns the file's length in bytes.
pub(super) fn rows(
    path: &Path,
    columns: Columns<'_>,
    progress: &dyn Progress,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let file = open_regular(path).map_err(Error::io("opening", path))?;
    let bytes = file.metadata().map_err(Error::io("opening", path))?.len();
    // Behind a barrier, as every step of the reader: it answers some damage by a panic.
    let reader = catch_panic(|| SerializedFileReader::new(file))
        .map_err(|reason| unreadable(path, &reason))?;
    let metadata = reader.metadata().file_metadata();
    progress.stage("reading", metadata.num_rows().max(0) as u64);

    // Only these columns are decoded: others may be long, or of types that the reader does not
    // know.
    let indices = ColumnIndices::find(path, metadata.schema(), columns)?;
    let projection = catch_panic(|| indices.projection(metadata.schema()))
        .map_err(|reason| unreadable(path, &reason))?;
    let mut records = catch_panic(|| RowIter::from_file(Some(projection), &reader))
        .map_err(|reason| unreadable(path, &reason))?;

    for number in 1.. {
        let record = catch_panic(|| records.next().transpose());
        // The rest of the file cannot be read after this, so the row is not skipped.
        let record = record.map_err(|reason| Error::Row {
            file: path.display().to_string(),
            row: number,
            reason,
        })?;
        let Some(record) = record else { break };

        on_row(Position::Row(number), indices.row(&record))?;
        if number % STEP == 0 {
            progress.advance(STEP);
        }
    }
    Ok(bytes)
}

/// The error for a file that is damaged or not Parquet.
fn unreadable(path: &Path, reason: &str) -> Error {
    Error::unreadable(path, format!("{reason}: expected a Parquet file"))
}

/// Indices of the requested columns among the columns to read.
struct ColumnIndices<'a> {
    key: Option<usize>,
    values: Vec<(&'a str, usize)>,
    /// The columns to read, each once.
    read: Vec<TypePtr>,
}

impl<'a> ColumnIndices<'a> {
    fn find(path: &Path, schema: &Type, columns: Columns<'a>) -> Result<Self> {
        let mut read = Vec::new();
        let key = match columns.key {
            Some(name) => Some(index_in(&mut read, column(path, schema, name)?)),
            None => None,
        };

        let mut values = Vec::new();
        for name in columns.values {
            let index = index_in(&mut read, column(path, schema, name)?);
            values.push((name.as_str(), index));
        }
        Ok(Self { key, values, read })
    }

    /// The schema of the columns to read.
    fn projection(&self, schema: &Type) -> Result<Type, ParquetError> {
        Type::group_type_builder(schema.name())
            .with_fields(self.read.clone())
            .build()
    }

    fn row(&self, record: &Record) -> Result<SourceRow, Fault> {
        // In the order of the projection, in which a column that is key and value is once.
        let fields: Vec<&Field> = record.get_column_iter().map(|(_, field)| field).collect();
        let key = match self.key {
            Some(index) => Some(self.cell(&fields, index)?),
            None => None,
        };

        let mut values = Vec::with_capacity(self.values.len());
        for &(name, index) in &self.values {
            values.push((name, self.cell(&fields, index)?));
        }
        cell::row(key, values)
    }

    /// The cell of a column that is read, by its index.
    fn cell(&self, fields: &[&Field], index: usize) -> Result<Cell, Fault> {
        match (fields.get(index), self.read.get(index)) {
            (Some(field), Some(column)) => value::cell(field, column, column.name()),
            _ => Err(Fault::Reason(format!(
                "{} columns: expected {}",
                fields.len(),
                self.read.len()
            ))),
        }
    }
}

/// The index of a column among the columns to read; it is added if it is not yet there.
fn index_in(read: &mut Vec<TypePtr>, column: TypePtr) -> usize {
    match read.iter().position(|known| Arc::ptr_eq(known, &column)) {
        Some(index) => index,
        None => {
            read.push(column);
            read.len() - 1
        }
    }
}

/// Finds a column by name and checks that its values can be converted to bytes.
fn column(path: &Path, schema: &Type, name: &str) -> Result<TypePtr> {
    let file = path.display().to_string();
    let names: Vec<&str> = schema
        .get_fields()
        .iter()
        .map(|field| field.name())
        .collect();
    // Names may repeat in a file, and a search would find the first.
    match names.iter().filter(|found| **found == name).count() {
        0 => {
            let available = names.join(", ");
            return Err(Error::MissingColumn {
                file,
                column: name.to_owned(),
                available,
            });
        }
        1 => {}
        several => {
            let reason = format!("{several} columns `{name}`: expected one");
            return Err(Error::Unreadable { file, reason });
        }
    }

    let found = schema
        .get_fields()
        .iter()
        .find(|field| field.name() == name);
    match found {
        Some(column) if value::readable(column) => Ok(column.clone()),
        _ => {
            let reason = format!(
                "column `{name}` has a type that cannot be converted to bytes: expected another column"
            );
            Err(Error::Unreadable { file, reason })
        }
    }
}
