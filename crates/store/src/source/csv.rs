//! Comma-separated values.

use std::fs::File;
use std::path::Path;

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};
use papir_core::{Error as CoreError, Progress};
use papir_lookup::Entry;

use super::{Columns, json_object, json_string};
use crate::{Error, Result};

/// Columns by their place.
struct Places<'a> {
    key: Option<usize>,
    values: Vec<(&'a str, usize)>,
}

/// Reads all rows; none of an empty file. Line numbers are those of the file, the header's being 1.
pub(super) fn rows(path: &Path, columns: Columns<'_>, progress: &dyn Progress) -> Result<Vec<Entry>> {
    let file = File::open(path).map_err(Error::io("opening", path))?;
    progress.stage("reading", file.metadata().map_or(0, |metadata| metadata.len()));
    let mut reader = ReaderBuilder::new().buffer_capacity(1 << 20).from_reader(file);
    let failed = |error| failed(path, error);
    let header = reader.byte_headers().map_err(failed)?.clone();
    if header.is_empty() {
        return Ok(Vec::new());
    }
    let places = places(path, &header, columns)?;
    let (mut rows, mut row, mut told) = (Vec::new(), ByteRecord::new(), 0);
    while reader.read_byte_record(&mut row).map_err(failed)? {
        let line = row.position().map_or(0, csv::Position::line);
        let value = value(&row, &places.values).map_err(|reason| Error::Line {
            file: path.display().to_string(),
            line,
            reason,
        })?;
        let key = places.key.and_then(|place| row.get(place)).unwrap_or_default().to_vec();
        rows.push(Entry { key, value, line });
        told = tell(progress, &reader, told);
    }
    Ok(rows)
}

/// Tells of a megabyte when one was read.
fn tell(progress: &dyn Progress, reader: &Reader<File>, told: u64) -> u64 {
    let read = reader.position().byte();
    if read - told < 1 << 20 {
        return told;
    }
    progress.advance(read - told);
    read
}

fn places<'a>(path: &Path, header: &ByteRecord, columns: Columns<'a>) -> Result<Places<'a>> {
    let find = |name: &str| {
        header.iter().position(|found| found == name.as_bytes()).ok_or_else(|| Error::MissingColumn {
            file: path.display().to_string(),
            column: name.to_owned(),
            available: header.iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join(", "),
        })
    };
    let key = columns.key.map(find).transpose()?;
    let values = columns.values.iter().map(|name| Ok((name.as_str(), find(name)?))).collect::<Result<_>>()?;
    Ok(Places { key, values })
}

/// One column as it is, several as an object of strings, none as nothing.
fn value(row: &ByteRecord, columns: &[(&str, usize)]) -> Result<Vec<u8>, String> {
    let bytes = |place: usize| row.get(place).unwrap_or_default();
    match columns {
        [] => Ok(Vec::new()),
        [(_, place)] => Ok(bytes(*place).to_vec()),
        several => {
            let member = |&(name, place)| match std::str::from_utf8(bytes(place)) {
                Ok(text) => Ok((name, json_string(text))),
                Err(_) => Err(format!(
                    "column `{name}` is not UTF-8: expected text, to write several columns as JSON"
                )),
            };
            Ok(json_object(several.iter().map(member).collect::<Result<Vec<_>, _>>()?))
        }
    }
}

fn failed(path: &Path, error: csv::Error) -> Error {
    let (file, line) = (path.display().to_string(), error.position().map_or(1, csv::Position::line));
    match error.into_kind() {
        ErrorKind::Io(source) => CoreError::Io { what: format!("reading {file}"), source }.into(),
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            let reason = format!("{len} fields: expected {expected_len}, as in the header");
            Error::Line { file, line, reason }
        }
        other => Error::Line { file, line, reason: format!("{other:?}") },
    }
}
