//! Where records come from: CSV, JSON Lines, raw fixed-size records.
//!
//! | format | row | key | value |
//! |---|---|---|---|
//! | CSV | a line after the header | the column's bytes | one column: its bytes; several: a JSON object of them, as strings |
//! | JSON Lines | an object | a string's bytes, other values as compact JSON | one field: like the key; several: a JSON object of them |
//! | raw | `record_bytes` bytes | none | all of it |
//!
//! With a key and no value column, values are empty: a set, whose lookups answer present or absent.

mod csv;
mod jsonl;

use std::path::Path;
use std::str::FromStr;

use papir_core::{Error as CoreError, Progress};
use papir_lookup::Entry;

use crate::{Error, Result};

/// The format of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a header line (RFC 4180).
    Csv,
    /// One JSON object a line.
    JsonLines,
    /// Records of one length, without gaps.
    Raw,
}

impl Format {
    /// The format that a file's extension tells: `.csv`; `.jsonl` or `.ndjson`; raw otherwise.
    pub fn of(path: &Path) -> Self {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("csv") => Self::Csv,
            Some("jsonl" | "ndjson") => Self::JsonLines,
            _ => Self::Raw,
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
            Self::Raw => "raw",
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        [Self::Csv, Self::JsonLines, Self::Raw]
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| CoreError::malformed("a source format", text, "csv, jsonl or raw").into())
    }
}

/// Which columns are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) key: Option<&'a str>,
    pub(crate) values: &'a [String],
}

/// Reads all rows of a CSV or JSON Lines file; without key column, all keys are empty.
///
/// # Errors
/// [`Error::MissingColumn`], [`Error::Line`], or [`CoreError::Io`].
pub(crate) fn rows(
    path: &Path,
    format: Format,
    columns: Columns<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Entry>> {
    match format {
        Format::Csv => csv::rows(path, columns, progress),
        Format::JsonLines => jsonl::rows(path, columns, progress),
        Format::Raw => Err(Error::options("columns of a raw source", "csv or jsonl")),
    }
}

/// A JSON object of columns in the order asked for; `values` are JSON texts.
fn json_object<'a>(columns: impl IntoIterator<Item = (&'a str, String)>) -> Vec<u8> {
    let members: Vec<String> =
        columns.into_iter().map(|(name, value)| format!("{}:{value}", json_string(name))).collect();
    format!("{{{}}}", members.join(",")).into_bytes()
}

/// A text as JSON string.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
