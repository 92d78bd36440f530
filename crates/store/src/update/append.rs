//! Appends records to a database without keys.

use std::path::PathBuf;

use papir_core::{Progress, Run};
use papir_lookup::delta::MAX_DELTA_BYTES;

use super::draft::Draft;
use super::report::DeltaReport;
use crate::delta::lock_deltas;
use crate::error::{Error, Result};
use crate::snapshot::Sign;
use crate::source::{
    ANY_KEY, ChangeRow, Columns, DEFAULT_TEXT, Deletes, Format, RowsRequest, Selection,
    raw_records, rows,
};

/// Options of appending records.
#[derive(Clone, Debug)]
pub struct AppendOptions {
    /// The snapshot.
    pub file: PathBuf,
    /// The records, in order.
    pub source: PathBuf,
    /// Their format; `None` detects it by extension.
    pub format: Option<Format>,
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
            format: None,
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

/// A record to append.
struct Appended {
    /// Its line in the source, or its number from 1 in a raw one.
    line: u64,
    value: Vec<u8>,
}

/// Reads the records of the source.
fn read(options: &AppendOptions, draft: &Draft, progress: &dyn Progress) -> Result<Vec<Appended>> {
    let format = options
        .format
        .unwrap_or_else(|| Format::of_records(&options.source));
    let longest = draft.longest();
    if format == Format::Raw {
        let most = options.most.unwrap_or(MAX_DELTA_BYTES);
        return read_raw(options, longest, most, progress);
    }
    if format.has_lines() {
        return Err(Error::options(
            format!("records of a {} source, which has keys", format.name()),
            "raw records, or a source with columns",
        ));
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
        more: &[],
        format,
        text: &DEFAULT_TEXT,
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
        line: row.line,
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
