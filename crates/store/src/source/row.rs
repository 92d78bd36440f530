//! Rows of a source, and the handling of bad rows.

use std::path::Path;

use super::request::Request;
use crate::error::{Error, Result};
use crate::names::name_of;

/// The key and value of a row.
pub(super) struct Row {
    /// The key's bytes; empty without a key column.
    pub(super) key: Vec<u8>,
    /// The value's bytes; `None` if the row deletes its key.
    pub(super) value: Option<Vec<u8>>,
}

/// A fault of one row. Later rows can still be read.
pub(super) enum Fault {
    /// The value found and the one expected.
    Reason(String),
    /// A column that this row lacks.
    Missing {
        /// The requested column.
        column: String,
        /// The columns of the row.
        available: String,
    },
}

/// The position of a row.
#[derive(Clone, Copy)]
pub(super) enum Position<'a> {
    /// A line of a text, from 1.
    Line(u64),
    /// A row of a table, from 1.
    #[cfg_attr(not(any(feature = "parquet", feature = "sqlite")), allow(dead_code))]
    Row(u64),
    /// A file of a folder.
    File(&'a Path),
}

/// A callback for every row of a source.
pub(super) type OnRow<'a> = dyn FnMut(Position<'_>, Result<Row, Fault>) -> Result<()> + 'a;

/// A bad row that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedRow {
    /// Its position: `line 7`, `row 7`, or a file of a folder.
    pub place: String,
    /// The value found and the one expected.
    pub reason: String,
}

/// Passes good rows of a source on and skips bad ones, up to a limit.
pub(super) struct RowFilter<'a> {
    path: &'a Path,
    /// Maximum length of a value in bytes.
    longest: u64,
    /// Maximum number of bad rows to skip.
    allowed: u64,
    /// The rows skipped so far.
    pub(super) skipped: Vec<SkippedRow>,
}

impl<'a> RowFilter<'a> {
    pub(super) fn new(request: &Request<'a>) -> Self {
        let &Request { path, longest, skip_bad, .. } = request;
        Self { path, longest, allowed: skip_bad, skipped: Vec::new() }
    }

    /// Returns a good row; `None` for a bad row that is skipped.
    ///
    /// # Errors
    /// The row's fault, if no more rows may be skipped.
    pub(super) fn keep(&mut self, position: Position<'_>, row: Result<Row, Fault>) -> Result<Option<Row>> {
        let fault = match row.and_then(|row| self.check_length(row)) {
            Ok(row) => return Ok(Some(row)),
            Err(fault) => fault,
        };
        if self.skipped.len() as u64 == self.allowed {
            return Err(self.error(position, fault));
        }
        self.skipped.push(SkippedRow { place: position.to_string(), reason: fault.to_string() });
        Ok(None)
    }

    fn check_length(&self, row: Row) -> Result<Row, Fault> {
        let length = row.value.as_ref().map_or(0, Vec::len) as u64;
        if length <= self.longest {
            return Ok(row);
        }
        Err(Fault::Reason(format!("the value has {length} bytes: expected at most {}", self.longest)))
    }

    fn error(&self, position: Position<'_>, fault: Fault) -> Error {
        let file = name_of(self.path);
        let (mut reason, beyond) = (fault.to_string(), self.allowed > 0);
        if beyond {
            reason += &format!(" (beyond the {} bad rows that may be skipped)", self.allowed);
        }
        match (position, fault) {
            (Position::Line(_) | Position::Row(_), Fault::Missing { column, available }) if !beyond => {
                Error::MissingColumn { file: format!("{file}, {position}"), column, available }
            }
            (Position::Line(line), _) => Error::Line { file, line, reason },
            (Position::Row(row), _) => Error::Row { file, row, reason },
            (Position::File(path), _) => Error::unreadable(&self.path.join(path), reason),
        }
    }
}

/// Returns whether the mark in a deletion column means a deletion.
///
/// # Errors
/// [`Fault::Reason`] for any other text.
pub(super) fn is_deletion(mark: &[u8]) -> Result<bool, Fault> {
    match mark.to_ascii_lowercase().as_slice() {
        b"1" | b"true" | b"yes" => Ok(true),
        b"" | b"0" | b"false" | b"no" => Ok(false),
        _ => {
            let found = String::from_utf8_lossy(&mark[..mark.len().min(32)]).escape_debug().to_string();
            let expected = "1, true or yes for a deletion, otherwise 0, false, no or nothing";
            Err(Fault::Reason(format!("the deletion mark is `{found}`: expected {expected}")))
        }
    }
}

impl Position<'_> {
    /// The line or row; for a file, the number of rows before it.
    pub(super) fn number(self, before: usize) -> u64 {
        match self {
            Self::Line(number) | Self::Row(number) => number,
            Self::File(_) => before as u64,
        }
    }
}

impl std::fmt::Display for Position<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Reason(reason) => f.write_str(reason),
            Self::Missing { column, available } => {
                write!(f, "no column `{column}`: expected one of {available}")
            }
        }
    }
}
