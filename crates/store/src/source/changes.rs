//! Files of changes to a database that is there: which keys get a new value, which go.
//!
//! The rows are read like those of a source, by the same columns. A row is a deletion where it is
//! marked: in the column that [`ChangeColumns::delete`] names, or in JSON Lines by the field
//! `_delete`. `1`, `true` and `yes` mark one, in letters of any case; `0`, `false`, `no`, nothing,
//! and in JSON `null` or an absent field, do not; anything else is an error. What stands in a
//! deletion's value columns does not matter, and in JSON Lines they may be absent.

use std::path::Path;

use papir_core::Progress;

use super::format::Format;
use super::read::read;
use super::request::{Columns, Deletes, Request, Selection};
use super::row::{Place, Sieve};
use crate::error::{Error, Result};

/// Which columns of a file of changes are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeColumns {
    /// The column of keys.
    pub key: String,
    /// The columns of values; several become one JSON object, none an empty value.
    pub values: Vec<String>,
    /// The column that marks deletions. Without one, a CSV file holds none.
    pub delete: Option<String>,
    /// The longest value, in bytes; longer ones are an error that names the line.
    pub longest_value: u64,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRow {
    /// The key's bytes.
    pub key: Vec<u8>,
    /// Its new value, whether or not it had one; `None` deletes the key.
    pub value: Option<Vec<u8>>,
    /// Where it stands, from 1.
    pub line: u64,
}

/// Reads all changes, in the order of the file. Of several rows of one key, the last one counts:
/// all of them are given, so that applying them one after the other gives just that.
///
/// `path` may be `-` for standard input; `format` is told by the file's extension where `None`.
///
/// # Errors
/// [`Error::Options`] for a source that is neither CSV nor JSON Lines, [`Error::MissingColumn`],
/// [`Error::Line`] for a row that cannot be used, or [`papir_core::Error::Io`].
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
    let mut sieve = Sieve::new(&request);
    let mut changes = Vec::new();
    read(&request, progress, &mut |place, row| {
        if let (Place::Line(line), Some(row)) = (place, sieve.keep(place, row)?) {
            changes.push(ChangeRow { key: row.key, value: row.value, line });
        }
        Ok(())
    })?;
    Ok(changes)
}
