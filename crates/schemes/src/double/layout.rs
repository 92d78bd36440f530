//! Layout of the matrix D.
//!
//! A *unit* is as many records as fit the bytes of one: eight records of 1 bit in a byte, one of 13
//! bits in two. A unit of B bytes takes B neighbouring rows of D, so that a column of D is a run of
//! units.

use papir_core::{Error, Result, Shape};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::shared::units::Units;

/// Longest record in bits. Hint and answer grow with each byte of a record; beyond this length
/// SimplePIR's hint is smaller.
pub const MAX_RECORD_BITS: u64 = 64;
/// Most columns, and most units in a column: both levels decode up to here (`super::noise`).
pub(crate) const MAX_SIDE: u64 = 1 << 18;

/// The matrix's shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bits of a record.
    pub(crate) record_bits: u64,
    /// Records of a unit.
    pub(crate) unit_records: u64,
    /// Bytes of a unit, B.
    pub(crate) unit_bytes: usize,
    /// Units of a column: the length of the second level's query.
    pub(crate) units: usize,
    /// Columns of the matrix: the length of the first level's query.
    pub(crate) columns: usize,
}

/// A record's place. Secret when the index is, and erased on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Place {
    /// The column.
    pub(crate) column: u64,
    /// The unit in the column.
    pub(crate) unit: u64,
    /// The record in the unit.
    pub(crate) slot: u64,
}

/// Units of all records, and bytes of one.
///
/// # Errors
/// [`Error::OutOfBounds`] for records above [`MAX_RECORD_BITS`].
pub(crate) fn units_of(shape: &Shape) -> Result<(u64, u64)> {
    let bits = shape.record_bits();
    if bits > MAX_RECORD_BITS {
        let expected = format!("at most {MAX_RECORD_BITS}");
        return Err(Error::out_of_bounds("the record length in bits", bits, expected));
    }
    let bytes = bits.div_ceil(8);
    Ok((shape.records().div_ceil(8 * bytes / bits), bytes))
}

impl Layout {
    /// A matrix with `units` units in each column.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for records above [`MAX_RECORD_BITS`], too many columns or units, or
    /// no unit in a column.
    pub(crate) fn new(shape: &Shape, units: u64) -> Result<Self> {
        let (all, unit_bytes) = units_of(shape)?;
        let most = all.min(MAX_SIDE);
        if units == 0 || units > most {
            let expected = format!("1 to {most}");
            return Err(Error::out_of_bounds("the number of units in a column", units, expected));
        }
        let columns = all.div_ceil(units);
        if columns > MAX_SIDE {
            let expected = format!("at most {MAX_SIDE}");
            return Err(Error::out_of_bounds("the number of columns", columns, expected));
        }
        Ok(Self {
            record_bits: shape.record_bits(),
            unit_records: 8 * unit_bytes / shape.record_bits(),
            unit_bytes: unit_bytes as usize,
            units: units as usize,
            columns: columns as usize,
        })
    }

    /// Rows of D.
    pub(crate) fn rows(&self) -> usize {
        self.units * self.unit_bytes
    }

    /// Units in the bytes of a column.
    pub(crate) fn bundle(&self, shape: Shape) -> Units {
        Units {
            shape,
            unit_bytes: self.unit_bytes,
            stored_bits: self.record_bits,
            per_unit: self.unit_records,
        }
    }

    /// Records of a column.
    pub(crate) fn column_records(&self) -> u64 {
        self.units as u64 * self.unit_records
    }

    /// Place of a record. No branch depends on the index.
    pub(crate) fn place(&self, index: u64) -> Place {
        let (unit, slot) = (index / self.unit_records, index % self.unit_records);
        Place { column: unit / self.units as u64, unit: unit % self.units as u64, slot }
    }

