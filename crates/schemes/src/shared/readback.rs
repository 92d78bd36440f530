//! Reading records back from a prepared database, packed as in a source.

use std::ops::Range;

use papir_core::{Record, RecordBuffer, Result, Shape, check_read};
use rayon::prelude::*;

use crate::shared::units::Units;

/// Columns that are decoded together, to bound the memory beside the output.
const BLOCK_COLUMNS: u64 = 64;

/// Reads records back, as [`papir_core::Records::read_packed`] does. `decode` returns the bytes of
/// a column: `units` units and any padding. Columns are in the order of their units.
///
/// # Errors
/// As [`papir_core::Records::read_packed`].
pub(crate) fn read_columns(
    bundle: &Units,
    units: u64,
    (first, count): (u64, u64),
    out: &mut [u8],
    decode: impl Fn(usize) -> Vec<u8> + Sync,
) -> Result<()> {
    check_read(&bundle.shape, first, count, out.len())?;
    let (end, records) = (first + count, units * bundle.per_unit);
    let mut packer = Packer::new(out);
    let (mut next, last) = (first / records, end.div_ceil(records));
    while next < last && count > 0 {
        let block = next..last.min(next + BLOCK_COLUMNS);
        let columns: Vec<Vec<u8>> = block.clone().into_par_iter().map(|i| decode(i as usize)).collect();
        for (column, bytes) in block.zip(&columns) {
            let start = column * records;
            let wanted = first.max(start) - start..end.min(start + records) - start;
            put_records(bundle, bytes, wanted, &mut packer);
        }
        next += BLOCK_COLUMNS;
    }
    Ok(())
}

/// Reads records one by one, as [`papir_core::Records::read_packed`] does. `record` returns each,
/// or `None` for zeros.
///
/// # Errors
/// As [`papir_core::Records::read_packed`], and those of `record`.
pub(crate) fn read_each(
    shape: &Shape,
    (first, count): (u64, u64),
    out: &mut [u8],
    record: impl Fn(u64) -> Result<Option<Record>>,
) -> Result<()> {
    check_read(shape, first, count, out.len())?;
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
fn put_records(bundle: &Units, column: &[u8], wanted: Range<u64>, packer: &mut Packer<'_>) {
    let (bits, unit_bits) = (bundle.shape.record_bits(), 8 * bundle.unit_bytes as u64);
    let mut next = wanted.start;
    while next < wanted.end {
        let (unit, slot) = bundle.locate(next);
        // Without gaps, a run of records is one of bits.
        let run = match (bundle.stored_bits == bits, bundle.per_unit * bits == unit_bits) {
            (true, true) => wanted.end - next,
            (true, false) => (bundle.per_unit - slot).min(wanted.end - next),
            (false, _) => 1,
        };
        packer.put(column, unit * unit_bits + slot * bundle.stored_bits, run * bits);
        next += run;
    }
}

/// Writes bit strings one after the other, least significant bit first.
struct Packer<'a> {
    out: &'a mut [u8],
    /// Bits written so far.
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
        if from.is_multiple_of(8) && self.written.is_multiple_of(8) {
            let (start, to, bytes) = ((from / 8) as usize, (self.written / 8) as usize, (bits / 8) as usize);
            self.out[to..to + bytes].copy_from_slice(&source[start..start + bytes]);
            done = bits / 8 * 8;
        }
        while done < bits {
            let taken = (bits - done).min(56);
            self.or(self.written + done, window(source, from + done) & ((1 << taken) - 1));
            done += taken;
        }
        self.written += bits;
    }

    /// Sets at most 56 bits of zeroed output from a position.
    fn or(&mut self, position: u64, bits: u64) {
        let tail = self.out[(position / 8) as usize..].iter_mut();
        let shifted = bits << (position % 8);
        tail.zip(shifted.to_le_bytes()).for_each(|(out, byte)| *out |= byte);
    }
}

/// At least 57 bits of a string from position `from`; zeros beyond its end.
fn window(source: &[u8], from: u64) -> u64 {
    let tail = source.get((from / 8) as usize..).unwrap_or_default();
    let mut bytes = [0; 8];
    let taken = tail.len().min(8);
    bytes[..taken].copy_from_slice(&tail[..taken]);
    u64::from_le_bytes(bytes) >> (from % 8)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::{RecordBuffer, Records, Shape};

    use super::*;

    #[test]
    fn units_give_back_what_was_read_into_them() {
        for bits in [1, 3, 8, 13, 57, 64, 250, 256] {
            let shape = Shape::new(613, bits).unwrap();
            let bytes = (0..shape.total_bytes()).map(|i| (i * 151 + i * i / 7) as u8).collect();
            let records = RecordBuffer::from_packed(shape, bytes).unwrap();
            let bundle = Units::new(shape, 32).unwrap();
            let decode = |column: usize| {
                let mut bytes = vec![0; 3 * 32 + 5];
                bundle.read(&records, 3 * column as u64, &mut bytes[..96]).unwrap();
                bytes
            };
            for (first, count) in [(0, 613), (0, 1), (8, 77), (304, 309), (608, 5), (16, 0), (0, 0), (608, 1)]
            {
                let length = (count * bits).div_ceil(8) as usize;
                let (mut found, mut expected) = (vec![0xFF; length], vec![0; length]);
                records.read_packed(first, count, &mut expected).unwrap();
                read_columns(&bundle, 3, (first, count), &mut found, decode).unwrap();
                assert!(found == expected, "{bits} bits, {count} records from {first}");
            }
            let read =
                |range, out: &mut [u8]| read_columns(&bundle, 3, range, out, decode).unwrap_err().code();
            assert_eq!(read((608, 6), &mut [0; 300]), "index_out_of_range");
            assert_eq!(read((0, 8), &mut vec![0; bits as usize + 1]), "wrong_length");
        }
    }
}
