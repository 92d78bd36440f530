//! Stored copies of records, and reads of records from them.

use std::ops::Range;

use papir_core::scheme::check_changes;
use papir_core::sections::SectionSource;
use papir_core::{
    AlignedBytes, Blob, Change, Error, Progress, Record, RecordBuffer, Records, Result, Shape,
    check_read, parallel,
};

use super::units::Units;

/// Checks that a source of records has the shape of the parameters.
///
/// # Errors
/// [`Error::Parameters`] for another shape.
pub fn check_source(scheme: &'static str, shape: Shape, records: &dyn Records) -> Result<()> {
    let found = records.shape();
    if found == shape {
        return Ok(());
    }
    let reason = format!(
        "chosen for {}, the source has {}",
        named(shape),
        named(found)
    );
    Err(Error::Parameters { scheme, reason })
}

/// Describes a shape in words.
fn named(shape: Shape) -> String {
    format!(
        "{} records of {} bits",
        shape.records(),
        shape.record_bits()
    )
}

/// Number of records that are read at a time. It is a multiple of 8, so that every read starts on a
/// whole byte.
const READ_RECORDS: u64 = 1 << 12;

/// Copies all records of a source, which must have this shape.
///
/// # Errors
/// The errors of [`check_source`] and of the source.
pub fn copy(
    scheme: &'static str,
    shape: Shape,
    records: &dyn Records,
    progress: &dyn Progress,
) -> Result<Blob> {
    check_source(scheme, shape, records)?;

    progress.stage("copy records", shape.records());
    let mut packed = AlignedBytes::zeroed(shape.total_bytes() as usize);
    let parts = packed
        .bytes_mut()
        .chunks_mut((READ_RECORDS * shape.record_bits() / 8) as usize);

    for (i, part) in parts.enumerate() {
        let first = i as u64 * READ_RECORDS;
        let count = READ_RECORDS.min(shape.records() - first);
        records.read_packed(first, count, part)?;
        progress.advance(count);
    }

    Ok(packed.into())
}

/// Returns the packed records after changes.
///
/// # Errors
/// The errors of [`check_changes`].
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
/// [`Error::MissingSection`] or [`Error::Length`], and the errors of the source.
pub fn load(shape: Shape, source: &dyn SectionSource, section: &str) -> Result<Blob> {
    let packed = source.get(section)?;
    Error::check_length(
        "the section of records",
        packed.len(),
        shape.total_bytes() as usize,
    )?;
    Ok(packed)
}

/// Number of columns that are decoded together. It bounds the memory beside the output.
const BLOCK_COLUMNS: u64 = 64;

/// Reads a range of records back, given by its first index and its length, as
/// [`papir_core::Records::read_packed`] does. `decode` returns the bytes of a column: `units` units
/// and any padding. Columns are in the order of their units.
pub(crate) fn read_columns(
    unit_layout: &Units,
    units: u64,
    range: (u64, u64),
    out: &mut [u8],
    decode: impl Fn(usize) -> Vec<u8> + Sync,
) -> Result<()> {
    let (first, count) = range;
    check_read(&unit_layout.shape, first, count, out.len())?;

    let end = first + count;
    let records = units * unit_layout.per_unit;
    let mut packer = Packer::new(out);

    let mut next = first / records;
    let last = end.div_ceil(records);
    // A read of no records decodes no column, even where it starts within one.
    while next < last && count > 0 {
        let block = next..last.min(next + BLOCK_COLUMNS);
        let columns = parallel::map(block.clone(), |i| decode(i as usize));
        for (column, bytes) in block.zip(&columns) {
            let start = column * records;
            let wanted = first.max(start) - start..end.min(start + records) - start;
            put_records(unit_layout, bytes, wanted, &mut packer);
        }
        next += BLOCK_COLUMNS;
    }

    Ok(())
}

/// Reads a range of records one by one, given by its first index and its length, as
/// [`papir_core::Records::read_packed`] does. `record` returns a record, or `None` for zeros.
pub(crate) fn read_each(
    shape: &Shape,
    range: (u64, u64),
    out: &mut [u8],
    record: impl Fn(u64) -> Result<Option<Record>>,
) -> Result<()> {
    let (first, count) = range;
    check_read(shape, first, count, out.len())?;
    // A shape of no records does not exist.
    if count == 0 {
        return Ok(());
    }

    let mut packed = RecordBuffer::zeroed(Shape::new(count, shape.record_bits())?);
    for i in 0..count {
        if let Some(record) = record(first + i)? {
            packed.set(i, &record)?;
        }
    }

    out.copy_from_slice(packed.packed());
    Ok(())
}

/// Packs a range of records of a column.
fn put_records(unit_layout: &Units, column: &[u8], wanted: Range<u64>, packer: &mut Packer<'_>) {
    let bits = unit_layout.shape.record_bits();
    let unit_bits = 8 * unit_layout.unit_bytes as u64;

    let mut next = wanted.start;
    while next < wanted.end {
        let (unit, slot) = unit_layout.locate(next);

        // Without gaps, a run of records is one of bits.
        let run = match (
            unit_layout.stored_bits == bits,
            unit_layout.per_unit * bits == unit_bits,
        ) {
            (true, true) => wanted.end - next,
            (true, false) => (unit_layout.per_unit - slot).min(wanted.end - next),
            (false, _) => 1,
        };

        // A record starts at a multiple of its stored bits in its unit, and units at whole bytes.
        packer.put(
            column,
            unit * unit_bits + slot * unit_layout.stored_bits,
            run * bits,
        );
        next += run;
    }
}

/// A writer of bit strings, one after the other, least significant bit first.
struct Packer<'a> {
    out: &'a mut [u8],
    /// Number of bits written so far.
    written: u64,
}

impl<'a> Packer<'a> {
    fn new(out: &'a mut [u8]) -> Self {
        out.fill(0);
        Self { out, written: 0 }
    }

    /// Appends `bits` bits of a string from position `from`.
    fn put(&mut self, source: &[u8], from: u64, bits: u64) {
        let mut done = 0;

        // Whole bytes are copied where both strings are at one.
        if from.is_multiple_of(8) && self.written.is_multiple_of(8) {
            let start = (from / 8) as usize;
            let to = (self.written / 8) as usize;
            let bytes = (bits / 8) as usize;
            self.out[to..to + bytes].copy_from_slice(&source[start..start + bytes]);
            done = bits / 8 * 8;
        }

        while done < bits {
            // 56 bits: a window has 57 once it is shifted by up to 7, and `or` shifts these by up
            // to 7 too, within a word of 64.
            let taken = (bits - done).min(56);
            self.or(
                self.written + done,
                window(source, from + done) & ((1 << taken) - 1),
            );
            done += taken;
        }

        self.written += bits;
    }

    /// Sets at most 56 bits of zeroed output from a position.
    fn or(&mut self, position: u64, bits: u64) {
        let tail = self.out[(position / 8) as usize..].iter_mut();
        let shifted = bits << (position % 8);
        tail.zip(shifted.to_le_bytes())
            .for_each(|(out, byte)| *out |= byte);
    }
}

/// Returns at least 57 bits of a string from position `from`. Bits beyond its end are zeros.
fn window(source: &[u8], from: u64) -> u64 {
    let tail = source.get((from / 8) as usize..).unwrap_or_default();
    let mut bytes = [0; 8];
    let taken = tail.len().min(8);
    bytes[..taken].copy_from_slice(&tail[..taken]);
    u64::from_le_bytes(bytes) >> (from % 8)
}
