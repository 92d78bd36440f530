//! Reads comma-separated values, and values with other delimiters.

mod reader;
mod scan;

use std::borrow::Cow;
use std::path::Path;

use super::columns::{ColumnValue, value};
use super::encoding::check_text;
use super::form::TextForm;
use super::format::Format;
use super::input::Input;
use super::json::{json_string, text};
use super::named::index_of;
use super::request::{Columns, Deletes};
use super::row::{Fault, OnRow, Position, SourceRow, is_deletion};
use crate::error::{Error, Result};
use crate::file::name_of;
use reader::{NextRow, RowReader};

pub(crate) use scan::{RowScanner, Scanned, StrayQuote, count_lines, is_line_end, line_end};

/// Delimiter and header of a file.
#[derive(Clone, Copy)]
pub(super) struct FieldForm {
    delimiter: u8,
    no_header: bool,
}

impl FieldForm {
    /// Commas and a header.
    const COMMAS: Self = Self {
        delimiter: b',',
        no_header: false,
    };

    /// The form of a CSV or TSV file.
    pub(super) fn new(format: Format, text: &TextForm) -> Self {
        Self {
            delimiter: text.delimiter_in(format),
            no_header: text.no_header,
        }
    }

    /// The row that tells the number of columns, for errors.
    fn first(self) -> &'static str {
        if self.no_header {
            "the first row"
        } else {
            "the header"
        }
    }
}

/// The names of the columns, and the line of the first row.
struct FirstRow {
    names: Vec<String>,
    line: u64,
}

/// Indices of the requested columns in a row.
struct ColumnIndices<'a> {
    key: Option<usize>,
    values: Vec<(&'a str, usize)>,
    delete: Option<usize>,
    /// Number of columns.
    count: usize,
    form: FieldForm,
}

/// Reads all rows. The header, if the form has one, is on the first line with text; an empty file
/// has no rows. Returns the bytes read.
pub(super) fn rows(
    path: &Path,
    input: Input<'_>,
    form: FieldForm,
    columns: Columns<'_>,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let mut reader = RowReader::new(path, input, form.delimiter)?;
    let Some(FirstRow { names, line }) = first_row(path, &mut reader, form)? else {
        return Ok(reader.bytes());
    };

    // Found once: a missing column is an error before the first row.
    let indices = ColumnIndices::find(path, &names, form, columns)?;
    if form.no_header {
        // It told the number of columns, and is a row like the others.
        on_row(Position::Line(line), indices.row(&reader))?;
    }

    loop {
        match reader.next_row()? {
            NextRow::Row(line) => on_row(Position::Line(line), indices.row(&reader))?,
            NextRow::Stray(line, reason) => {
                let fault = Fault::Reason(reason.to_owned());
                on_row(Position::Line(line), Err(fault))?;
            }
            NextRow::End => return Ok(reader.bytes()),
        }
    }
}

/// The names of the columns; none for an empty file.
pub(super) fn header(path: &Path, input: Input<'_>, form: FieldForm) -> Result<Vec<String>> {
    let mut reader = RowReader::new(path, input, form.delimiter)?;
    let first = first_row(path, &mut reader, form)?;
    Ok(first.map_or_else(Vec::new, |first| first.names))
}

/// Passes the fields of every row of CSV after the header to `on_row`, with the row's line. A row
/// with more or fewer fields than the header is an error.
///
/// # Errors
/// [`Error::Line`] for a bad row, [`papir_core::Error::Io`], and errors of `on_row`.
pub fn each_csv_row(
    path: &Path,
    mut on_row: impl FnMut(u64, &[Cow<'_, [u8]>]) -> Result<()>,
) -> Result<()> {
    let input = Input::open_unpacked(path, &papir_core::NoProgress)?;
    let form = FieldForm::COMMAS;
    let mut reader = RowReader::new(path, input, form.delimiter)?;
    let Some(FirstRow { names, .. }) = first_row(path, &mut reader, form)? else {
        return Ok(());
    };

    loop {
        match reader.next_row()? {
            NextRow::Row(line) => {
                check_count(&reader, names.len(), form)
                    .map_err(|fault| bad_line(path, line, fault))?;
                let fields: Vec<_> = (0..names.len()).map(|index| reader.field(index)).collect();
                on_row(line, &fields)?;
            }
            NextRow::Stray(line, reason) => return Err(bad_line(path, line, reason)),
            NextRow::End => return Ok(()),
        }
    }
}

/// The names of the columns, from the first row; `None` for an empty file.
fn first_row(path: &Path, reader: &mut RowReader<'_>, form: FieldForm) -> Result<Option<FirstRow>> {
    match reader.next_row()? {
        NextRow::Row(line) if form.no_header => {
            let names = (1..=reader.count()).map(|number| number.to_string());
            Ok(Some(FirstRow {
                names: names.collect(),
                line,
            }))
        }

        NextRow::Row(line) => {
            let mut names = Vec::with_capacity(reader.count());
            for index in 0..reader.count() {
                let name = reader.field(index);
                check_text("the header", &name).map_err(|fault| bad_line(path, line, fault))?;
                names.push(String::from_utf8_lossy(&name).into_owned());
            }

            Ok(Some(FirstRow { names, line }))
        }
        NextRow::Stray(line, reason) => Err(bad_line(path, line, reason)),
        NextRow::End => Ok(None),
    }
}

/// The error for a bad row.
fn bad_line(path: &Path, line: u64, reason: impl ToString) -> Error {
    Error::Line {
        file: name_of(path),
        line,
        reason: reason.to_string(),
    }
}

/// Refuses a row with more or fewer than `expected` fields.
fn check_count(reader: &RowReader<'_>, expected: usize, form: FieldForm) -> Result<(), Fault> {
    let found = reader.count();
    if found == expected {
        return Ok(());
    }

    let first = form.first();
    Err(Fault::Reason(format!(
        "{found} fields: expected {expected}, as in {first}"
    )))
}

impl<'a> ColumnIndices<'a> {
    fn find(path: &Path, names: &[String], form: FieldForm, columns: Columns<'a>) -> Result<Self> {
        let key = match columns.key {
            Some(name) => Some(index_of(path, names, name)?),
            None => None,
        };

        let mut values = Vec::new();
        for name in columns.values {
            values.push((name.as_str(), index_of(path, names, name)?));
        }

        let delete = match columns.deletes {
            Deletes::Marked(Some(name)) => Some(index_of(path, names, name)?),
            Deletes::Marked(None) | Deletes::None => None,
        };

        Ok(Self {
            key,
            values,
            delete,
            count: names.len(),
            form,
        })
    }

    /// Converts the current row of a reader.
    fn row(&self, row: &RowReader<'_>) -> Result<SourceRow, Fault> {
        check_count(row, self.count, self.form)?;
        let key = match self.key {
            Some(index) => row.field(index).into_owned(),
            None => Vec::new(),
        };

        // Looked at before the values: a deletion's values are ignored, even if they are bad.
        let delete = match self.delete {
            Some(index) => is_deletion(&row.field(index))?,
            None => false,
        };
        let value = if delete {
            None
        } else {
            let fields = self.values.iter();
            Some(value(
                fields.map(|&(name, index)| Ok((name, row.field(index)))),
            )?)
        };
        Ok(SourceRow { key, value })
    }
}

/// A field, which is a string in an object.
impl ColumnValue for Cow<'_, [u8]> {
    fn alone(self) -> Result<Vec<u8>, Fault> {
        Ok(self.into_owned())
    }

    fn member(self, column: &str) -> Result<String, Fault> {
        Ok(json_string(text(column, &self)?))
    }
}
