//! A stored copy of the packed records of a source.

use papir_core::scheme::check_changes;
use papir_core::sections::SectionSource;
use papir_core::{AlignedBytes, Blob, Change, Error, Progress, RecordBuffer, Records, Result, Shape};

use crate::shared::shapes::check_source;

/// Records read at a time; a multiple of 8, so that every read starts on a whole byte.
const READ_RECORDS: u64 = 1 << 12;

/// Copies all records of a source of this shape.
///
/// # Errors
/// As [`check_source`], and those of the source.
pub fn copy(
    scheme: &'static str,
    shape: Shape,
    records: &dyn Records,
    progress: &dyn Progress,
) -> Result<Blob> {
    check_source(scheme, shape, records)?;
    progress.stage("copy records", shape.records());
    let mut packed = AlignedBytes::zeroed(shape.total_bytes() as usize);
    let parts = packed.bytes_mut().chunks_mut((READ_RECORDS * shape.record_bits() / 8) as usize);
    for (i, part) in parts.enumerate() {
        let first = i as u64 * READ_RECORDS;
        let count = READ_RECORDS.min(shape.records() - first);
        records.read_packed(first, count, part)?;
        progress.advance(count);
    }
    Ok(packed.into())
}

/// The packed records after changes.
///
/// # Errors
/// As [`check_changes`].
pub fn change(shape: Shape, packed: &[u8], changes: &[Change]) -> Result<Blob> {
    check_changes(&shape, changes)?;
    let mut buffer = RecordBuffer::from_packed(shape, packed.to_vec())?;
    for change in changes {
        buffer.set(change.index, &change.record)?;
    }
    Ok(Blob::copy_of(buffer.packed()))
}

/// Reads the section of packed records.
///
/// # Errors
/// [`Error::MissingSection`] or [`Error::Length`].
pub fn load(shape: Shape, source: &dyn SectionSource, section: &str) -> Result<Blob> {
    let packed = source.get(section)?;
    Error::check_length("the section of records", packed.len(), shape.total_bytes() as usize)?;
    Ok(packed)
}
