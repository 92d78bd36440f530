//! Layout of the matrix of bytes.
//!
//! A *unit* is the fewest records that fill whole bytes: one record of whole bytes, eight records
//! of 1 or 3 bits. Each column holds the same number of units, so a column is a run of the packed
//! database, and a record is in one column.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use papir_core::cost::{Counts, Operation, Work};
use papir_core::{Change, Error, Result, Shape};
use papir_kernels::matvec_u8::ROWS;
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::matrix_bytes;

use crate::shared::units::Units;

/// Most columns: the failure probability stays below 2⁻⁴⁰ up to here (`super::noise`).
pub(crate) const MAX_COLUMNS: u64 = 1 << 16;
/// Most rows: one unit of the longest record with an odd number of bits.
pub(crate) const MAX_ROWS: u64 = 1 << 21;

/// The matrix's shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Records of a unit.
    pub(crate) unit_records: u64,
    /// Bytes of a unit.
    pub(crate) unit_bytes: usize,
    /// Units of a column.
    pub(crate) column_units: u64,
    /// Rows of the matrix: bytes of a column.
    pub(crate) rows: usize,
    /// Columns of the matrix.
    pub(crate) columns: usize,
}

/// A record's place. Secret when the index is.
pub(crate) struct Place {
    /// The column.
    pub(crate) column: u64,
    /// The unit in the column.
    pub(crate) unit: u64,
    /// The record in the unit.
    pub(crate) slot: u64,
}

/// Records and bytes of a unit.
pub(crate) fn unit_of(shape: &Shape) -> (u64, u64) {
    let bits = shape.record_bits();
    let records = 8 >> bits.trailing_zeros().min(3);
    (records, records * bits / 8)
}

/// Range of units in a column, from the widest matrix to the highest.
///
/// # Errors
/// [`Error::Parameters`] if no matrix fits.
pub(crate) fn heights(scheme: &'static str, shape: &Shape) -> Result<RangeInclusive<u64>> {
    let (unit_records, unit_bytes) = unit_of(shape);
    let units = shape.records().div_ceil(unit_records);
    let (least, most) = (units.div_ceil(MAX_COLUMNS), (MAX_ROWS / unit_bytes).min(units));
    if least <= most {
        return Ok(least..=most);
    }
    let found = format!("{} bytes in {units} units of {unit_bytes}", shape.total_bytes());
    let reason = format!("{found}: at most {MAX_ROWS} rows × {MAX_COLUMNS} columns");
    Err(Error::Parameters { scheme, reason })
}

impl Layout {
    /// A matrix with `column_units` units in each column.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for too many rows or columns, or no unit in a column.
    pub(crate) fn new(shape: &Shape, column_units: u64) -> Result<Self> {
        let (unit_records, unit_bytes) = unit_of(shape);
        let units = shape.records().div_ceil(unit_records);
        if column_units == 0 || column_units > units {
            let expected = format!("1 to {units}");
            return Err(Error::out_of_bounds("the number of units in a column", column_units, expected));
        }
        let (rows, columns) = (column_units.saturating_mul(unit_bytes), units.div_ceil(column_units));
        if rows > MAX_ROWS {
            return Err(Error::out_of_bounds("the number of rows", rows, format!("at most {MAX_ROWS}")));
        }
        if columns > MAX_COLUMNS {
            let expected = format!("at most {MAX_COLUMNS}");
            return Err(Error::out_of_bounds("the number of columns", columns, expected));
        }
        let (rows, columns) = (rows as usize, columns as usize);
        Ok(Self { unit_records, unit_bytes: unit_bytes as usize, column_units, rows, columns })
    }

    /// Columns as runs of the packed database.
    pub(crate) fn bundle(&self, shape: Shape) -> Units {
        Units {
            shape,
            unit_bytes: self.rows,
            stored_bits: shape.record_bits(),
            per_unit: self.column_records(),
        }
    }

    /// Records of a column.
    pub(crate) fn column_records(&self) -> u64 {
        self.column_units * self.unit_records
    }

    /// Number of rows that hold changes.
    pub(crate) fn changed_rows(&self, changes: &[Change]) -> usize {
        let units: BTreeSet<u64> = changes.iter().map(|change| self.place(change.index).unit).collect();
        units.len() * self.unit_bytes
    }

    /// Work of the verbs: the hint is the matrix times masks, a client encrypts a word for each
    /// column, the answer reads the padded matrix, a client decrypts each row.
    pub(crate) fn work(&self) -> Work {
        let (bytes, groups) = (matrix_bytes(self.rows, self.columns) as f64, self.rows.div_ceil(ROWS));
        let transformed = transformed_bytes(self.rows, self.columns) as f64;
        let setup = Counts::new().with(Operation::Encode8, bytes, 1);
        Work {
            setup: setup.with(Operation::HintProduct8, transformed, groups),
            query: Counts::new().with(Operation::EncryptColumn, self.columns as f64, 1),
            answer: Counts::new().with(Operation::Select8, bytes, groups),
            extract: Counts::new().with(Operation::DecryptRow, self.rows as f64, 1),
        }
    }

    /// Place of a record. No branch depends on the index.
    pub(crate) fn place(&self, index: u64) -> Place {
        let (unit, slot) = (index / self.unit_records, index % self.unit_records);
        Place { column: unit / self.column_units, unit: unit % self.column_units, slot }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn units_fill_whole_bytes() {
        let cases =
            [(1, 8, 1), (3, 8, 3), (4, 2, 1), (6, 4, 3), (8, 1, 1), (12, 2, 3), (13, 8, 13), (264, 1, 33)];
        for (bits, records, bytes) in cases {
            assert_eq!(unit_of(&Shape::new(9, bits).unwrap()), (records, bytes), "{bits} bits");
        }
    }

    #[test]
    fn places_are_distinct_and_columns_are_runs() {
        let layout = Layout::new(&Shape::new(1000, 3).unwrap(), 5).unwrap();
        assert_eq!((layout.rows, layout.columns, layout.column_records()), (15, 25, 40));
        for index in 0..1000 {
            let place = layout.place(index);
            assert_eq!((place.column * 5 + place.unit) * 8 + place.slot, index);
        }
    }

    #[test]
    fn layouts_that_do_not_fit_are_refused() {
        let shape = Shape::of_bytes(1 << 20, 32).unwrap();
        assert!(Layout::new(&shape, 0).is_err());
        assert!(Layout::new(&shape, (1 << 20) + 1).is_err());
        assert!(Layout::new(&shape, 15).is_err(), "columns");
        assert!(Layout::new(&shape, (1 << 16) + 1).is_err(), "rows");
        assert!(Layout::new(&shape, 16).is_ok() && Layout::new(&shape, 1 << 16).is_ok());
    }
}
