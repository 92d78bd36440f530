//! Where records come from: files, folders, databases, standard input.
//!
//! | format | told by | a row | its key |
//! |---|---|---|---|
//! | CSV | `.csv` | a line after the header | a column |
//! | JSON Lines | `.jsonl`, `.ndjson` | an object | a field |
//! | Parquet | `.parquet` | a row | a column |
//! | SQLite | `.sqlite`, `.sqlite3`, `.db` | a row of a table or query | a column |
//! | folder | being a folder | a file | its path below the folder, with `/` |
//! | raw | any other name | `record_bytes` bytes | none |
//!
//! The value of a file in a folder, and of a raw record, are its bytes. Elsewhere it comes from the
//! value columns: one column by itself, several as a compact JSON object in the order asked for.
//! With a key and no value column, values are empty: a set, whose lookups answer present or absent.
//!
//! # Column types to bytes
//!
//! A key or a value of one column is the bytes under "alone"; in a JSON object stands what is under
//! "in an object".
//!
//! | type | alone | in an object |
//! |---|---|---|
//! | CSV field | its bytes, without quotes | a string; must be UTF-8 |
//! | JSON string | its characters as UTF-8 | as it is written |
//! | other JSON | compact JSON, every digit of a number | the same |
//! | Parquet BOOLEAN | `true`, `false` | the same |
//! | Parquet INT32, INT64, every INTEGER; SQLite INTEGER | decimal digits | the same |
//! | Parquet FLOAT16, FLOAT, DOUBLE; SQLite REAL | the shortest JSON number that reads back; `NaN`, `Infinity`, `-Infinity` | the same; the three names as strings |
//! | Parquet DECIMAL | digits, as many after the point as its scale; no point for scale 0 | a string |
//! | Parquet STRING, ENUM, JSON; SQLite TEXT | its bytes | a string; must be UTF-8 |
//! | Parquet BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY, BSON; SQLite BLOB | its bytes | a string; must be UTF-8 |
//! | Parquet UUID | `00112233-4455-6677-8899-aabbccddeeff` | a string |
//! | Parquet DATE | `YYYY-MM-DD` | a string |
//! | Parquet TIME | `HH:MM:SS.` and 3, 6 or 9 digits, as its unit is | a string |
//! | Parquet TIMESTAMP | date, `T` and time as above, then `Z` if it is in UTC and nothing if it is local | a string |
//! | Parquet INT96 | a timestamp in UTC, to the millisecond | a string |
//! | Parquet list, map, struct | compact JSON: array, object, object; keys of a map as they are alone | the same |
//! | Parquet or SQLite NULL | nothing as a value, an error as a key | `null` |
//!
//! Years before 0 and after 9999 carry their sign. A Parquet INTERVAL, and a group without members,
//! have no form: asking for them is an error. SQLite types are those of the values, not of the
//! columns.
//!
//! # Bad rows
//!
//! A row is bad if it has more or fewer fields than the header, is no JSON object, lacks a field or
//! a key, has bytes where UTF-8 is needed, or a value that is too long; and a file of a folder if it
//! is too long or no regular file. Every bad row is an error that names it, unless some may be left
//! out. What leaves the rest of the source unreadable (a damaged Parquet or SQLite file, a missing
//! column) is always an error, and so are keys that come twice, by their own rule.

#[cfg(any(feature = "parquet", feature = "sqlite"))]
mod cell;
mod changes;
mod csv;
mod folder;
mod format;
mod input;
mod jsonl;
#[cfg(feature = "parquet")]
mod parquet;
pub(crate) mod raw;
mod row;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::path::Path;

use papir_core::Progress;
use papir_lookup::Entry;

pub use changes::{ChangeColumns, ChangeRow, read_changes};
pub use format::Format;
pub(crate) use input::Input;
pub(crate) use input::{is_standard_input, name_of};
pub use row::SkippedRow;
use row::{Each, Fault, Sieve};

use crate::{Error, Result};

/// Which columns are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) key: Option<&'a str>,
    pub(crate) values: &'a [String],
    pub(crate) deletes: Deletes<'a>,
}

