//! Reads the rows of a source in any format.

use std::path::Path;

use papir_core::{NoProgress, Progress};
use papir_lookup::Entry;

use super::csv::FieldForm;
use super::filter::RowFilter;
use super::form::TextForm;
use super::format::Format;
use super::input::Input;
use super::lines::LineRule;
#[cfg(feature = "postgres")]
use super::query;
use super::request::RowsRequest;
#[cfg(feature = "postgres")]
use super::request::Selection;
use super::row::{OnRow, RowOfFile, SkippedRow};
#[cfg(feature = "sqlite")]
use super::sqlite;
#[cfg(feature = "parquet")]
use super::{arrow, parquet};
use super::{csv, folder, jsonl, lines, table};
use crate::error::{Error, Result};
use crate::file::{free_memory, name_of};

/// The rows of a source.
pub(crate) struct SourceRows {
    pub(crate) entries: Vec<Entry>,
    /// Length of the source in bytes.
    pub(crate) bytes: u64,
    pub(crate) skipped: Vec<SkippedRow>,
}

/// Bytes of rows between two looks at the free memory.
const LOOK_BYTES: u64 = 64 << 20;

/// The memory that the rows of a source take.
#[derive(Default)]
struct RowMemory {
    taken: u64,
    /// The bytes that were taken at the last look.
    looked: u64,
}

