//! Units of a fixed number of bytes that hold short records.

use papir_core::{Change, RecordBuffer, Records, Result, Shape, extract_bits};
use papir_core::{Error, Record};
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

/// Records in units: either a multiple of 8 of them without gaps, or each padded to whole bytes,
/// whichever holds more. So a source is read at byte boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    pub(crate) shape: Shape,
    /// Bytes of a unit.
    pub(crate) unit_bytes: usize,
    /// Bits that a record occupies.
    pub(crate) stored_bits: u64,
    /// Records of a unit.
    pub(crate) per_unit: u64,
}

impl Units {
    /// Units of `unit_bytes` bytes.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for records longer than a unit.
    pub(crate) fn new(shape: Shape, unit_bytes: usize) -> Result<Self> {
        let (bits, capacity) = (shape.record_bits(), 8 * unit_bytes as u64);
        let padded = bits.next_multiple_of(8);
        let (tight, loose) = (capacity / bits / 8 * 8, capacity / padded);
        if loose == 0 {
            let expected = format!("at most {capacity}, a unit of {unit_bytes} bytes");
            return Err(Error::out_of_bounds("the record length in bits", bits, expected));
        }
        let (stored_bits, per_unit) = if tight > loose { (bits, tight) } else { (padded, loose) };
        Ok(Self { shape, unit_bytes, stored_bits, per_unit })
    }

    /// Number of units of all records.
    pub(crate) fn units(&self) -> u64 {
        self.shape.records().div_ceil(self.per_unit)
    }

    /// The unit of a record and its slot. No branch depends on the index.
    pub(crate) fn locate(&self, index: u64) -> (u64, u64) {
        (index / self.per_unit, index % self.per_unit)
    }

    /// Reads the records of adjacent units from `first` on, each in its slot, into zeroed bytes of
    /// whole units, up to the last record. Reads the source once.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn read(&self, records: &dyn Records, first: u64, out: &mut [u8]) -> Result<()> {
        let units = (out.len() / self.unit_bytes) as u64;
        let start = first * self.per_unit;
        let count = (units * self.per_unit).min(self.shape.records().saturating_sub(start));
        if count == 0 {
            return Ok(());
        }
        let bits = self.shape.record_bits();
        if self.per_unit * bits == 8 * self.unit_bytes as u64 {
            return records.read_packed(start, count, &mut out[..(count * bits).div_ceil(8) as usize]);
        }
        // The source is read from a byte boundary: 8 records always end on one.
        let aligned = start / 8 * 8;
        let skipped = start - aligned;
        let mut packed = vec![0; ((skipped + count) * bits).div_ceil(8) as usize];
        records.read_packed(aligned, skipped + count, &mut packed)?;
        for (i, unit) in (0..).zip(out.chunks_exact_mut(self.unit_bytes)) {
            let taken = self.per_unit.min(count.saturating_sub(i * self.per_unit));
            self.place(&packed, skipped + i * self.per_unit, taken, unit);
        }
        Ok(())
    }

    /// Copies `count` packed records to the slots of a unit.
    fn place(&self, packed: &[u8], from: u64, count: u64, unit: &mut [u8]) {
        let bits = self.shape.record_bits();
        if self.stored_bits == bits {
            copy_bits(packed, from * bits, count * bits, unit);
            return;
        }
        for i in 0..count {
            copy_bits(packed, (from + i) * bits, bits, &mut unit[(i * self.stored_bits / 8) as usize..]);
        }
    }

    /// The record in a secret slot of a unit. Reads every slot.
    pub(crate) fn select(&self, unit: &[u8], slot: u64) -> Record {
        let mut selected = vec![0; self.shape.record_bytes()];
        for i in 0..self.per_unit {
            let wanted = i.ct_eq(&slot);
            let record = Zeroizing::new(extract_bits(unit, i * self.stored_bits, self.shape.record_bits()));
            for (out, &byte) in selected.iter_mut().zip(record.iter()) {
                out.conditional_assign(&byte, wanted);
            }
        }
        selected
    }

    /// Writes a changed record to its slot in its unit.
    ///
    /// # Errors
    /// None for a change that fits the shape.
    pub(crate) fn set(&self, unit: &mut [u8], change: &Change) -> Result<()> {
        self.set_slot(unit, self.locate(change.index).1, &change.record)
    }

    /// Writes a record to a slot of a unit.
    ///
    /// # Errors
    /// As [`Units::set`].
    pub(crate) fn set_slot(&self, unit: &mut [u8], slot: u64, record: &[u8]) -> Result<()> {
        let shape = Shape::new(self.per_unit, self.stored_bits)?;
        let used = &mut unit[..shape.total_bytes() as usize];
        let mut records = RecordBuffer::from_packed(shape, used.to_vec())?;
        // Bits beyond the record's length are ignored, also if the record is padded to whole bytes.
        let record = extract_bits(record, 0, self.shape.record_bits());
        records.set(slot, &record)?;
        used.copy_from_slice(records.packed());
        Ok(())
    }
}

/// Copies a range of bits to the front of zeroed bytes.
fn copy_bits(packed: &[u8], start: u64, bits: u64, out: &mut [u8]) {
    let (offset, shift) = ((start / 8) as usize, start % 8);
    let byte = |i: usize| packed.get(offset + i).map_or(0, |&byte| u16::from(byte));
    let out = &mut out[..bits.div_ceil(8) as usize];
    for (i, out) in out.iter_mut().enumerate() {
        *out = ((byte(i) | byte(i + 1) << 8) >> shift) as u8;
    }
    if let (Some(last), 1..) = (out.last_mut(), bits % 8) {
        *last &= (1 << (bits % 8)) - 1;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn units_hold_whole_records() {
        for (bits, stored, per_unit) in [(1, 1, 256), (3, 3, 80), (8, 8, 32), (13, 16, 16), (250, 256, 1)] {
            let bundle = Units::new(Shape::new(1000, bits).unwrap(), 32).unwrap();
            assert_eq!((bundle.stored_bits, bundle.per_unit), (stored, per_unit), "{bits} bits");
            assert_eq!(bundle.units(), 1000u64.div_ceil(per_unit));
        }
        let error = Units::new(Shape::new(9, 257).unwrap(), 32).unwrap_err().to_string();
        assert_eq!(error, "the record length in bits is 257: expected at most 256, a unit of 32 bytes");
    }

    #[test]
    fn records_are_read_set_and_selected() {
        for bits in [1, 3, 8, 13, 64, 250] {
            let shape = Shape::new(613, bits).unwrap();
            let mut records = RecordBuffer::zeroed(shape);
            let value = |i: u64| {
                let bytes: Vec<u8> = (0..32).map(|k| (i * 31 + k * 7) as u8).collect();
                extract_bits(&bytes, 0, bits)
            };
            (0..613).for_each(|i| records.set(i, &value(i)).unwrap());
            let bundle = Units::new(shape, 32).unwrap();
            for index in [0, 1, 300, 611, 612] {
                let (unit, slot) = bundle.locate(index);
                let mut bytes = vec![0; 32];
                bundle.read(&records, unit, &mut bytes).unwrap();
                assert_eq!(bundle.select(&bytes, slot), value(index), "{bits} bits, record {index}");
                bundle.set(&mut bytes, &Change { index, record: value(index + 1) }).unwrap();
                assert_eq!(bundle.select(&bytes, slot), value(index + 1));
                if slot > 0 {
                    assert_eq!(bundle.select(&bytes, slot - 1), value(index - 1));
                }
            }
        }
    }
}
