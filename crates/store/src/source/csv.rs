//! Comma-separated values.

use std::path::Path;

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use papir_core::Error as CoreError;

use super::input::Input;
use super::json::{json_object, json_string, text};
use super::request::{Columns, Deletes};
use super::row::{Fault, OnRow, Position, Row, is_deletion};
use crate::error::{Error, Result};
use crate::names::name_of;

/// Maximum length of a row in bytes. Bounds the memory of a row whose quotes are not closed.
const MAX_ROW_BYTES: u64 = 16 << 20;

/// Indices of the requested columns in a row.
struct ColumnIndices<'a> {
    key: Option<usize>,
    values: Vec<(&'a str, usize)>,
    delete: Option<usize>,
}

/// Reads all rows. The header is on line 1; an empty file has no rows. Returns the bytes read.
pub(super) fn rows(
    path: &Path,
    input: Input<'_>,
    columns: Columns<'_>,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let mut reader = ReaderBuilder::new()
        .buffer_capacity(1 << 20)
        .from_reader(input);
    let header = first_row(path, &mut reader)?;
    if header.is_empty() {
        return Ok(reader.get_ref().bytes);
    }
    let indices = find_columns(path, &header, columns)?;
    let mut row = ByteRecord::new();
    loop {
        match limited(path, &mut reader, |reader| {
            reader.read_byte_record(&mut row)
        })? {
            Ok(false) => return Ok(reader.get_ref().bytes),
            Ok(true) => {
                let line = row.position().map_or(0, csv::Position::line);
                on_row(Position::Line(line), indices.row(&row))?;
            }
            Err(error) => {
                let (line, fault) = unequal(error).map_err(|error| fatal(path, error))?;
                on_row(Position::Line(line), Err(fault))?;
            }
        }
    }
}

/// The names of the columns; none for an empty file.
pub(super) fn header(path: &Path, input: Input<'_>) -> Result<Vec<String>> {
    let header = first_row(path, &mut Reader::from_reader(input))?;
    Ok(header
        .iter()
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect())
}

/// The header; empty for an empty file.
fn first_row(path: &Path, reader: &mut Reader<Input<'_>>) -> Result<ByteRecord> {
    let header = limited(path, reader, |reader| reader.byte_headers().cloned())?;
    header.map_err(|error| fatal(path, error))
}

/// Reads a row of at most [`MAX_ROW_BYTES`] bytes with `read`.
fn limited<T>(
    path: &Path,
    reader: &mut Reader<Input<'_>>,
    read: impl FnOnce(&mut Reader<Input<'_>>) -> csv::Result<T>,
) -> Result<csv::Result<T>> {
    let begin = reader.position().clone();
    // The reader asks for more only when its buffer is used up, so a read beyond this means that this row alone
    // is that long.
    reader.get_mut().most = begin.byte() + MAX_ROW_BYTES;
    let found = read(reader);
    if reader.position().byte() - begin.byte() < MAX_ROW_BYTES {
        return Ok(found);
    }
    let reason = format!(
        "a row of {MAX_ROW_BYTES} bytes or more: expected a shorter one, with its quotes closed"
    );
    Err(Error::Line {
        file: name_of(path),
        line: begin.line(),
        reason,
    })
}

fn find_columns<'a>(
    path: &Path,
    header: &ByteRecord,
    columns: Columns<'a>,
) -> Result<ColumnIndices<'a>> {
    let find = |name: &str| {
        header
            .iter()
            .position(|found| found == name.as_bytes())
            .ok_or_else(|| Error::MissingColumn {
                file: name_of(path),
                column: name.to_owned(),
                available: header
                    .iter()
                    .map(String::from_utf8_lossy)
                    .collect::<Vec<_>>()
                    .join(", "),
            })
    };
    let key = columns.key.map(find).transpose()?;
    let values = columns
        .values
        .iter()
        .map(|name| Ok((name.as_str(), find(name)?)))
        .collect::<Result<_>>()?;
    let delete = match columns.deletes {
        Deletes::Marked(Some(name)) => Some(find(name)?),
        Deletes::Marked(None) | Deletes::None => None,
    };
    Ok(ColumnIndices {
        key,
        values,
        delete,
    })
}

impl ColumnIndices<'_> {
    fn row(&self, row: &ByteRecord) -> Result<Row, Fault> {
        let bytes = |index: usize| row.get(index).unwrap_or_default();
        let key = self.key.map(bytes).unwrap_or_default().to_vec();
        let delete = self
            .delete
            .map(|index| is_deletion(bytes(index)))
            .transpose()?
            .unwrap_or_default();
        let value = if delete {
            None
        } else {
            Some(value(row, &self.values)?)
        };
        Ok(Row { key, value })
    }
}

/// The value of a row: a single column as it is, several as an object of strings, none as empty.
fn value(row: &ByteRecord, columns: &[(&str, usize)]) -> Result<Vec<u8>, Fault> {
    let bytes = |index: usize| row.get(index).unwrap_or_default();
    match columns {
        [] => Ok(Vec::new()),
        [(_, index)] => Ok(bytes(*index).to_vec()),
        several => {
            let mut members = Vec::with_capacity(several.len());
            for &(name, index) in several {
                members.push((name, json_string(text(name, bytes(index))?)));
            }
            Ok(json_object(members).into_bytes())
        }
    }
}

/// Converts the error of a row with too few or too many fields. The reader can continue after it.
fn unequal(error: csv::Error) -> Result<(u64, Fault), csv::Error> {
    match error.kind() {
        ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            let reason = format!("{len} fields: expected {expected_len}, as in the header");
            Ok((line(&error), Fault::Reason(reason)))
        }
        _ => Err(error),
    }
}

fn line(error: &csv::Error) -> u64 {
    error.position().map_or(1, csv::Position::line)
}

fn fatal(path: &Path, error: csv::Error) -> Error {
    let file = name_of(path);
    let line = line(&error);
    match error.into_kind() {
        ErrorKind::Io(source) => CoreError::Io {
            what: format!("reading {file}"),
            source,
        }
        .into(),
        other => Error::Line {
            file,
            line,
            reason: format!("{other:?}"),
        },
    }
}
