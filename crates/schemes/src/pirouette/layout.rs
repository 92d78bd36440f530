//! Places of records in the polynomials of the database.
//!
//! Records share items of `span` bytes; a long record has several items, one in each plane. A
//! polynomial of a plane holds d/span items. Item slot s is in the coefficients congruent to s
//! modulo d/span, a byte each. From the lowest bit up, an item's number consists of its slot (ν₃
//! bits in the paper), its column (ν₂) and its row (ν₁).

use papir_core::{Records, Result, Shape};
use papir_kernels::wide::packed::packed_len;

use super::chain::{DEGREE, LOG2_DEGREE, RESPONSE_DEGREE};
use crate::shared::parameters::refused;
use crate::shared::units::Units;

/// Largest number of bits of an item's number. With the padding bit, a query's error stays small
/// relative to the lowest bit.
pub(crate) const MOST_INDEX_BITS: u32 = 24;
/// Bytes of a transformed polynomial: packed residues of 50 bits.
pub(crate) const TRANSFORMED: usize = packed_len(DEGREE);
/// log₂ of the number of columns that are folded together. They stay in the last-level cache.
pub(crate) const LOG2_GROUP: u32 = 8;
/// Number of columns in one task, a power of two. Their sums stay in the second-level cache.
pub(crate) const SHARE: usize = 16;
/// Least length of an item in bytes.
pub(crate) const LEAST_SPAN: usize = 32;

/// Layout of records in items, rows and columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Division of the records into items.
    pub(crate) unit_layout: Units,
    /// Bytes of an item in one plane, a power of two.
    pub span: usize,
    /// Number of planes. An answer has one item in each plane.
    pub planes: usize,
    /// Number of rows that hold items, at most 2^ν₁.
    pub rows: usize,
    /// ν₁, the number of bits of a row.
    pub log2_rows: u32,
    /// ν₂, the number of bits of a column.
    pub log2_columns: u32,
    /// ν₃, the number of bits of a slot.
    pub log2_slots: u32,
}

impl Layout {
    /// Creates the layout with items of `span` bytes and rows of ν₁ bits.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] for an invalid span or too many items.
    pub fn new(scheme: &'static str, shape: Shape, span: usize, log2_rows: u32) -> Result<Self> {
        check_span(scheme, shape, span)?;

        let planes = shape.record_bytes().div_ceil(span);
        let unit_layout = Units::new(shape, span * planes)?;
        let log2_slots = LOG2_DEGREE - span.trailing_zeros();
        let polys = unit_layout.units().div_ceil(1 << log2_slots);
        let log2_columns = polys
            .div_ceil(1 << log2_rows)
            .next_power_of_two()
            .trailing_zeros();

        let found = log2_rows + log2_columns + log2_slots;
        if found > MOST_INDEX_BITS {
            let expected =
                format!("at most {MOST_INDEX_BITS}, in items of up to {RESPONSE_DEGREE} bytes");
            return Err(refused(scheme)(format!(
                "{found} bits of an item's number: expected {expected}"
            )));
        }

        let rows = polys.div_ceil(1 << log2_columns) as usize;
        Ok(Self {
            unit_layout,
            span,
            planes,
            rows,
            log2_rows,
            log2_columns,
            log2_slots,
        })
    }

    /// Creates the layout of [`Layout::new`] with a row for each polynomial.
    pub(crate) fn in_one_column(scheme: &'static str, shape: Shape, span: usize) -> Result<Self> {
        // With one row, the columns are the polynomials, rounded up to a power of two.
        let log2_polys = Self::new(scheme, shape, span, 0)?.log2_columns;
        Self::new(scheme, shape, span, log2_polys)
    }

    /// Returns the number of bits of an item's number.
    pub fn index_bits(&self) -> u32 {
        self.log2_rows + self.log2_columns + self.log2_slots
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        1 << self.log2_columns
    }

    /// Returns the number of slots in a polynomial.
    pub(crate) fn slots(&self) -> usize {
        1 << self.log2_slots
    }