/// What marks a row as a deletion.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deletes<'a> {
    /// Nothing: every row holds a value.
    None,
    /// The column of this name, if there is one; and in JSON Lines the field `_delete`.
    Marked(Option<&'a str>),
}

/// What is read of a database of tables.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "sqlite"), allow(dead_code))]
pub(crate) enum Selection<'a> {
    /// Its only table.
    Whole,
    /// The table of this name.
    Table(&'a str),
    /// The answer to this query.
    Query(&'a str),
}

/// What is read, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) path: &'a Path,
    pub(crate) format: Format,
    pub(crate) columns: Columns<'a>,
    #[cfg_attr(not(feature = "sqlite"), allow(dead_code))]
    pub(crate) selection: Selection<'a>,
    /// The longest value, in bytes.
    pub(crate) longest: u64,
    /// Bad rows that may be left out.
    pub(crate) skip_bad: u64,
}

/// The rows of a source.
pub(crate) struct Rows {
    pub(crate) entries: Vec<Entry>,
    /// The source's length in bytes.
    pub(crate) bytes: u64,
    pub(crate) skipped: Vec<SkippedRow>,
}

/// Reads all rows; without key column, all keys are empty.
///
/// # Errors
/// [`Error::MissingColumn`]; [`Error::Line`], [`Error::Row`] or [`Error::Unreadable`] for what
/// cannot be read; or [`papir_core::Error::Io`].
pub(crate) fn rows(request: &Request<'_>, progress: &dyn Progress) -> Result<Rows> {
    let mut sieve = Sieve::new(request);
    let mut entries = Vec::new();
    let bytes = read(request, progress, &mut |place, row| {
        if let Some(row) = sieve.keep(place, row)? {
            let line = place.number(entries.len());
            entries.push(Entry { key: row.key, value: row.value.unwrap_or_default(), line });
        }
        Ok(())
    })?;
    Ok(Rows { entries, bytes, skipped: sieve.skipped })
}

/// Reads every row of a source once. Gives the bytes read.
fn read(request: &Request<'_>, progress: &dyn Progress, each: &mut Each<'_>) -> Result<u64> {
    let (path, columns) = (request.path, request.columns);
    match request.format {
        Format::Csv => csv::rows(path, Input::open(path, progress)?, columns, each),
        Format::JsonLines => jsonl::rows(path, Input::open(path, progress)?, columns, each),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::rows(path, columns, progress, each),
        #[cfg(feature = "sqlite")]
        Format::Sqlite => sqlite::rows(path, columns, request.selection, progress, each),
        Format::Folder => folder::rows(path, request.longest, progress, each),
        Format::Raw => Err(Error::options("columns of a raw source", "csv or jsonl")),
        #[cfg(not(all(feature = "parquet", feature = "sqlite")))]
        format => format.check_support(path).map(|()| 0),
    }
}

/// Whether a mark in a column of deletions says that the row is one.
fn deletes(mark: &[u8]) -> Result<bool, Fault> {
    match mark.to_ascii_lowercase().as_slice() {
        b"1" | b"true" | b"yes" => Ok(true),
        b"" | b"0" | b"false" | b"no" => Ok(false),
        _ => {
            let found = String::from_utf8_lossy(&mark[..mark.len().min(32)]).escape_debug().to_string();
            let expected = "1, true or yes for a deletion, 0, false, no or nothing otherwise";
            Err(Fault::Reason(format!("the mark of deletions is `{found}`: expected {expected}")))
        }
    }
}

/// A column that becomes part of a JSON object.
fn text<'a>(column: &str, bytes: &'a [u8]) -> Result<&'a str, Fault> {
    std::str::from_utf8(bytes).map_err(|_| {
        let expected = "expected text, to write several columns as JSON";
        Fault::Reason(format!("column `{column}` is not UTF-8: {expected}"))
    })
}

/// A JSON object of columns in the order asked for; `values` are JSON texts.
fn json_object<'a>(columns: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let members: Vec<String> =
        columns.into_iter().map(|(name, value)| format!("{}:{value}", json_string(name))).collect();
    format!("{{{}}}", members.join(","))
}

/// A text as JSON string.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
