//! Layout of the matrix: records fill units of γ₀ words, t units make a column.

use papir_core::{Error, Result, Shape};
use papir_lattice::selection::{group_rows, matrix_words};

use crate::shared::units::{Location, MAX_COLUMNS, Units};

/// Shape of the matrix: unit u is block u mod t of column ⌊u/t⌋.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(crate) bundle: Units,
    /// γ₀, 16-bit words of a unit.
    pub unit_words: usize,
    /// t, units of a column.
    pub blocks: usize,
    /// N/t, columns.
    pub columns: usize,
}

impl Layout {
    /// The layout with t = `blocks` units of γ₀ = `unit_words` words in a column, and the fewest
    /// columns.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for records longer than a unit, for no units in a column, and for
    /// more than 2²⁴ columns, units of a column, or 2³² rows.
    pub fn new(shape: Shape, unit_words: usize, blocks: usize) -> Result<Self> {
        let bundle = Units::new(shape, 2 * unit_words)?;
        let most = bundle.units().min(MAX_COLUMNS);
        if blocks == 0 || blocks as u64 > most {
            let expected = format!("1 to {most}");
            return Err(Error::out_of_bounds("the number of units in a column", blocks as u64, expected));
        }
        let rows = blocks as u64 * unit_words as u64;
        if rows > u64::from(u32::MAX) {
            return Err(Error::out_of_bounds("the number of rows", rows, "below 2^32"));
        }
        let columns = bundle.units().div_ceil(blocks as u64);
        if columns > MAX_COLUMNS {
            return Err(Error::out_of_bounds("the number of columns", columns, "at most 2^24"));
        }
        Ok(Self { bundle, unit_words, blocks, columns: columns as usize })
    }

    /// Records and their length.
    pub fn shape(&self) -> Shape {
        self.bundle.shape
    }

    /// Records of a unit.
    pub fn per_unit(&self) -> u64 {
        self.bundle.per_unit
    }

    /// Rows of the matrix, t·γ₀, in whole row groups.
    pub fn rows(&self) -> usize {
        group_rows(self.blocks * self.unit_words)
    }

    /// Bytes of the encoded matrix.
    pub fn matrix_bytes(&self) -> usize {
        2 * matrix_words(self.rows(), self.columns)
    }

    /// Place of a record; the index must be in range. No branch depends on it.
    pub fn locate(&self, index: u64) -> Location {
        self.bundle.location(index, self.blocks)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_record_has_a_place_of_its_own() {
        let layout = Layout::new(Shape::new(1000, 100).unwrap(), 16, 7).unwrap();
        assert_eq!((layout.per_unit(), layout.columns, layout.rows()), (2, 72, 128));
        for index in 0..1000 {
            let place = layout.locate(index);
            assert_eq!(u64::from(place.column) * 7 + u64::from(place.block), place.unit);
            assert_eq!(place.unit * 2 + place.slot, index);
            assert!((place.column as usize) < layout.columns);
        }
    }

    #[test]
    fn layouts_that_do_not_fit_are_refused() {
        let shape = Shape::of_bytes(1000, 32).unwrap();
        assert!(Layout::new(shape, 16, 0).is_err() && Layout::new(shape, 16, 1001).is_err());
        assert!(Layout::new(shape, 8, 4).is_err(), "a record of 32 bytes in a unit of 16");
        assert!(Layout::new(shape, 16, 1000).is_ok() && Layout::new(shape, 16, 1).is_ok());
    }
}
