//! Reads changes of a database: new values and deletions.
//!
//! The rows are read like the rows of a source. A row is a deletion if it is marked as one, in the
//! column that [`ChangeColumns::delete`] names or, in JSON Lines, in the field `_delete`. The marks
//! `1`, `true` and `yes`, in upper or lower case, mean a deletion. The marks `0`, `false`, `no` and
//! an empty field do not; in JSON, neither do `null` and an absent field. Any other mark is an
//! error. The value columns of a deletion are ignored, and in JSON Lines they may be absent.

use std::io::Cursor;
use std::path::Path;

use papir_core::{NoProgress, Progress};

use super::csv::FieldForm;
use super::filter::RowFilter;
use super::form::{ANY_KEY, DEFAULT_TEXT};
use super::format::Format;
use super::input::Input;
use super::read::read;
use super::request::{Columns, Deletes, RowsRequest, Selection};
use super::row::{Position, SkippedRow};
use super::{csv, jsonl};
use crate::error::{Error, Result};
use crate::file::name_of;

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
    let format = format_of_changes(path, format)?;
    let request = request(path, format, columns, 0);
    let mut filter = RowFilter::new(&request);

    let mut changes = Vec::new();
    read(&request, progress, &mut |position, row| {
        if let (Position::Line(line), Some(row)) = (position, filter.keep(position, row)?) {
            changes.push(ChangeRow {
                key: row.key,
                value: row.value,
                line,
            });
        }
        Ok(())
    })?;
    Ok(changes)
}

/// The format of changes: CSV or JSON Lines. Another format is an error.
pub(crate) fn format_of_changes(path: &Path, format: Option<Format>) -> Result<Format> {
    let format = format.unwrap_or_else(|| Format::of(path));
    if matches!(format, Format::Csv | Format::JsonLines) {
        return Ok(format);
    }

    Err(Error::options(
        format!("changes from a {} source", format.name()),
        "csv or jsonl",
    ))
}

/// A part of a source that grows: whole rows.
pub(crate) struct PartOfSource<'a> {
    /// The source, for errors.
    pub(crate) path: &'a Path,
    pub(crate) format: Format,
    /// The header of CSV, with its line's end; empty for JSON Lines.
    pub(crate) header: &'a [u8],
    pub(crate) rows: &'a [u8],
    /// Number of lines before the rows.
    pub(crate) lines: u64,
}

/// Reads the changes in a part of a source. Bad rows are skipped and returned if `skips` is set.
pub(crate) fn changes_in(
    part: &PartOfSource<'_>,
    columns: &ChangeColumns,
    skips: bool,
) -> Result<(Vec<ChangeRow>, Vec<SkippedRow>)> {
    let PartOfSource {
        path,
        format,
        header,
        rows,
        lines,
    } = *part;
    let request = request(path, format, columns, if skips { u64::MAX } else { 0 });

    // The parser counts the header, which is not in front of these rows.
    // Only of a file of another version, or a damaged one, does it have more lines than are before.
    let before = lines.saturating_sub(csv::count_lines(header));
    let mut filter = RowFilter::new(&request);
    let mut changes = Vec::new();
    let mut on_row = |position: Position<'_>, row| {
        let line = before + position.number(0);
        if let Some(row) = filter.keep(Position::Line(line), row)? {
            changes.push(ChangeRow {
                key: row.key,
                value: row.value,
                line,
            });
        }
        Ok(())
    };

    // With the header in front, so that the same reader finds the same columns as in the whole
    // source.
    let text = Box::new(Cursor::new([header, rows].concat()));
    let input = Input::of(name_of(path), text, &NoProgress);
    match format {
        Format::Csv => {
            let form = FieldForm::new(format, request.text);
            csv::rows(path, input, form, request.columns, &mut on_row)?
        }
        _ => jsonl::rows(path, input, request.columns, &mut on_row)?,
    };
    Ok((changes, filter.skipped))
}

fn request<'a>(
    path: &'a Path,
    format: Format,
    columns: &'a ChangeColumns,
    skip_bad: u64,
) -> RowsRequest<'a> {
    let ChangeColumns {
        key,
        values,
        delete,
        longest_value,
    } = columns;

    let columns = Columns {
        key: Some(key),
        values,
        deletes: Deletes::Marked(delete.as_deref()),
    };

    RowsRequest {
        path,
        more: &[],
        format,
        text: &DEFAULT_TEXT,
        columns,
        keys: &ANY_KEY,
        selection: Selection::Whole,
        given: None,
        out: None,
        longest: *longest_value,
        skip_bad,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_place_with_fewer_lines_than_the_header_has_rows() {
        let columns = ChangeColumns {
            key: "k".to_owned(),
            values: vec!["v".to_owned()],
            delete: None,
            longest_value: 10,
        };
        let part = PartOfSource {
            path: Path::new("a.csv"),
            format: Format::Csv,
            header: b"k,v\r",
            rows: b"a,1\n",
            lines: 0,
        };

        let (changes, skipped) = changes_in(&part, &columns, false).unwrap();
        assert_eq!(changes[0].key, b"a");
        assert!(changes.len() == 1 && skipped.is_empty());
    }
}