    /// Returns the number of polynomials in one plane.
    pub(crate) fn polys(&self) -> usize {
        self.rows * self.columns()
    }

    /// Returns the bytes of the database, one for each coefficient.
    pub fn bytes(&self) -> u64 {
        self.planes as u64 * self.polys() as u64 * DEGREE as u64
    }

    /// Returns the bytes of the database's transforms.
    pub(crate) fn transformed_bytes(&self) -> u64 {
        (self.planes * self.polys() * TRANSFORMED) as u64
    }

    /// Returns the largest number of records that items of this span can hold.
    pub(crate) fn most_records(&self) -> u64 {
        self.unit_layout.per_unit << MOST_INDEX_BITS
    }

    /// Returns the layout of one plane.
    #[cfg(test)]
    pub(crate) fn of_one_plane(&self) -> Self {
        Self {
            planes: 1,
            ..self.clone()
        }
    }

    /// Returns the layout with the same slots in a single polynomial of each plane.
    pub(crate) fn of_one_poly(&self) -> Self {
        Self {
            rows: 1,
            log2_rows: 0,
            log2_columns: 0,
            ..self.clone()
        }
    }

    /// Reads the items of polynomial `index`, one after the other, with zeros beyond the last
    /// record.
    pub(crate) fn items(&self, records: &dyn Records, index: usize) -> Result<Vec<u8>> {
        let mut items = vec![0; self.slots() * self.unit_layout.unit_bytes];
        self.unit_layout
            .read(records, (index * self.slots()) as u64, &mut items)?;
        Ok(items)
    }

    /// Returns the coefficients of a polynomial with these items: d bytes for each plane.
    pub(crate) fn spread(&self, items: &[u8]) -> Vec<u8> {
        let slots = self.slots();
        let span = self.span;
        let mut polys = vec![0; self.planes * DEGREE];

        for (slot, item) in items.chunks_exact(self.unit_layout.unit_bytes).enumerate() {
            for (part, poly) in item.chunks_exact(span).zip(polys.chunks_exact_mut(DEGREE)) {
                part.iter()
                    .zip(poly[slot..].iter_mut().step_by(slots))
                    .for_each(|(&byte, out)| *out = byte);
            }
        }

        polys
    }

    /// Reads an item's bytes in all planes from the database.
    pub(crate) fn item(&self, database: &[u8], item: u64) -> Vec<u8> {
        let poly = item as usize / self.slots();
        let slot = item as usize % self.slots();
        let plane = self.polys() * DEGREE;

        let mut bytes = Vec::with_capacity(self.planes * self.span);
        for p in 0..self.planes {
            let poly = &database[p * plane + poly * DEGREE..][..DEGREE];
            bytes.extend(poly[slot..].iter().step_by(self.slots()).copied());
        }

        bytes
    }

    /// Writes an item's bytes in all planes.
    pub(crate) fn set_item(&self, database: &mut [u8], item: u64, bytes: &[u8]) {
        let poly = item as usize / self.slots();
        let slot = item as usize % self.slots();
        let plane = self.polys() * DEGREE;

        for (p, part) in bytes.chunks_exact(self.span).enumerate() {
            let poly = &mut database[p * plane + poly * DEGREE..][..DEGREE];
            poly[slot..]
                .iter_mut()
                .step_by(self.slots())
                .zip(part)
                .for_each(|(out, &byte)| *out = byte);
        }
    }
}

/// Checks the length of an item in bytes.
fn check_span(scheme: &'static str, shape: Shape, span: usize) -> Result<()> {
    if !span.is_power_of_two() || !(LEAST_SPAN..=RESPONSE_DEGREE).contains(&span) {
        let expected = format!("a power of two from {LEAST_SPAN} to {RESPONSE_DEGREE}");
        return Err(refused(scheme)(format!(
            "items of {span} bytes: expected {expected}"
        )));
    }

    // Records of several items need the longest items.
    let bytes = shape.record_bytes();
    if bytes > span && span < RESPONSE_DEGREE {
        let reason = format!("records of {bytes} bytes in items of {span}");
        return Err(refused(scheme)(reason));
    }

    Ok(())
}
