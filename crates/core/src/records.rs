//! Sources of records, and an in-memory buffer.

use crate::{Error, Result, Shape};

/// One record of ⌈bits/8⌉ bytes. The bits of the last byte beyond the record's length are zero.
pub type Record = Vec<u8>;

/// A new value for one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The record's index.
    pub index: u64,
    /// The record's new value, ⌈bits/8⌉ bytes.
    pub record: Record,
}

/// A source of records for `setup`. Several threads may read it at once.
pub trait Records: Send + Sync {
    /// The number of records and their length.
    fn shape(&self) -> Shape;

    /// Reads the `count` records from index `first` on into `out`, packed without gaps, least
    /// significant bit first. `out` has ⌈count · bits / 8⌉ bytes.
    ///
    /// # Errors
    /// [`Error::Malformed`] if `first · bits` is not a multiple of 8, [`Error::IndexOutOfRange`]
    /// beyond the last record, [`Error::Length`] if `out` has another length, or the source's own
    /// errors.
    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()>;
}

impl<R: Records + ?Sized> Records for &R {
    fn shape(&self) -> Shape {
        (**self).shape()
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        (**self).read_packed(first, count, out)
    }
}

/// Records in memory, packed without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordBuffer {
    shape: Shape,
    packed: Vec<u8>,
}

impl RecordBuffer {
    /// A buffer of records whose bits are all zero.
    pub fn zeroed(shape: Shape) -> Self {
        Self {
            shape,
            packed: vec![0; shape.total_bytes() as usize],
        }
    }

    /// Creates a buffer from packed records (least significant bit first, no gaps).
    ///
    /// # Errors
    /// [`Error::Length`] if the number of bytes does not match the shape.
    pub fn from_packed(shape: Shape, packed: Vec<u8>) -> Result<Self> {
        Error::check_length(
            "the packed records",
            packed.len(),
            shape.total_bytes() as usize,
        )?;
        Ok(Self { shape, packed })
    }

    /// Creates a buffer from byte strings of equal length.
    ///
    /// # Errors
    /// [`Error::EmptyDatabase`] for no records, [`Error::Length`] if the length of a record differs
    /// from the length of the first, or the errors of [`Shape::new`].
    pub fn from_records<R: AsRef<[u8]>>(records: impl IntoIterator<Item = R>) -> Result<Self> {
        // The shape is known at the end only: the source is an iterator of any length.
        let mut packed = Vec::new();
        let mut count = 0u64;
        let mut bytes = 0usize;

        for record in records {
            let record = record.as_ref();
            if count == 0 {
                bytes = record.len();
            }
            Error::check_length("a record", record.len(), bytes)?;
            packed.extend_from_slice(record);
            count += 1;
        }

        Self::from_packed(Shape::of_bytes(count, bytes as u64)?, packed)
    }

    /// The packed bytes.
    pub fn packed(&self) -> &[u8] {
        &self.packed
    }

    /// The packed bytes, for writing. Record i has the bits from i·`record_bits` on.
    pub fn packed_mut(&mut self) -> &mut [u8] {
        &mut self.packed
    }

    /// Reads one record.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] beyond the last record.
    pub fn get(&self, index: u64) -> Result<Record> {
        self.shape.check_index(index)?;
        Ok(extract_bits(
            &self.packed,
            index * self.shape.record_bits(),
            self.shape.record_bits(),
        ))
    }

    /// Writes one record, given as ⌈bits/8⌉ bytes. Ignores the bits of `record` beyond the record's
    /// length.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] beyond the last record, [`Error::Length`] if `record` has another
    /// length.
    pub fn set(&mut self, index: u64, record: &[u8]) -> Result<()> {
        self.shape.check_index(index)?;
        Error::check_length("a record", record.len(), self.shape.record_bytes())?;

        let bits = self.shape.record_bits();

        // Whole bytes are copied. Records of other lengths share bytes, so they are set bit by bit.
        if bits.is_multiple_of(8) {
            let start = (index * bits / 8) as usize;
            self.packed[start..start + record.len()].copy_from_slice(record);
            return Ok(());
        }

        for i in 0..bits {
            let value = record[(i / 8) as usize] >> (i % 8) & 1;
            let position = index * bits + i;
            let byte = &mut self.packed[(position / 8) as usize];
            *byte = *byte & !(1 << (position % 8)) | value << (position % 8);
        }
        Ok(())
    }
}

impl Records for RecordBuffer {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        copy_packed(&self.shape, &self.packed, first, count, out)
    }
}

/// Implements [`Records::read_packed`] for records that are packed in memory.
///
/// # Errors
/// The errors of [`check_read`].
///
/// # Panics
/// If `packed` is shorter than all records of the shape.
pub fn copy_packed(
    shape: &Shape,
    packed: &[u8],
    first: u64,
    count: u64,
    out: &mut [u8],
) -> Result<()> {
    check_read(shape, first, count, out.len())?;
    let start = (first * shape.record_bits() / 8) as usize;
    out.copy_from_slice(&packed[start..start + out.len()]);
    // The last byte may hold the first bits of the next record, which was not asked for.
    mask_tail(out, count * shape.record_bits());
    Ok(())
}

