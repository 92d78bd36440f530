//! The collapse of the bodies as one integer matrix.
//!
//! Column (i, c) is Σ_e X^{ce}·Dᵢ,ₑ over the n exponents e = 1 + j·2d/n; its first n rows are kept.

use papir_kernels::{Backend, matvec_i32, monomial};
use rayon::prelude::*;

use super::super::error::{MAX_ENTRY, PackingError};
use super::exponents::bit_reverse;
use crate::gadget::Gadget;

/// Columns written together: their polynomials and a run of each row group stay in cache.
const BLOCK_COLUMNS: usize = 32;

/// Checks that entries, sums of up to n digits of at most half the base, fit 32 bits.
pub(crate) fn check_entries(gadget: &Gadget, n: usize) -> Result<(), PackingError> {
    let found = (n as u64) << (gadget.params().log_base - 1);
    if found < MAX_ENTRY {
        Ok(())
    } else {
        Err(PackingError::Entries { found })
    }
}

/// Words of one full pack's matrix: d rows, ℓ·d columns.
pub const fn matrix_words(degree: usize, levels: usize) -> usize {
    degree * degree * levels
}

/// Packs of n rows in one unit: several if n is smaller than a row group.
pub const fn slots(n: usize) -> usize {
    if n < matvec_i32::ROWS {
        matvec_i32::ROWS / n
    } else {
        1
    }
}

/// Words of a unit: max(n, 64) rows, ℓ·d columns.
pub const fn unit_words(degree: usize, n: usize, levels: usize) -> usize {
    slots(n) * n * degree * levels
}

/// Position of the n rows of a matrix in a unit.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// n.
    pub rows: usize,
    /// Index of the slot, below [`slots`].
    pub index: usize,
}

impl Slot {
    /// The only slot of a full pack.
    pub const fn only(rows: usize) -> Self {
        Self { rows, index: 0 }
    }
}

/// Writes the matrix to a slot of a unit.
///
/// `digits` holds the digits of all steps, Dᵢ,ₑ of e = 1 + j·2d/n at (i·n + j)·d; it is
/// overwritten.
///
/// # Panics
/// If a slice has another length, or the rows are neither whole row groups nor a part of one.
pub fn from_digits(degree: usize, digits: &mut [i32], slot: Slot, tiles: &mut [i32]) {
    let rows = slot.rows;
    let columns = digits.len() / slot.rows;
    let whole = (slots(rows) * rows).is_multiple_of(matvec_i32::ROWS) && slot.index < slots(rows);
    assert!(
        whole && tiles.len() == columns * slots(rows) * rows,
        "the row groups of a unit"
    );

    let backend = Backend::current();
    digits
        .par_chunks_exact_mut(rows * degree)
        .for_each(|level| {
            // Σ_e X^{ce}·D_e = X^c·Σ_j X^{cj·2d/n}·D_j: X^c times a transform that depends only on
            // c modulo n.
            monomial::dft_i32(backend, level, degree, &mut vec![0; degree]);
        });

    for first in (0..columns).step_by(BLOCK_COLUMNS) {
        let block = ColumnBlock {
            degree,
            slot,
            columns,
            first,
            digits,
        };
        block.write(tiles);
    }
}

/// Some columns of the matrix, all rows.
struct ColumnBlock<'a> {
    degree: usize,
    slot: Slot,
    columns: usize,
    first: usize,
    digits: &'a [i32],
}

impl ColumnBlock<'_> {
    /// Writes the columns to every row group.
    fn write(&self, tiles: &mut [i32]) {
        let run = self.slot.rows.min(matvec_i32::ROWS);
        let groups = tiles.chunks_exact_mut(self.columns * matvec_i32::ROWS);
        for (g, group) in groups.enumerate() {
            for column in self.first..(self.first + BLOCK_COLUMNS).min(self.columns) {
                let place = column * matvec_i32::ROWS + self.slot.index * run;
                self.column(column, g * run, &mut group[place..place + run]);
            }
        }
    }

    /// Writes the entries of a column from row `first` on: X^c times a transformed polynomial.
    fn column(&self, column: usize, first: usize, out: &mut [i32]) {
        let d = self.degree;
        let n = self.slot.rows;
        let level = column / d;
        let c = column % d;
        let poly = &self.digits[(level * n + bit_reverse(c % n, n)) * d..][..d];

        // Row r is coefficient r − c, or minus coefficient r − c + d where r < c.
        let wrapped = c.saturating_sub(first).min(out.len());
        let (negative, plain) = out.split_at_mut(wrapped);
        if wrapped > 0 {
            for (out, entry) in negative.iter_mut().zip(&poly[first + d - c..]) {
                *out = entry.wrapping_neg();
            }
        }

        let start = (first + wrapped).saturating_sub(c);
        plain.copy_from_slice(&poly[start..start + plain.len()]);
    }
}