impl RowMemory {
    /// Counts a row of a source. Refuses it if little memory is left: an endless view, or a column
    /// of one long value, would otherwise end the process.
    fn add(&mut self, path: &Path, bytes: u64, free: &dyn Fn() -> Option<u64>) -> Result<()> {
        self.taken += bytes;
        // Not at each row: the look reads files of the system.
        if self.taken - self.looked < LOOK_BYTES {
            return Ok(());
        }

        self.looked = self.taken;
        match free() {
            Some(free) if free < LOOK_BYTES.max(bytes) => Err(Error::Unreadable {
                file: name_of(path),
                reason: format!(
                    "{} bytes of rows so far, and {free} bytes of memory are free: expected fewer \
                     rows, or a limit of memory (`--memory`, in Python `memory=`)",
                    self.taken
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// Reads all rows. Without a key column, all keys are empty. Refuses more rows than fit into the
/// free memory.
pub(crate) fn rows(request: &RowsRequest<'_>, progress: &dyn Progress) -> Result<SourceRows> {
    let mut entries = Vec::new();
    let mut memory = RowMemory::default();
    let (bytes, skipped) = rows_each(request, progress, &mut |entry| {
        // With the entry itself, which is longer than short keys and values.
        let length = size_of::<Entry>() + entry.key.len() + entry.value.len();
        memory.add(request.path, length as u64, &free_memory)?;
        entries.push(entry);
        Ok(())
    })?;
    Ok(SourceRows {
        entries,
        bytes,
        skipped,
    })
}

/// Passes all rows to `each`, in the form of [`rows`]. The line of an entry is the number of a
/// [`RowOfFile`]. Returns the source's length in bytes and the skipped rows. An error of `each`
/// ends the reading.
pub(crate) fn rows_each(
    request: &RowsRequest<'_>,
    progress: &dyn Progress,
    each: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<(u64, Vec<SkippedRow>)> {
    let mut filter = RowFilter::new(request);
    let mut entries = 0;
    let mut bytes = 0;
    for (file, path) in request.files().enumerate() {
        filter.begin(path);
        let one = RowsRequest {
            path,
            more: &[],
            ..*request
        };

        bytes += read(&one, progress, &mut |position, row| {
            let Some(row) = filter.keep(position, row)? else {
                return Ok(());
            };

            // A file of a folder has no number, so that its place among the good rows stands for
            // one.
            let place = RowOfFile {
                file,
                row: position.number(entries),
            };
            entries += 1;
            each(Entry {
                key: row.key,
                value: row.value.unwrap_or_default(),
                line: place.to_number(),
            })
        })?;
    }
    Ok((bytes, filter.skipped))
}

/// The columns of a CSV or TSV file, in its order.
pub(crate) fn csv_columns(path: &Path, format: Format, text: &TextForm) -> Result<Vec<String>> {
    let input = Input::open_unpacked(path, &NoProgress)?;
    csv::header(path, input, FieldForm::new(format, text))
}

/// Passes every row of a source to `on_row`. Returns the number of bytes read.
pub(super) fn read(
    request: &RowsRequest<'_>,
    progress: &dyn Progress,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let path = request.path;
    let columns = request.columns;
    match (request.format, request.given) {
        (_, Some(given)) => table::rows(given, path, columns, progress, on_row),
        (format, None) => read_file(format, request, progress, on_row),
    }
}

/// Passes every row of a file to `on_row`. Returns the number of bytes read.
fn read_file(
    format: Format,
    request: &RowsRequest<'_>,
    progress: &dyn Progress,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let path = request.path;

    match format {
        Format::Csv
        | Format::Tsv
        | Format::List
        | Format::Pairs
        | Format::Hosts
        | Format::JsonLines => {
            let input = Input::open_unpacked(path, progress)?;
            read_text(request, input, on_row)
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::rows(path, request.columns, progress, on_row),
        #[cfg(feature = "parquet")]
        Format::Arrow => arrow::rows(path, request.columns, progress, on_row),
        #[cfg(feature = "sqlite")]
        Format::Sqlite => sqlite::rows(
            path,
            request.columns,
            request.selection,
            request.longest,
            progress,
            on_row,
        ),
        #[cfg(feature = "postgres")]
        Format::Postgres => match request.selection {
            Selection::OfServer(login, text) => {
                query::rows(path, login, text, request.columns, progress, on_row)
            }
            _ => Err(Error::options("a PostgreSQL server", "a query of it")),
        },
        Format::Folder => folder::rows(request, progress, on_row),
        Format::Raw => Err(Error::options("columns of a raw source", "csv or jsonl")),
        Format::Given => Err(Error::options(
            "a table without rows",
            "the rows of the table",
        )),
        #[cfg(not(all(feature = "parquet", feature = "postgres", feature = "sqlite")))]
        format => format.check_support(path).map(|()| 0),
    }
}

/// Passes every row of a text to `on_row`: of JSON Lines, unless the format is another one of text.
/// Returns the number of bytes read.
pub(super) fn read_text(
    request: &RowsRequest<'_>,
    input: Input<'_>,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let path = request.path;
    let columns = request.columns;
    match request.format {
        format @ (Format::Csv | Format::Tsv) => {
            let form = FieldForm::new(format, request.text);
            csv::rows(path, input, form, columns, on_row)
        }
        format @ (Format::List | Format::Pairs | Format::Hosts) => {
            let rule = LineRule::new(format, request.text);
            lines::rows(path, input, rule, on_row)
        }
        _ => jsonl::rows(path, input, columns, on_row),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_refused_when_little_memory_is_left() {
        let path = Path::new("a.db");
        let add = |memory: &mut RowMemory, bytes, free| memory.add(path, bytes, &|| Some(free));

        let mut memory = RowMemory::default();
        add(&mut memory, LOOK_BYTES - 1, 0).unwrap();
        add(&mut memory, 1, LOOK_BYTES).unwrap();
        // Looked at again only after as many bytes.
        add(&mut memory, LOOK_BYTES - 1, 0).unwrap();
        let error = add(&mut memory, 1, LOOK_BYTES - 1).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("a.db: 134217728 bytes of rows so far"),
            "{error}"
        );

        // A long row needs as much as it has.
        let long = 10 * LOOK_BYTES;
        assert!(add(&mut RowMemory::default(), long, long - 1).is_err());
        assert!(RowMemory::default().add(path, long, &|| None).is_ok());
    }
}
