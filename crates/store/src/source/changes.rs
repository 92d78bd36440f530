//! Files of changes to an existing database: new values and deletions.
//!
//! The rows are read like those of a source. A row is a deletion if it is marked as one, in the
//! column that [`ChangeColumns::delete`] names or, in JSON Lines, in the field `_delete`. The marks
//! `1`, `true` and `yes`, in upper or lower case, mean a deletion. The marks `0`, `false`, `no` and
//! an empty field do not; in JSON, neither do `null` and an absent field. Any other mark is an
//! error. The value columns of a deletion are ignored, and in JSON Lines they may be absent.

use std::path::Path;

use papir_core::Progress;

use super::format::Format;
use super::read::read;
use super::request::{Columns, Deletes, Request, Selection};
use super::row::{Position, RowFilter};
use crate::error::{Error, Result};

/// The columns of a file of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeColumns {
    /// The key column.
    pub key: String,
    /// The value columns; several become one JSON object, none an empty value.
    pub values: Vec<String>,
    /// The column that marks deletions. Without one, a CSV file has no deletions.
    pub delete: Option<String>,
    /// Maximum length of a value in bytes; longer ones are errors that name the line.
    pub longest_value: u64,
}

/// A change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRow {
    /// The key's bytes.
    pub key: Vec<u8>,
    /// The value to insert or replace; `None` deletes the key.
    pub value: Option<Vec<u8>>,
    /// Its line, from 1.
    pub line: u64,
}

/// Reads all changes, in the order of the file. Several rows of the same key are all returned;
/// applied in order, the last one wins.
///
/// `path` may be `-` for standard input. A `format` of `None` is detected by the file's extension.
///
/// # Errors
/// [`Error::Options`] for a source that is neither CSV nor JSON Lines, [`Error::MissingColumn`],
/// [`Error::Line`] for a bad row, or [`papir_core::Error::Io`].
pub fn read_changes(
    path: &Path,
    format: Option<Format>,
    columns: &ChangeColumns,
    progress: &dyn Progress,
) -> Result<Vec<ChangeRow>> {
    let format = format.unwrap_or_else(|| Format::of(path));
    if !matches!(format, Format::Csv | Format::JsonLines) {
        return Err(Error::options(format!("changes from a {} source", format.name()), "csv or jsonl"));
    }
    let ChangeColumns { key, values, delete, longest_value } = columns;
    let columns = Columns { key: Some(key), values, deletes: Deletes::Marked(delete.as_deref()) };
    let selection = Selection::Whole;
    let request = Request { path, format, columns, selection, longest: *longest_value, skip_bad: 0 };
    let mut filter = RowFilter::new(&request);
    let mut changes = Vec::new();
    read(&request, progress, &mut |position, row| {
        if let (Position::Line(line), Some(row)) = (position, filter.keep(position, row)?) {
            changes.push(ChangeRow { key: row.key, value: row.value, line });
        }
        Ok(())
    })?;
    Ok(changes)
}
