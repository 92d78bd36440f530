//! Reads changes of a database: new values and deletions.
//!
//! The rows are read like the rows of a source. A row is a deletion if it is marked as one, in the
//! column that [`ChangeColumns::delete`] names or, in JSON Lines, in the field `_delete`. The marks
//! `1`, `true` and `yes`, in upper or lower case, mean a deletion. The marks `0`, `false`, `no` and
//! an empty field do not; in JSON, neither do `null` and an absent field. Any other mark is an
//! error. The value columns of a deletion are ignored, and in JSON Lines they may be absent. Lists,
//! pairs and hosts files have no deletions.

use std::io::Cursor;
use std::path::Path;

use papir_core::{NoProgress, Progress};

use super::csv::{count_lines, is_line_end};
use super::filter::RowFilter;
use super::form::{KeyForm, TextForm};
use super::format::Format;
use super::input::{Input, is_packed, without_mark};
use super::read::{read, read_text};
use super::request::{Columns, Deletes, RowsRequest, Selection};
use super::row::{Position, SkippedRow};
use crate::error::{Error, Result};
use crate::file::name_of;

/// The columns of a file of changes, and the form of its text and keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeColumns {
    /// The key column. Without effect in lists, pairs and hosts files, whose lines have keys.
    pub key: String,
    /// The value columns; several become one JSON object, none an empty value.
    pub values: Vec<String>,
    /// The column that marks deletions. Without one, a CSV file has no deletions.
    pub delete: Option<String>,
    /// The form of the text.
    pub text: TextForm,
    /// The form that all keys must have.
    pub keys: KeyForm,
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
/// [`Error::Options`] for a source that is no text, [`Error::MissingColumn`], [`Error::Line`] for a
/// bad row, or [`papir_core::Error::Io`].
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

/// The format of changes, which is one of text. Another format is an error.
pub(crate) fn format_of_changes(path: &Path, format: Option<Format>) -> Result<Format> {
    let format = format.unwrap_or_else(|| Format::of(path));
    if format.is_text() || format == Format::JsonLines {
        return Ok(format);
    }

    Err(Error::options(
        format!("changes from a {} source", format.name()),
        "csv, tsv, jsonl, list, pairs or hosts",
    ))
}

/// A part of a source that grows: whole rows.
pub(crate) struct PartOfSource<'a> {
    /// The source, for errors.
    pub(crate) path: &'a Path,
    pub(crate) format: Format,
    /// The first row of CSV and TSV with its line's end, also if it is no header; otherwise empty.
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
    let begin = if header.is_empty() { rows } else { header };
    if is_packed(begin) {
        let reason = "compressed by gzip or zstd: expected text, to which rows are appended \
                      (`papir update --delta` reads compressed files)";
        return Err(Error::unreadable(path, reason));
    }

    // With the first row in front, so that the same reader finds the same columns as in the whole
    // source. That of a stream which ends with it may have no line end.
    let mut text = header.to_vec();
    if text.last().is_some_and(|byte| !is_line_end(byte)) {
        text.push(b'\n');
    }
    let header_lines = count_lines(&text);
    // A byte order mark would be in the middle of the text.
    text.extend_from_slice(if lines == 0 { without_mark(rows) } else { rows });

    let request = request(path, format, columns, if skips { u64::MAX } else { 0 });
    let mut filter = RowFilter::new(&request);
    let mut changes = Vec::new();
    let input = Input::of(name_of(path), Box::new(Cursor::new(text)), &NoProgress);
    read_text(&request, input, &mut |position: Position<'_>, row| {
        let number = position.number(0);
        // A first row that is no header is among the rows as well, or in a part before them.
        if number <= header_lines {
            return Ok(());
        }
        // Only of a file of another version, or a damaged one, does the header have more lines than
        // are before.
        let line = (lines + number).saturating_sub(header_lines);
        if let Some(row) = filter.keep(Position::Line(line), row)? {
            changes.push(ChangeRow {
                key: row.key,
                value: row.value,
                line,
            });
        }
        Ok(())
    })?;
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
        text,
        keys,
        longest_value,
    } = columns;

    let columns = Columns {
        key: (!format.has_keys()).then_some(key.as_str()),
        values,
        deletes: Deletes::Marked(delete.as_deref()),
    };

    RowsRequest {
        path,
        more: &[],
        format,
        text,
        columns,
        keys,
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

    /// Columns of keys and values with these names.
    fn columns_named(key: &str, value: &str) -> ChangeColumns {
        ChangeColumns {
            key: key.to_owned(),
            values: vec![value.to_owned()],
            delete: None,
            text: TextForm::default(),
            keys: KeyForm::default(),
            longest_value: 10,
        }
    }

    #[test]
    fn a_place_with_fewer_lines_than_the_header_has_rows() {
        let columns = columns_named("k", "v");
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

    #[test]
    fn a_first_row_without_a_header_counts_once() {
        let columns = ChangeColumns {
            text: TextForm {
                no_header: true,
                ..TextForm::default()
            },
            ..columns_named("1", "2")
        };
        let found = |header: &[u8], rows: &[u8], lines| {
            let part = PartOfSource {
                path: Path::new("a.csv"),
                format: Format::Csv,
                header,
                rows,
                lines,
            };
            let (changes, _) = changes_in(&part, &columns, false).unwrap();
            let rows = changes.into_iter().map(|row| (row.key, row.line));
            rows.collect::<Vec<_>>()
        };

        let first = "\u{feff}a,1\n";
        let whole = format!("{first}b,2\n");
        let both = [(b"a".to_vec(), 1), (b"b".to_vec(), 2)];
        assert_eq!(found(first.as_bytes(), whole.as_bytes(), 0), both);
        assert_eq!(found(first.as_bytes(), b"b,2\n", 1), both[1..]);
        assert_eq!(found(b"a,1", b"a,1", 0), both[..1], "no line end");
    }

    #[test]
    fn a_part_of_a_compressed_source_is_refused() {
        for begin in [&b"\x1f\x8b\x08\n"[..], b"\x28\xb5\x2f\xfd\n"] {
            let part = PartOfSource {
                path: Path::new("a.jsonl"),
                format: Format::JsonLines,
                header: b"",
                rows: begin,
                lines: 0,
            };
            let error = changes_in(&part, &columns_named("k", "v"), true).unwrap_err();
            assert!(error.to_string().contains("expected text"), "{error}");
        }
    }
}
