//! Reads the source of a build into records.

use papir_core::{Blob, Error as CoreError, Progress, RecordBuffer, Records, Run, Shape};
use papir_lookup::{
    BucketTarget, Entry, KeyIds, KeywordLayout, KeywordTable, Lengths, TableOptions, TableReport,
};

use super::choice::proven;
use super::options::BuildOptions;
use crate::error::{Error, Result};
use crate::file::name_of;
use crate::source::{Format, RowOfFile, SkippedRow, SourceRows, raw_records, rows};

/// Records ready to be prepared by a scheme.
pub(super) struct Content<'a> {
    pub(super) records: Box<dyn Records + 'a>,
    /// Number of rows in the source.
    pub(super) entries: u64,
    /// Bytes of the source.
    pub(super) bytes: u64,
    pub(super) skipped: Vec<SkippedRow>,
    pub(super) keyword: Option<Keys>,
}

/// A keyword table without its buckets.
pub(super) struct Keys {
    pub(super) layout: KeywordLayout,
    pub(super) ids: Ids,
    pub(super) report: TableReport,
    pub(super) lengths: Lengths,
    /// The bucket target of the build.
    pub(super) bucket: BucketTarget,
    /// The encoded filter of the keys, once it is made.
    pub(super) prefilter: Option<Blob>,
}

/// Bytes of the encoded id of a key.
pub(super) const ID_BYTES: u64 = 16;

impl Keys {
    /// Bytes of the layout, the ids and the filter in a snapshot.
    pub(super) fn stored_bytes(&self) -> u64 {
        let filter = self.prefilter.as_ref().map_or(0, |filter| filter.len());
        self.report.layout_bytes + ID_BYTES * self.report.entries + filter as u64
    }
}

/// The ids of a table's keys.
pub(super) enum Ids {
    InMemory(KeyIds),
    /// Encoded, in a file of the build.
    Stored(Blob),
}

/// Chooses the target of a table's buckets from the lengths of its values.
pub type ChooseBucket<'a> = dyn Fn(&Lengths) -> papir_lookup::Result<BucketTarget> + 'a;

/// The bucket target for values of these lengths: the option, or else the choice.
fn target_for(
    options: &BuildOptions,
    lengths: &Lengths,
    choose: &ChooseBucket<'_>,
) -> papir_lookup::Result<BucketTarget> {
    Ok(match options.bucket {
        None => choose(lengths)?,
        Some(BucketTarget::Grow(bytes)) => proven(options, lengths, bytes),
        Some(cut) => cut,
    })
}

/// The options of a fresh keyword table whose values have these lengths.
pub(super) fn table_options(
    options: &BuildOptions,
    lengths: &Lengths,
    choose: &ChooseBucket<'_>,
) -> Result<TableOptions> {
    let bucket = target_for(options, lengths, choose).map_err(|error| of_keys(options, error))?;

    // Room is for later updates, which would otherwise arrange all keys again.
    Ok(TableOptions {
        bucket,
        on_duplicate: options.on_duplicate,
        room: options.room,
    })
}

/// Reads the source, and arranges its keys.
pub(super) fn read(
    options: &BuildOptions,
    choose: &ChooseBucket<'_>,
    run: &mut Run<'_>,
) -> Result<Content<'static>> {
    if options.format() == Format::Raw {
        return read_raw(options, run.progress);
    }

    let SourceRows {
        entries: rows,
        bytes,
        skipped,
    } = rows(&options.request(), run.progress)?;
    let entries = rows.len() as u64;
    if !options.keyed() {
        let records = Box::new(padded(options, &rows)?);
        return Ok(Content {
            records,
            entries,
            bytes,
            skipped,
            keyword: None,
        });
    }

    let (records, keys) = arrange_keys(options, rows, choose, run)?;
    Ok(Content {
        records: Box::new(records),
        entries,
        bytes,
        skipped,
        keyword: Some(keys),
    })
}

