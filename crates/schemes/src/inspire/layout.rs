//! Layout of the matrix of InsPIRe.
//!
//! Records fill ring elements, and t elements make a column.

use papir_core::{Error, Result, Shape};
use papir_kernels::matvec_i16;

use super::interpolation::Interpolation;
use crate::shared::units::{Location, MAX_COLUMNS, Units};

/// Plaintext modulus p: a prime above 2¹⁶, so that every 16-bit word is a residue.
pub const PLAINTEXT: u32 = 65537;

/// Layout of records in the matrix.
///
/// Short records share a ring element of d 16-bit words; a record longer than 2d bytes is cut into
/// `chunks` elements, each in its own matrix below the others. Element e is point e mod t of column
/// ⌊e/t⌋.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Records and their length.
    pub shape: Shape,
    /// Division of the records into elements, each with all its chunks.
    pub(crate) unit_layout: Units,
    /// d, the number of words in a ring element.
    pub degree: usize,
    /// Number of ring elements that a long record takes, at least 1.
    pub chunks: usize,
    /// The variables of a column's polynomial and their points.
    pub interpolation: Interpolation,
    /// t, the number of points interpolated in a column.
    pub points: usize,
    /// N/t, the number of columns.
    pub columns: usize,
}

impl Layout {
    /// Creates the layout with this interpolation and the fewest columns.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if a variable takes more than 2d points, d is not a multiple of 64,
    /// or there are more than 2²⁴ columns or 2³² rows.
    pub fn new(shape: Shape, degree: usize, interpolation: Interpolation) -> Result<Self> {
        check_degree(degree, &interpolation)?;

        let points = interpolation.points();
        let unit_layout = unit_layout(shape, degree)?;
        let chunks = unit_layout.unit_bytes / (2 * degree);
        let columns = unit_layout.units().div_ceil(points as u64);
        let rows = (chunks as u64 * degree as u64).saturating_mul(points as u64);

        // Saturated: a product that wrapped might pass this check.
        if rows > u64::from(u32::MAX) {
            return Err(Error::out_of_bounds(
                "the number of rows",
                rows,
                "below 2^32",
            ));
        }
        if columns > MAX_COLUMNS {
            return Err(Error::out_of_bounds(
                "the number of columns",
                columns,
                "at most 2^24",
            ));
        }

        Ok(Self {
            shape,
            unit_layout,
            degree,
            chunks,
            interpolation,
            points,
            columns: columns as usize,
        })
    }

    /// Returns the number of rows of the matrix: chunks · t · d.
    pub fn rows(&self) -> usize {
        self.packs() * self.degree
    }

    /// Returns the number of packs of an answer: chunks · t.
    pub fn packs(&self) -> usize {
        self.chunks * self.points
    }

    /// Returns the number of pairs of columns. The last pair may be padded.
    pub fn pairs(&self) -> usize {
        self.columns.div_ceil(2)
    }

    /// Returns the bytes of the encoded matrix.
    pub fn matrix_bytes(&self) -> u64 {
        // Rows below 2^32 and at most 2^23 pairs: the product is below 2^57.
        4 * self.rows() as u64 * self.pairs() as u64
    }

    /// Returns the bytes of one ring element, 2d.
    pub fn element_bytes(&self) -> usize {
        2 * self.degree
    }

    /// Returns the number of records in an element.
    pub fn per_element(&self) -> u64 {
        self.unit_layout.per_unit
    }

    /// Returns the place of a record. The element is its unit, and the point is its block. The
    /// index must be in range.
    pub fn locate(&self, index: u64) -> Location {
        self.unit_layout.location(index, self.points)
    }
}

/// Checks that d gives whole row groups, and that every variable has at most 2d points.
fn check_degree(degree: usize, interpolation: &Interpolation) -> Result<()> {
    if let Some(found) = interpolation.variables().find(|&size| size > 2 * degree) {
        let expected = format!("at most {}", 2 * degree);
        return Err(Error::out_of_bounds(
            "the points of a variable",
            found as u64,
            expected,
        ));
    }

    if !degree.is_multiple_of(matvec_i16::ROWS) {
        return Err(Error::out_of_bounds(
            "the degree d",
            degree as u64,
            "a multiple of 64",
        ));
    }
    Ok(())
}

/// Divides records into units. A unit has the fewest ring elements of `degree` words that hold a
/// record.
pub(super) fn unit_layout(shape: Shape, degree: usize) -> Result<Units> {
    Units::new(shape, shape.record_bytes().next_multiple_of(2 * degree))
}
