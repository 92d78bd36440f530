//! Reads the source of a build into records.

use std::path::Path;

use papir_core::{Error as CoreError, Progress, RecordBuffer, Records, Shape};
use papir_lookup::{BucketTarget, Entry, KeyIds, KeywordLayout, KeywordTable, TableOptions, TableReport};
use rand_core::CryptoRng;

use super::options::BuildOptions;
use crate::error::{Error, Result};
use crate::names::name_of;
use crate::source::{Format, Rows, SkippedRow, raw_records, rows};

/// Records ready to be prepared by a scheme.
pub(super) struct Content {
    pub(super) records: Box<dyn Records>,
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
    pub(super) ids: KeyIds,
    pub(super) report: TableReport,
    /// The bucket target of the build.
    pub(super) bucket: BucketTarget,
}

/// The bucket target. For a verifiable database it is reduced, so that one query retrieves a bucket
/// together with its proof.
fn bucket_target(options: &BuildOptions, rows: &[Entry]) -> BucketTarget {
    let BucketTarget::Grow(bytes) = options.bucket else {
        return options.bucket;
    };
    if !options.verifiable {
        return options.bucket;
    }
    let entries: u64 = rows.iter().map(|row| row.value.len() as u64 + 8).sum();
    // The proof's length depends on the number of buckets, which depends on their length. 5/4 is an
    // estimate for the free room of tables and for the reduction.
    let buckets = entries / u64::from(bytes.max(1)) * 5 / 4 + 1;
    let room = bytes.saturating_sub(papir_lookup::proof_bytes(buckets) as u32);
    BucketTarget::Grow(room.max(bytes / 2))
}

/// Reads the source.
///
/// # Errors
/// Errors of the source and of the keyword table.
pub(super) fn read(
    options: &BuildOptions,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<Content> {
    if options.format() == Format::Raw {
        return read_raw(options, progress);
    }
    let Rows { entries: rows, bytes, skipped } = rows(&options.request(), progress)?;
    let entries = rows.len() as u64;
    if !options.keyed() {
        let records = Box::new(padded(&rows, options.record_bytes, &options.source)?);
        return Ok(Content { records, entries, bytes, skipped, keyword: None });
    }
    let BuildOptions { on_duplicate, room, .. } = *options;
    let table = TableOptions { bucket: bucket_target(options, &rows), on_duplicate, room };
    let target = table.bucket;
    let KeywordTable { layout, ids, report, records } =
        papir_lookup::build(rows, &table, rng, progress).map_err(|error| of_keys(options, error))?;
    let keyword = Some(Keys { layout, ids, report, bucket: target });
    Ok(Content { records: Box::new(records), entries, bytes, skipped, keyword })
}

fn read_raw(options: &BuildOptions, progress: &dyn Progress) -> Result<Content> {
    let records = raw_records(&options.source, options.record_bytes.unwrap_or_default(), progress)?;
    let (entries, bytes) = (records.shape().records(), records.shape().total_bytes());
    Ok(Content { records, entries, bytes, skipped: Vec::new(), keyword: None })
}

/// Converts an error of the keyword table: in Parquet and SQLite sources, entries are rows, not
/// lines.
fn of_keys(options: &BuildOptions, error: papir_lookup::Error) -> Error {
    match (options.format(), error) {
        (Format::Parquet | Format::Sqlite, papir_lookup::Error::DuplicateKey { key, first, line }) => {
            Error::DuplicateKey { file: name_of(&options.source), key, first, row: line }
        }
        (_, error) => Error::of_source(&options.source)(error),
    }
}

/// Packs values into records of `record_bytes` bytes, by default the length of the longest value
/// and at least one byte. Shorter values are padded with zeros. The caller has checked that no
/// value is longer than `record_bytes`.
///
/// # Errors
/// [`Error::Source`] if there are no rows, or with the errors of [`Shape::of_bytes`].
fn padded(rows: &[Entry], record_bytes: Option<u64>, path: &Path) -> Result<RecordBuffer> {
    let wrong = |error: CoreError| Error::of_source(path)(error.into());
    let longest =
        rows.iter().map(|row| row.value.len() as u64).max().ok_or_else(|| wrong(CoreError::EmptyDatabase))?;
    let shape = Shape::of_bytes(rows.len() as u64, record_bytes.unwrap_or(longest.max(1))).map_err(wrong)?;
    let length = shape.record_bytes();
    let mut records = RecordBuffer::zeroed(shape);
    for (record, row) in records.packed_mut().chunks_mut(length).zip(rows) {
        record[..row.value.len()].copy_from_slice(&row.value);
    }
    Ok(records)
}