/// Arranges rows in the buckets of a keyword table.
fn arrange_keys(
    options: &BuildOptions,
    rows: Vec<Entry>,
    choose: &ChooseBucket<'_>,
    run: &mut Run<'_>,
) -> Result<(RecordBuffer, Keys)> {
    // The target of buckets depends on all lengths, so the rows are in memory by now.
    let lengths = Lengths::of(rows.iter().map(|row| row.value.len()))
        .ok_or_else(|| of_keys(options, CoreError::EmptyDatabase.into()))?;
    let table = table_options(options, &lengths, choose)?;

    let KeywordTable {
        layout,
        ids,
        report,
        records,
    } = papir_lookup::build(rows, &table, run.rng, run.progress)
        .map_err(|error| of_keys(options, error))?;

    let keys = Keys {
        layout,
        ids: Ids::InMemory(ids),
        report,
        lengths,
        bucket: table.bucket,
        prefilter: None,
    };
    Ok((records, keys))
}

/// Opens the records of a raw source.
pub(super) fn read_raw(
    options: &BuildOptions,
    progress: &dyn Progress,
) -> Result<Content<'static>> {
    // A file is opened and not read: the setup reads it part by part. A stream is held in memory.
    let records = raw_records(
        &options.source,
        options.record_bytes.unwrap_or_default(),
        progress,
    )?;

    Ok(Content {
        entries: records.shape().records(),
        bytes: records.shape().total_bytes(),
        records,
        skipped: Vec::new(),
        keyword: None,
    })
}

/// Converts an error of the keyword table: entries are in one of several files, and in Parquet,
/// Arrow, SQLite and given sources they are rows, not lines.
pub(super) fn of_keys(options: &BuildOptions, error: papir_lookup::Error) -> Error {
    use papir_lookup::Error as TableError;

    let format = options.format();
    let has_rows = matches!(
        format,
        Format::Parquet | Format::Arrow | Format::Sqlite | Format::Postgres | Format::Given
    );
    let has_files = !options.more.is_empty();
    let file = name_of(&options.source);

    match error {
        TableError::DuplicateKey { key, first, line } if has_files => Error::DuplicateInFiles {
            place: place_of(options, format, line),
            key,
            first: place_of(options, format, first),
        },
        TableError::RepeatedKey { first, line } if has_files => Error::RepeatedInFiles {
            place: place_of(options, format, line),
            first: place_of(options, format, first),
        },
        TableError::DuplicateKey { key, first, line } if has_rows => Error::DuplicateKey {
            file,
            key,
            first,
            row: line,
        },
        TableError::RepeatedKey { first, line } if has_rows => Error::RepeatedKey {
            file,
            first,
            row: line,
        },
        error => Error::of_source(&options.source)(error),
    }
}

/// The place of an entry of several files, as in `b.csv, line 7`.
fn place_of(options: &BuildOptions, format: Format, number: u64) -> String {
    let RowOfFile { file, row } = RowOfFile::of_number(number);
    let path = options.files().nth(file).unwrap_or(&options.source);
    let kind = match format {
        Format::Parquet | Format::Arrow | Format::Sqlite => "row",
        _ => "line",
    };
    format!("{}, {kind} {row}", name_of(path))
}

/// The shape of records that hold `entries` values of at most `longest` bytes, of the length in the
/// options. The default length is that of the longest value, and at least one byte. Fails without
/// values.
pub(super) fn shape_of_values(options: &BuildOptions, entries: u64, longest: u64) -> Result<Shape> {
    let shape = match entries {
        0 => Err(CoreError::EmptyDatabase),
        _ => Shape::of_bytes(entries, options.record_bytes.unwrap_or(longest.max(1))),
    };
    shape.map_err(|error| Error::of_source(&options.source)(error.into()))
}

/// Packs values into records. Shorter values are padded with zeros. No value is longer than a
/// record: the source was read with that limit.
fn padded(options: &BuildOptions, rows: &[Entry]) -> Result<RecordBuffer> {
    let longest = rows
        .iter()
        .map(|row| row.value.len() as u64)
        .max()
        .unwrap_or(0);
    let shape = shape_of_values(options, rows.len() as u64, longest)?;

    // Zeros from the start: shorter values then have their padding already.
    let length = shape.record_bytes();
    let mut records = RecordBuffer::zeroed(shape);
    for (record, row) in records.packed_mut().chunks_mut(length).zip(rows) {
        record[..row.value.len()].copy_from_slice(&row.value);
    }
    Ok(records)
}
