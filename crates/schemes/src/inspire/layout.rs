//! Layout of the matrix: records fill ring elements, t elements make a column.

use papir_core::{Error, Result, Shape};
use papir_kernels::matvec_i16;

use super::interpolation::Interpolation;
use crate::shared::units::{Location, MAX_COLUMNS, Units};

/// Plaintext modulus p: a prime above 2¹⁶, so that every 16-bit word is a residue.
pub const PLAINTEXT: u32 = 65537;

/// Shape of the matrix.
///
/// Short records share a ring element of d 16-bit words; a record longer than 2d bytes is cut into
/// `chunks` elements, each in its own matrix below the others. Element e is point e mod t of column
/// ⌊e/t⌋.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Records and their length.
    pub shape: Shape,
    /// Records in elements, each with all its chunks.
    pub(crate) bundle: Units,
    /// d.
    pub degree: usize,
    /// Elements of a record.
    pub chunks: usize,
    /// The variables of a column's polynomial and their points.
    pub interpolation: Interpolation,
    /// t, the number of points interpolated in a column.
    pub points: usize,
    /// N/t, the number of columns.
    pub columns: usize,
}

impl Layout {
    /// The layout with this interpolation and the fewest columns.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if a variable takes more than 2d points, d is not a multiple of 64,
    /// or there are more than 2²⁴ columns or 2³² rows.
    pub fn new(shape: Shape, degree: usize, interpolation: Interpolation) -> Result<Self> {
        if let Some(found) = interpolation.variables().find(|&size| size > 2 * degree) {
            let expected = format!("at most {}", 2 * degree);
            return Err(Error::out_of_bounds("the points of a variable", found as u64, expected));
        }
        let points = interpolation.points();
        if !degree.is_multiple_of(matvec_i16::ROWS) {
            return Err(Error::out_of_bounds("the degree d", degree as u64, "a multiple of 64"));
        }
        let chunks = chunks(&shape, degree);
        let bundle = Units::new(shape, chunks * 2 * degree)?;
        let columns = bundle.units().div_ceil(points as u64);
        let rows = (chunks as u64 * degree as u64).saturating_mul(points as u64);
        if rows > u64::from(u32::MAX) {
            return Err(Error::out_of_bounds("the number of rows", rows, "below 2^32"));
        }
        if columns > MAX_COLUMNS {
            return Err(Error::out_of_bounds("the number of columns", columns, "at most 2^24"));
        }
        let columns = columns as usize;
        Ok(Self { shape, bundle, degree, chunks, interpolation, points, columns })
    }

    /// Rows of the matrix: chunks · t · d.
    pub fn rows(&self) -> usize {
        self.packs() * self.degree
    }

    /// Ring elements that one answer packs: chunks · t.
    pub fn packs(&self) -> usize {
        self.chunks * self.points
    }

    /// Pairs of columns, the last one padded.
    pub fn pairs(&self) -> usize {
        self.columns.div_ceil(2)
    }

    /// Bytes of the encoded matrix.
    pub fn matrix_bytes(&self) -> usize {
        self.rows() * self.pairs() * 4
    }

    /// Bytes of one ring element.
    pub fn element_bytes(&self) -> usize {
        2 * self.degree
    }

    /// Records in an element.
    pub fn per_element(&self) -> u64 {
        self.bundle.per_unit
    }

    /// Place of a record, the element as its unit and the point as its block. The index must be in
    /// range.
    pub fn locate(&self, index: u64) -> Location {
        self.bundle.location(index, self.points)
    }
}

/// Ring elements of a record.
fn chunks(shape: &Shape, degree: usize) -> usize {
    shape.record_bytes().div_ceil(2 * degree)
}

/// The number of ring elements that hold all records, chunks counted once.
///
/// # Errors
/// None: elements are as long as records need.
pub fn elements(shape: &Shape, degree: usize) -> Result<u64> {
    Ok(Units::new(*shape, chunks(shape, degree) * 2 * degree)?.units())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn elements_hold_whole_records() {
        for (bits, stored, per_element, chunks) in [
            (1, 1, 32768, 1),
            (3, 3, 10920, 1),
            (512, 512, 64, 1),
            (2100, 2104, 15, 1),
            (32768, 32768, 1, 1),
            (32769, 32776, 1, 2),
            (262_144, 262_144, 1, 8),
        ] {
            let four = Interpolation::of_points(4, 2048).unwrap();
            let layout = Layout::new(Shape::new(100_000, bits).unwrap(), 2048, four).unwrap();
            assert_eq!(
                (layout.bundle.stored_bits, layout.per_element(), layout.chunks),
                (stored, per_element, chunks)
            );
            let last = layout.locate(99_999);
            assert!((last.column as usize) < layout.columns && last.block < 4);
        }
    }

    #[test]
    fn a_variable_has_at_most_2d_points() {
        let shape = Shape::new(10, 8).unwrap();
        let layout = |sizes: &[usize]| Layout::new(shape, 64, Interpolation::of_variables(sizes).unwrap());
        for sizes in [&[][..], &[3], &[127], &[128], &[128, 2], &[128, 5, 128]] {
            assert_eq!(layout(sizes).unwrap().points, sizes.iter().product::<usize>(), "{sizes:?}");
        }
        assert!(layout(&[129]).is_err() && layout(&[2, 256]).is_err());
    }
}
