//! Rows that have arrived from a source.

use crate::snapshot::Followed;

/// The reason to refuse a database that states an earlier place than before.
pub(super) const REPLACED: &str = "the database was replaced by one without the changes that were followed: \
    expected no rollback or other build while it is followed";

/// Whole rows of a source, and the place after them.
pub(super) struct Arrived {
    /// The first row of CSV and TSV; otherwise empty.
    pub(super) header: Vec<u8>,
    pub(super) rows: Vec<u8>,
    /// Number of lines before the rows.
    pub(super) lines: u64,
    /// The place after the rows; `None` for a source that cannot be read again.
    pub(super) after: Option<Followed>,
}

/// The beginning of a row whose end has not arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TornRow {
    /// Its line, from 1.
    pub line: u64,
    /// Number of bytes that have arrived.
    pub bytes: u64,
}

impl TornRow {
    /// The beginning of a row of `bytes` bytes; `None` for none.
    pub(super) fn of(bytes: u64, line: u64) -> Option<Self> {
        (bytes > 0).then_some(Self { line, bytes })
    }
}
