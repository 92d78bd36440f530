//! Rows without keys as records of equal length.

use std::path::Path;

use papir_core::{Error as CoreError, RecordBuffer, Shape};
use papir_lookup::Entry;

use crate::error::{Error, Result};

/// Packs values into records of `record_bytes` bytes, by default the length of the longest value
/// and at least one byte. Shorter values are padded with zeros. The caller has checked that no
/// value is longer than `record_bytes`.
///
/// # Errors
/// [`Error::Source`] if there are no rows, or with the errors of [`Shape::of_bytes`].
pub(crate) fn padded(rows: &[Entry], record_bytes: Option<u64>, path: &Path) -> Result<RecordBuffer> {
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