/// Reads one record from a source.
///
/// # Errors
/// [`Error::IndexOutOfRange`] beyond the last record, or the errors of the source.
pub fn read_record(source: &dyn Records, index: u64) -> Result<Record> {
    let shape = source.shape();
    shape.check_index(index)?;
    let bits = shape.record_bits();
    // Eight records always end on a byte boundary, whatever their length.
    let before = if bits.is_multiple_of(8) { 0 } else { index % 8 };
    let mut packed = vec![0; ((before + 1) * bits).div_ceil(8) as usize];
    source.read_packed(index - before, before + 1, &mut packed)?;
    Ok(extract_bits(&packed, before * bits, bits))
}

/// Checks a read of the `count` records from index `first` on into a buffer of `length` bytes.
///
/// # Errors
/// The errors of [`Records::read_packed`], except for the source's own errors.
pub fn check_read(shape: &Shape, first: u64, count: u64, length: usize) -> Result<()> {
    let bits = shape.record_bits();
    // The caller's sum may exceed 64 bits. Products of checked numbers cannot: see `MAX_RECORDS`.
    let end = first.saturating_add(count);
    if end > shape.records() {
        return Err(Error::IndexOutOfRange {
            found: end - 1,
            records: shape.records(),
        });
    }

    if !(first * bits).is_multiple_of(8) {
        return Err(Error::malformed(
            "a packed read",
            format!("bit {}", first * bits),
            "a multiple of 8",
        ));
    }

    Error::check_length(
        "the buffer for packed records",
        length,
        (count * bits).div_ceil(8) as usize,
    )
}

/// Clears the bits of the last byte beyond the first `bits` bits; `bytes` has ⌈bits/8⌉ bytes.
fn mask_tail(bytes: &mut [u8], bits: u64) {
    if !bits.is_multiple_of(8)
        && let Some(last) = bytes.last_mut()
    {
        *last &= (1u8 << (bits % 8)) - 1;
    }
}

/// Copies `bits` bits from bit position `start` of `packed` to a new record. Bytes beyond the end
/// of `packed` count as zero.
pub fn extract_bits(packed: &[u8], start: u64, bits: u64) -> Record {
    let offset = (start / 8) as usize;
    let shift = (start % 8) as u32;
    let length = bits.div_ceil(8) as usize;
    let byte = |i: usize| packed.get(i).copied().unwrap_or(0);

    let mut record: Record = (0..length)
        .map(|i| {
            let pair = u16::from(byte(offset + i)) | u16::from(byte(offset + i + 1)) << 8;
            (pair >> shift) as u8
        })
        .collect();

    mask_tail(&mut record, bits);
    record
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_reference::vectors::rows;

    use super::*;

    const VECTORS: &str = include_str!("../../../docs/vectors/arithmetic/core.json");

    #[test]
    fn extracted_bits_are_those_of_the_definition() {
        for [source, start, bits, expected] in rows::<4>(VECTORS, "records.extract_bits") {
            let packed = (source as u64).to_le_bytes();
            let record = extract_bits(&packed, start as u64, bits as u64);
            let expected = (expected as u64).to_le_bytes();
            assert_eq!(
                record,
                expected[..record.len()],
                "{bits} bits from {start} of {source}"
            );
        }
    }

    #[test]
    fn odd_bit_lengths_round_trip() {
        for bits in [1u64, 3, 7, 8, 9, 13, 64, 65] {
            let shape = Shape::new(37, bits).unwrap();
            let mut buffer = RecordBuffer::zeroed(shape);
            let record = |i: u64| {
                let bytes: Vec<u8> = (0..shape.record_bytes())
                    .map(|b| (i * 31 + b as u64 * 7 + 1) as u8)
                    .collect();
                extract_bits(&bytes, 0, bits)
            };

            for i in 0..37 {
                buffer.set(i, &record(i)).unwrap();
            }
            for i in 0..37 {
                assert_eq!(buffer.get(i).unwrap(), record(i), "bits {bits}, record {i}");
            }
        }
    }

    #[test]
    fn invalid_packed_reads_are_refused() {
        let buffer = RecordBuffer::zeroed(Shape::new(10, 3).unwrap());
        assert!(matches!(
            buffer.read_packed(1, 1, &mut [0]),
            Err(Error::Malformed { .. })
        ));
        assert!(matches!(
            buffer.read_packed(8, 3, &mut [0; 2]),
            Err(Error::IndexOutOfRange { .. })
        ));
        assert!(matches!(
            buffer.read_packed(8, 2, &mut [0; 2]),
            Err(Error::Length { .. })
        ));
        assert!(buffer.read_packed(8, 2, &mut [0; 1]).is_ok());
    }
}
