//! Reads comma-separated values.

use std::path::Path;

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use papir_core::Error as CoreError;

use super::input::Input;
use super::json::{json_object, json_string, text};
use super::request::{Columns, Deletes};
use super::row::{Fault, OnRow, Position, Row, is_deletion};
use crate::error::{Error, Result};
use crate::file::name_of;

/// Maximum length of a row in bytes. Bounds the memory of a row whose quotes are not closed.
const MAX_ROW_BYTES: u64 = 16 << 20;

/// Indices of the requested columns in a row.
struct ColumnIndices<'a> {
    key: Option<usize>,
    values: Vec<(&'a str, usize)>,
    delete: Option<usize>,
}

/// The next thing in a file.
enum Next {
    /// A row with as many fields as the header.
    Row,
    /// A row with more or fewer fields. The reader can continue after it.
    Unequal {
        line: u64,
        fault: Fault,
    },
    End,
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
        match next_row(path, &mut reader, &mut row)? {
            Next::Row => {
                let line = row.position().map_or(0, csv::Position::line);
                on_row(Position::Line(line), indices.row(&row))?;
            }
            Next::Unequal { line, fault } => on_row(Position::Line(line), Err(fault))?,
            Next::End => return Ok(reader.get_ref().bytes),
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
    let begin = limit_row(reader);
    let header = reader.byte_headers().cloned();
    check_length(path, reader, &begin)?;

    header.map_err(|error| fatal(path, error))
}

/// Reads the next row into `row`.
fn next_row(path: &Path, reader: &mut Reader<Input<'_>>, row: &mut ByteRecord) -> Result<Next> {
    let begin = limit_row(reader);
    let found = reader.read_byte_record(row);
    check_length(path, reader, &begin)?;

    match found {
        Ok(true) => Ok(Next::Row),
        Ok(false) => Ok(Next::End),
        Err(error) => unequal(error).map_err(|error| fatal(path, error)),
    }
}

/// Lets the reader read [`MAX_ROW_BYTES`] more bytes. Returns its position.
fn limit_row(reader: &mut Reader<Input<'_>>) -> csv::Position {
    // The reader asks for more only when its buffer is used up, so a read beyond this means that
    // this row alone is that long.
    let begin = reader.position().clone();
    reader.get_mut().most = begin.byte() + MAX_ROW_BYTES;
    begin
}

/// Refuses the row that was read from `begin` on if it is too long.
fn check_length(path: &Path, reader: &Reader<Input<'_>>, begin: &csv::Position) -> Result<()> {
    if reader.position().byte() - begin.byte() < MAX_ROW_BYTES {
        return Ok(());
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
    let key = match columns.key {
        Some(name) => Some(find(path, header, name)?),
        None => None,
    };
    let mut values = Vec::new();
    for name in columns.values {
        values.push((name.as_str(), find(path, header, name)?));
    }
    let delete = match columns.deletes {
        Deletes::Marked(Some(name)) => Some(find(path, header, name)?),
        Deletes::Marked(None) | Deletes::None => None,
    };

    Ok(ColumnIndices {
        key,
        values,
        delete,
    })
}

/// The index of a column.
fn find(path: &Path, header: &ByteRecord, name: &str) -> Result<usize> {
    let index = header.iter().position(|found| found == name.as_bytes());
    index.ok_or_else(|| {
        let available: Vec<_> = header.iter().map(String::from_utf8_lossy).collect();
        Error::MissingColumn {
            file: name_of(path),
            column: name.to_owned(),
            available: available.join(", "),
        }
    })
}

impl ColumnIndices<'_> {
    fn row(&self, row: &ByteRecord) -> Result<Row, Fault> {
        let key = match self.key {
            Some(index) => field(row, index).to_vec(),
            None => Vec::new(),
        };

        // Looked at before the values: a deletion's values are ignored, even if they are bad.
        let delete = match self.delete {
            Some(index) => is_deletion(field(row, index))?,
            None => false,
        };
        let value = if delete {
            None
        } else {
            Some(value(row, &self.values)?)
        };
        Ok(Row { key, value })
    }
}

/// The bytes of a field.
fn field(row: &ByteRecord, index: usize) -> &[u8] {
    row.get(index).unwrap_or_default()
}

/// The value of a row: a single column as it is, several as an object of strings, none as empty.
fn value(row: &ByteRecord, columns: &[(&str, usize)]) -> Result<Vec<u8>, Fault> {
    match columns {
        [] => Ok(Vec::new()),
        [(_, index)] => Ok(field(row, *index).to_vec()),
        several => {
            let mut members = Vec::with_capacity(several.len());
            for &(name, index) in several {
                members.push((name, json_string(text(name, field(row, index))?)));
            }
            Ok(json_object(members).into_bytes())
        }
    }
}

/// Converts the error of a row with too few or too many fields. Other errors are returned.
fn unequal(error: csv::Error) -> Result<Next, csv::Error> {
    match error.kind() {
        ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            let reason = format!("{len} fields: expected {expected_len}, as in the header");
            Ok(Next::Unequal {
                line: line(&error),
                fault: Fault::Reason(reason),
            })
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
