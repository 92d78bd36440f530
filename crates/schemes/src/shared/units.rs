//! Units of a fixed number of bytes for short records.

#[cfg(test)]
use std::cell::Cell;

use papir_core::{Change, Error, Record, RecordBuffer, Records, Result, Shape, extract_bits};
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Division of records into units. A unit has a multiple of 8 records without gaps, or records that
/// are each padded to whole bytes, whichever is more records. So a source is read at byte
/// boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    pub(crate) shape: Shape,
    /// Bytes of a unit.
    pub(crate) unit_bytes: usize,
    /// Bits that a record occupies.
    pub(crate) stored_bits: u64,
    /// Number of records in a unit.
    pub(crate) per_unit: u64,
}

impl Units {
    /// Creates units of `unit_bytes` bytes. Records longer than a unit give [`Error::OutOfBounds`].
    pub(crate) fn new(shape: Shape, unit_bytes: usize) -> Result<Self> {
        let bits = shape.record_bits();
        let capacity = 8 * unit_bytes as u64;
        let padded = bits.next_multiple_of(8);
        let tight = capacity / bits / 8 * 8;
        let loose = capacity / padded;

        if loose == 0 {
            let expected = format!("at most {capacity}, a unit of {unit_bytes} bytes");
            return Err(Error::out_of_bounds(
                "the record length in bits",
                bits,
                expected,
            ));
        }

        let (stored_bits, per_unit) = if tight > loose {
            (bits, tight)
        } else {
            (padded, loose)
        };

        Ok(Self {
            shape,
            unit_bytes,
            stored_bits,
            per_unit,
        })
    }

    /// Returns the number of units of all records.
    pub(crate) fn units(&self) -> u64 {
        self.shape.records().div_ceil(self.per_unit)
    }

    /// Returns the unit of a record and its slot. No branch depends on the index.
    pub(crate) fn locate(&self, index: u64) -> (u64, u64) {
        (index / self.per_unit, index % self.per_unit)
    }

    /// Returns the bytes of records that a client can read from an answer with `bytes` bytes of
    /// records, and from a hint of `hint` bytes: all of them if the hint is as long as they are. It
    /// is the value of [`papir_core::Sizes::seen`].
    pub(crate) fn seen(&self, bytes: u64, hint: u64) -> Option<u64> {
        let all = self.shape.total_bytes();
        Some(if hint >= all { all } else { bytes.min(all) })
    }

