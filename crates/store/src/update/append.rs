//! Appends records to a database without keys.

use std::path::{Path, PathBuf};

use papir_core::{Progress, Run};
use papir_lookup::delta::MAX_DELTA_BYTES;

use super::draft::Draft;
use super::report::DeltaReport;
use crate::delta::lock_deltas;
use crate::error::{Error, Result};
use crate::snapshot::Sign;
use crate::source::{
    ANY_KEY, ChangeRow, Columns, Deletes, Format, RowOfFile, RowsRequest, Selection, TextForm,
    check_files, raw_records, rows,
};

/// Options of appending records.
#[derive(Clone, Debug)]
pub struct AppendOptions {
    /// The snapshot.
    pub file: PathBuf,
    /// The records, in order.
    pub source: PathBuf,
    /// More files of the same format, with the same columns: their records follow in this order.
    pub more: Vec<PathBuf>,
    /// Their format; `None` detects it by extension.
    pub format: Option<Format>,
    /// The form of a text source.
    pub text: TextForm,
    /// The value columns. If empty, the value columns of the database's source.
    pub values: Vec<String>,
    /// Signs the version of a signed database.
    pub sign: Option<Sign>,
    /// The most bytes that the changes since the base may have; `None` for [`MAX_DELTA_BYTES`].
    pub most: Option<u64>,
}

impl AppendOptions {
    /// Options with every default.
    pub fn new(file: impl Into<PathBuf>, source: impl Into<PathBuf>) -> Self {
        let file = file.into();
        let source = source.into();
        Self {
            file,
            source,
            more: Vec::new(),
            format: None,
            text: TextForm::default(),
            values: Vec::new(),
            sign: None,
            most: None,
        }
    }
}

/// Publishes records as the next ones of a database without keys, in its delta. The snapshot stays
/// as it is, and so does its public part. Returns `None` without records.
///
/// # Errors
/// [`Error::Options`] for a database with keys, or one that cannot have a delta; otherwise the
/// errors of [`super::update_delta()`], naming the source and its line.
pub fn append(options: &AppendOptions, run: &mut Run<'_>) -> Result<Option<DeltaReport>> {
    // Locked before the delta is read: one that is published before this one is written would be
    // lost, and its records have the same numbers.
    let _lock = lock_deltas(&options.file)?;
    let mut draft = Draft::open(&options.file, options.sign.as_ref())?;

    let next = draft.next_index().ok_or_else(|| {
        let found = format!(
            "records to append to {}, which has keys",
            options.file.display()
        );
        Error::options(found, "new keys with their values: `papir update --delta`")
    })?;

    let records = read(options, &draft, run.progress)?;
    if records.is_empty() {
        return Ok(None);
    }
    // Numbered here: the source has values only, and their order is that of the records.
    let mut changes = Vec::with_capacity(records.len());
    for (index, Appended { line, value }) in (next..).zip(records) {
        changes.push(ChangeRow {
            key: index.to_string().into_bytes(),
            value: Some(value),
            line,
        });
    }

    draft.add(changes, &options.source)?;
    draft.publish(options.most, run)
}

/// The format of the source. Refuses a source whose lines have keys, a form of text that the format
/// does not have, and several files that are not one source.
fn format_of(options: &AppendOptions) -> Result<Format> {
    let told = Format::of_records(&options.source);
    let format = options.format.unwrap_or(told);
    if format.has_lines() {
        return Err(Error::options(
            format!("records of a {} source, which has keys", format.name()),
            "raw records, or a source with columns",
        ));
    }

    options.text.check(format)?;
    if options.more.is_empty() {
        return Ok(format);
    }
    if !format.has_columns() {
        return Err(Error::options(
            format!("several {} sources", format.name()),
            "one, or files with rows",
        ));
    }
    let more = options.more.iter().map(PathBuf::as_path);
    let files = std::iter::once::<&Path>(&options.source).chain(more);
    check_files(files, options.format, format)?;
    Ok(format)
}

/// A record to append.
struct Appended {
    /// Its line in the source, or its number from 1 in a raw one.
    line: u64,
    value: Vec<u8>,
}

/// Reads the records of the source.
fn read(options: &AppendOptions, draft: &Draft, progress: &dyn Progress) -> Result<Vec<Appended>> {
    let format = format_of(options)?;
    let longest = draft.longest();
    if format == Format::Raw {
        let most = options.most.unwrap_or(MAX_DELTA_BYTES);
        return read_raw(options, longest, most, progress);
    }

    // More of the same source has the same columns.
    let values = if options.values.is_empty() {
        &draft.metadata().source.values
    } else {
        &options.values
    };
    let columns = Columns {
        key: None,
        values,
        deletes: Deletes::None,
    };
    let request = RowsRequest {
        path: &options.source,
        more: &options.more,
        format,
        text: &options.text,
        columns,
        keys: &ANY_KEY,
        selection: Selection::Whole,
        given: None,
        out: None,
        longest,
        skip_bad: 0,
    };

    let rows = rows(&request, progress)?.entries;
    let records = rows.into_iter().map(|row| Appended {
        line: RowOfFile::of_number(row.line).row,
        value: row.value,
    });
    Ok(records.collect())
}

/// Reads the records of a raw source.
fn read_raw(
    options: &AppendOptions,
    record_bytes: u64,
    most: u64,
    progress: &dyn Progress,
) -> Result<Vec<Appended>> {
    let records = raw_records(&options.source, record_bytes, progress)?;
    let shape = records.shape();
    // Refused before it is read: a raw source may be as long as a database.
    if shape.total_bytes() > most {
        return Err(Error::DeltaFull {
            entries: shape.records(),
            bytes: shape.total_bytes(),
            most,
        });
    }

    let mut packed = vec![0; shape.total_bytes() as usize];
    records.read_packed(0, shape.records(), &mut packed)?;
    let values = packed.chunks(shape.record_bytes()).map(<[u8]>::to_vec);
    let records = (1..).zip(values);
    Ok(records
        .map(|(line, value)| Appended { line, value })
        .collect())
}
