//! Layout of the matrix: records fill columns, a column is some packs of d words.

use papir_core::{Error, Result, Shape};

use crate::shared::units::{Location, MAX_COLUMNS, Units};

/// Most packs in a column: 16 MiB of words, for which a client holds some 200 MiB while it decrypts
/// them.
pub(super) const MAX_PACKS: u64 = 1 << 12;

/// Shape of the matrix. A record is stored in one column; it may span packs, since a client
/// receives all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Records in columns.
    pub(crate) bundle: Units,
    /// Words of a column: whole packs.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

/// Fewest packs in a column: those of one record.
pub fn least_packs(shape: &Shape, degree: usize) -> u64 {
    shape.record_bytes().div_ceil(2 * degree) as u64
}

impl Layout {
    /// Columns of `packs` packs of `degree` words.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if a column holds no record, or there are more than 2²⁴ columns or
    /// 2¹² packs in one.
    pub fn new(shape: Shape, degree: usize, packs: u64) -> Result<Self> {
        let least = least_packs(&shape, degree);
        if packs < least || packs > MAX_PACKS {
            let expected = format!("{least} to {MAX_PACKS}");
            return Err(Error::out_of_bounds("the number of packs in a column", packs, expected));
        }
        let rows = packs as usize * degree;
        let bundle = Units::new(shape, 2 * rows)?;
        if bundle.units() > MAX_COLUMNS {
            return Err(Error::out_of_bounds("the number of columns", bundle.units(), "at most 2^24"));
        }
        Ok(Self { bundle, rows, columns: bundle.units() as usize })
    }

    /// Records and their length.
    pub fn shape(&self) -> Shape {
        self.bundle.shape
    }

    /// Place of a record; the index must be in range. No branch depends on it.
    pub fn locate(&self, index: u64) -> Location {
        self.bundle.location(index, 1)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn columns_hold_whole_records() {
        for (bits, packs, per_column) in
            [(1, 1, 32768), (1, 3, 98304), (512, 2, 128), (3000 * 8, 3, 4), (262_144, 8, 1), (262_144, 16, 2)]
        {
            let layout = Layout::new(Shape::new(100_000, bits).unwrap(), 2048, packs).unwrap();
            assert_eq!((layout.bundle.per_unit, layout.rows), (per_column, packs as usize * 2048));
            assert_eq!(layout.columns as u64, 100_000u64.div_ceil(per_column));
            let last = layout.locate(99_999);
            assert_eq!((u64::from(last.column) * per_column) + last.slot, 99_999);
        }
    }

    #[test]
    fn layouts_that_do_not_fit_are_refused() {
        let shape = Shape::new(1000, 262_144).unwrap();
        assert!(Layout::new(shape, 2048, 7).is_err() && Layout::new(shape, 2048, 0).is_err());
        assert!(Layout::new(shape, 2048, MAX_PACKS + 1).is_err());
        let many = Shape::new(1 << 40, 8).unwrap();
        assert!(Layout::new(many, 2048, 1).is_err(), "2^28 columns");
    }
}
