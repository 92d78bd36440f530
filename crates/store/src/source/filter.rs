//! Skips bad rows, up to a limit.

use std::path::Path;

use super::form::KeyCheck;
use super::request::RowsRequest;
use super::row::{Fault, Position, SkippedRow, SourceRow, too_long};
use crate::error::{Error, Result};
use crate::file::name_of;

/// Passes good rows of a source on and skips bad ones, up to a limit.
pub(super) struct RowFilter<'a> {
    /// The file that is read.
    path: &'a Path,
    /// Set if it is one of several.
    several: bool,
    /// `None` without keys.
    keys: Option<KeyCheck<'a>>,
    /// Maximum length of a value in bytes.
    longest: u64,
    /// Maximum number of bad rows to skip.
    allowed: u64,
    /// The rows skipped so far.
    pub(super) skipped: Vec<SkippedRow>,
}

impl<'a> RowFilter<'a> {
    pub(super) fn new(request: &RowsRequest<'a>) -> Self {
        let &RowsRequest {
            path,
            more,
            format,
            columns,
            keys,
            longest,
            skip_bad,
            ..
        } = request;
        let has_keys = columns.key.is_some() || format.has_keys();

        Self {
            path,
            several: !more.is_empty(),
            keys: has_keys.then(|| KeyCheck::new(keys, format.is_text())),
            longest,
            allowed: skip_bad,
            skipped: Vec::new(),
        }
    }

    /// Goes on with the rows of this file.
    pub(super) fn begin(&mut self, path: &'a Path) {
        self.path = path;
    }

    /// Returns a good row; `None` for a bad row that is skipped. Once no more rows may be skipped,
    /// a row's fault is an error.
    pub(super) fn keep(
        &mut self,
        position: Position<'_>,
        row: Result<SourceRow, Fault>,
    ) -> Result<Option<SourceRow>> {
        let fault = match row.and_then(|row| self.check(row)) {
            Ok(row) => return Ok(Some(row)),
            Err(fault) => fault,
        };

        if self.skipped.len() as u64 == self.allowed {
            return Err(self.error(position, fault));
        }
        let place = if self.several {
            format!("{}, {position}", name_of(self.path))
        } else {
            position.to_string()
        };
        self.skipped.push(SkippedRow {
            place,
            reason: fault.to_string(),
        });
        Ok(None)
    }

    /// Refuses a key of another form, and a value that is too long.
    fn check(&mut self, row: SourceRow) -> Result<SourceRow, Fault> {
        if let Some(keys) = &mut self.keys {
            keys.check(&row.key)?;
        }

        let length = row.value.as_ref().map_or(0, Vec::len) as u64;
        if length <= self.longest {
            return Ok(row);
        }
        Err(too_long(length, self.longest))
    }

    fn error(&self, position: Position<'_>, fault: Fault) -> Error {
        let file = name_of(self.path);
        let mut reason = fault.to_string();
        // With a limit, the reason must say why this row was not skipped like the others.
        let beyond = self.allowed > 0;
        if beyond {
            reason += &format!(
                " (beyond the {} bad rows that may be skipped)",
                self.allowed
            );
        }

        match (position, fault) {
            (Position::Line(_) | Position::Row(_), Fault::Missing { column, available })
                if !beyond =>
            {
                Error::MissingColumn {
                    file: format!("{file}, {position}"),
                    column,
                    available,
                }
            }
            (Position::Line(line), _) => Error::Line { file, line, reason },
            (Position::Row(row), _) => Error::Row { file, row, reason },
            (Position::File(path), _) => Error::unreadable(&self.path.join(path), reason),
        }
    }
}
