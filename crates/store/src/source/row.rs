//! Rows of a source, and their faults.

use std::path::Path;

use crate::error::Result;

/// The key and value of a row.
pub(super) struct SourceRow {
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
    Row(u64),
    /// A file of a folder.
    File(&'a Path),
}

/// A callback for every row of a source.
pub(super) type OnRow<'a> = dyn FnMut(Position<'_>, Result<SourceRow, Fault>) -> Result<()> + 'a;

/// Bits of the number of a row in its file.
const ROW_BITS: u32 = 40;

/// A row of one of several files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowOfFile {
    /// The index of the file.
    pub(crate) file: usize,
    /// The line or row in it, below 2^40.
    pub(crate) row: u64,
}

impl RowOfFile {
    /// The row as one number: in the order of the files, and for the first file the row itself.
    pub(crate) fn to_number(self) -> u64 {
        let file = (self.file as u64) << ROW_BITS;
        file | self.row
    }

    /// The row of a number.
    pub(crate) fn of_number(number: u64) -> Self {
        Self {
            file: (number >> ROW_BITS) as usize,
            row: number & ((1 << ROW_BITS) - 1),
        }
    }
}

/// A bad row that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedRow {
    /// Its position: `line 7`, `row 7`, or a file of a folder; of several files after the name of
    /// the file, as in `b.csv, line 7`.
    pub place: String,
    /// The value found and the one expected.
    pub reason: String,
}

/// Returns whether the mark in a deletion column means a deletion. Any text that is not a mark is a
/// fault.
pub(super) fn is_deletion(mark: &[u8]) -> Result<bool, Fault> {
    match mark.to_ascii_lowercase().as_slice() {
        b"1" | b"true" | b"yes" => Ok(true),
        b"" | b"0" | b"false" | b"no" => Ok(false),
        _ => {
            let found = String::from_utf8_lossy(&mark[..mark.len().min(32)])
                .escape_debug()
                .to_string();
            let expected = "1, true or yes for a deletion, otherwise 0, false, no or nothing";
            Err(Fault::Reason(format!(
                "the deletion mark is `{found}`: expected {expected}"
            )))
        }
    }
}

/// The fault of a value that is longer than allowed.
pub(super) fn too_long(length: u64, longest: u64) -> Fault {
    Fault::Reason(format!(
        "the value has {length} bytes: expected at most {longest}"
    ))
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