    /// The units of packed records, as numbers, from bit `start` to the last record.
    pub(crate) fn units_in<'a>(&self, packed: &'a [u8], start: u64) -> impl Iterator<Item = u64> + 'a {
        let bits = self.unit_records * self.record_bits;
        let end = 8 * packed.len() as u64;
        (0..self.units as u64)
            .map(move |unit| start + unit * bits)
            .take_while(move |&from| from < end)
            .map(move |from| bits_at(packed, from, bits))
    }

    /// The record in a slot of a unit. No branch depends on either.
    pub(crate) fn record(&self, unit: u64, slot: u64) -> u64 {
        low_bits(unit >> (slot * self.record_bits), self.record_bits)
    }

    /// A unit with another record in a slot.
    pub(crate) fn with_record(&self, unit: u64, slot: u64, record: u64) -> u64 {
        let (mask, shift) = (low_bits(u64::MAX, self.record_bits), slot * self.record_bits);
        unit & !(mask << shift) | (record & mask) << shift
    }
}

/// The low `bits` (1 to 64) of a number.
fn low_bits(value: u64, bits: u64) -> u64 {
    value & u64::MAX >> (64 - bits)
}

/// Reads `bits` (1 to 64) bits of a bit string from `start`; zeros beyond its end.
fn bits_at(packed: &[u8], start: u64, bits: u64) -> u64 {
    let tail = packed.get((start / 8) as usize..).unwrap_or_default();
    let mut bytes = [0; 16];
    let taken = tail.len().min(9);
    bytes[..taken].copy_from_slice(&tail[..taken]);
    low_bits((u128::from_le_bytes(bytes) >> (start % 8)) as u64, bits)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use papir_core::{RecordBuffer, extract_bits};

    #[test]
    fn units_hold_what_fits_the_bytes_of_a_record() {
        for (bits, records, bytes) in
            [(1, 8, 1), (3, 2, 1), (4, 2, 1), (5, 1, 1), (8, 1, 1), (9, 1, 2), (17, 1, 3), (64, 1, 8)]
        {
            let layout = Layout::new(&Shape::new(100, bits).unwrap(), 5).unwrap();
            assert_eq!((layout.unit_records, layout.unit_bytes), (records, bytes), "{bits} bits");
            assert_eq!(layout.columns as u64, 100u64.div_ceil(5 * records), "{bits} bits");
        }
    }

    #[test]
    fn places_are_distinct_and_columns_are_runs() {
        let layout = Layout::new(&Shape::new(1000, 3).unwrap(), 7).unwrap();
        for index in 0..1000 {
            let place = layout.place(index);
            assert_eq!((place.column * 7 + place.unit) * 2 + place.slot, index);
        }
    }

    #[test]
    fn units_and_their_records_are_the_packed_ones() {
        for bits in [1, 3, 5, 8, 13, 40, 57, 63, 64] {
            let shape = Shape::new(97, bits).unwrap();
            let layout = Layout::new(&shape, 50.min(units_of(&shape).unwrap().0)).unwrap();
            let bytes = (0..shape.total_bytes()).map(|i| (i * 151 + i * i) as u8).collect();
            let records = RecordBuffer::from_packed(shape, bytes).unwrap();
            let units: Vec<u64> = layout.units_in(records.packed(), 5 * bits).collect();
            for index in 5..layout.column_records().min(97 - 5) {
                let unit = units[((index - 5) / layout.unit_records) as usize];
                let found = layout.record(unit, (index - 5) % layout.unit_records);
                let record = found.to_le_bytes()[..shape.record_bytes()].to_vec();
                assert_eq!(record, extract_bits(records.packed(), index * bits, bits), "{bits}: {index}");
            }
            let changed = layout.with_record(u64::MAX, layout.unit_records - 1, 5);
            assert_eq!(layout.record(changed, layout.unit_records - 1), low_bits(5, bits));
            assert_eq!(changed.count_zeros(), (bits as u32).saturating_sub(low_bits(5, bits).count_ones()));
        }
    }

    #[test]
    fn layouts_that_do_not_fit_are_refused() {
        let shape = Shape::of_bytes(1 << 24, 1).unwrap();
        assert!(Layout::new(&shape, 0).is_err() && Layout::new(&shape, 63).is_err());
        assert!(Layout::new(&shape, (1 << 18) + 1).is_err());
        assert!(Layout::new(&shape, 64).is_ok() && Layout::new(&shape, 1 << 18).is_ok());
        assert!(Layout::new(&Shape::new(3, 8).unwrap(), 4).is_err());
        let error = Layout::new(&Shape::new(9, 65).unwrap(), 1).unwrap_err().to_string();
        assert_eq!(error, "the record length in bits is 65: expected at most 64");
    }
}