    /// Reads the records of adjacent units from `first` on, up to the last record, in one read of
    /// the source. `out` is zeroed bytes of whole units; each record is written to its slot.
    pub(crate) fn read(&self, records: &dyn Records, first: u64, out: &mut [u8]) -> Result<()> {
        let units = (out.len() / self.unit_bytes) as u64;
        let start = first * self.per_unit;
        let count = (units * self.per_unit).min(self.shape.records().saturating_sub(start));
        if count == 0 {
            return Ok(());
        }

        let bits = self.shape.record_bits();
        // Units without gaps are the packed records themselves, and each starts on a whole byte.
        if self.per_unit * bits == 8 * self.unit_bytes as u64 {
            return records.read_packed(
                start,
                count,
                &mut out[..(count * bits).div_ceil(8) as usize],
            );
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
        // Without padding, the records of a unit are one run of bits.
        if self.stored_bits == bits {
            copy_bits(packed, from * bits, count * bits, unit);
            return;
        }

        for i in 0..count {
            copy_bits(
                packed,
                (from + i) * bits,
                bits,
                &mut unit[(i * self.stored_bits / 8) as usize..],
            );
        }
    }

    /// Returns the record in a secret slot of a unit. Reads every slot.
    pub(crate) fn select(&self, unit: &[u8], slot: u64) -> Record {
        #[cfg(test)]
        SELECTED.with(|selected| selected.set(selected.get() + 1));

        let mut selected = vec![0; self.shape.record_bytes()];
        for i in 0..self.per_unit {
            let wanted = i.ct_eq(&slot);
            let record = Zeroizing::new(extract_bits(
                unit,
                i * self.stored_bits,
                self.shape.record_bits(),
            ));

            // The same work for every slot: which one is wanted is secret.
            for (out, &byte) in selected.iter_mut().zip(record.iter()) {
                out.conditional_assign(&byte, wanted);
            }
        }
        selected
    }

    /// Writes a changed record to its slot in its unit. The function does not fail for a change
    /// that fits the shape.
    pub(crate) fn set(&self, unit: &mut [u8], change: &Change) -> Result<()> {
        self.set_slot(unit, self.locate(change.index).1, &change.record)
    }

    /// Writes a record to a slot of a unit.
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

/// Returns what a client selected from an answer, or [`Error::NotDecodable`].
///
/// The selection is an argument, so that it comes before the refusal: an answer that does not
/// decode takes no less time than one that does. A refused selection is erased, because an answer
/// with a single altered word may still give most bytes of the record.
///
/// # Errors
/// [`Error::NotDecodable`].
pub fn decoded<T: Zeroize>(mut selected: T, decodes: bool) -> Result<T> {
    if decodes {
        return Ok(selected);
    }

    selected.zeroize();
    Err(Error::NotDecodable)
}

#[cfg(test)]
thread_local! {
    /// Calls of [`Units::select`] on this thread.
    static SELECTED: Cell<usize> = const { Cell::new(0) };
}

/// Returns the result of `work`, and the number of records that it selected on this thread.
#[cfg(test)]
pub(crate) fn count_selected<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = SELECTED.with(Cell::get);
    let result = work();
    (result, SELECTED.with(Cell::get) - before)
}

/// Copies a range of bits to the front of zeroed bytes.
fn copy_bits(packed: &[u8], start: u64, bits: u64, out: &mut [u8]) {
    let offset = (start / 8) as usize;
    let shift = start % 8;
    let byte = |i: usize| packed.get(offset + i).map_or(0, |&byte| u16::from(byte));

    let out = &mut out[..bits.div_ceil(8) as usize];
    for (i, out) in out.iter_mut().enumerate() {
        // Two bytes hold any eight bits, wherever they start. A byte beyond the end counts as zero.
        *out = ((byte(i) | byte(i + 1) << 8) >> shift) as u8;
    }

    // The last byte also has bits that follow the range.
    let rest = bits % 8;
    if rest > 0
        && let Some(last) = out.last_mut()
    {
        *last &= (1 << rest) - 1;
    }
}

/// Largest number of columns of a matrix over the packing ring. It gives a selector of 115 MB, and
/// bounds a client's allocations for the parameters of a server.
pub(crate) const MAX_COLUMNS: u64 = 1 << 24;

/// Place of one record. It is as secret as the index.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Location {
    /// Unit that holds the record.
    pub unit: u64,
    /// Column of the unit.
    pub column: u32,
    /// Position of the unit in its column.
    pub block: u32,
    /// Position of the record in its unit.
    pub slot: u64,
}

impl Units {
    /// Returns the place of a record in columns of `blocks` units. No branch depends on the index.
    pub(crate) fn location(&self, index: u64, blocks: usize) -> Location {
        let (unit, slot) = self.locate(index);
        let blocks = blocks as u64;
        Location {
            unit,
            column: (unit / blocks) as u32,
            block: (unit % blocks) as u32,
            slot,
        }
    }
}

/// A change and its column.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub(crate) column: usize,
    pub(crate) change: &'a Change,
}

/// Sorts changes by column. Changes of one column keep their order.
pub(crate) fn by_column(changes: &[Change], column: impl Fn(u64) -> usize) -> Vec<Placed<'_>> {
    let mut placed: Vec<_> = changes
        .iter()
        .map(|change| Placed {
            column: column(change.index),
            change,
        })
        .collect();

    // A stable sort: the last change of a record is the one that counts.
    placed.sort_by_key(|placed| placed.column);
    placed
}

/// Splits sorted changes by column.
pub(crate) fn columns<'a, 'b>(placed: &'b [Placed<'a>]) -> impl Iterator<Item = &'b [Placed<'a>]> {
    placed.chunk_by(|a, b| a.column == b.column)
}
