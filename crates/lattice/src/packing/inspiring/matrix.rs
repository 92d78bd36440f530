//! The collapse of the bodies as one integer matrix: column (i, c) is Σ_e X^{ce}·Dᵢ,ₑ over odd e.

use papir_kernels::{mat32, monomial};

use super::bit_reverse;

/// The largest sum of absolute entries of a row: times residues below 2²⁷ in absolute value it
/// stays below 2⁶³.
const MAX_ROW_SUM: u64 = 1 << 36;

/// A row of the matrix whose product with a key could overflow 64 bits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("packing matrix: row {row} sums to {found} in absolute value, expected below {MAX_ROW_SUM}")]
pub struct MatrixError {
    /// The row.
    pub row: usize,
    /// Its sum of absolute entries.
    pub found: u64,
}

/// The words of one pack's matrix: d rows, ℓ·d columns.
pub const fn matrix_words(degree: usize, levels: usize) -> usize {
    degree * degree * levels
}

/// Makes the tiles of the matrix from the digits of all steps, Dᵢ,ₑ at ((i·d) + e/2)·d.
///
/// # Errors
/// [`MatrixError`].
///
/// # Panics
/// When d is no multiple of the rows of a group or a slice has another length.
pub fn from_digits(degree: usize, mut digits: Vec<i32>, tiles: &mut [i32]) -> Result<(), MatrixError> {
    assert!(degree.is_multiple_of(mat32::ROWS) && digits.len() == tiles.len(), "whole row groups");
    let mut scratch = vec![0; degree];
    for level in digits.chunks_exact_mut(degree * degree) {
        // Σ_e X^{ce}·D_e with e = 2f + 1 is X^c·Σ_f X^{2cf}·D_{2f+1}.
        monomial::dft_i32(level, degree, &mut scratch);
    }
    let columns = digits.len() / degree;
    for (level, polys) in digits.chunks_exact(degree * degree).enumerate() {
        for c in 0..degree {
            let poly = &polys[bit_reverse(c, degree) * degree..][..degree];
            monomial::rotate_i32(&mut scratch, poly, c);
            scatter(tiles, columns, level * degree + c, &scratch);
        }
    }
    check_rows(tiles, columns)
}

/// Writes one column of the matrix to its place in every row group.
fn scatter(tiles: &mut [i32], columns: usize, column: usize, entries: &[i32]) {
    let groups = tiles.chunks_exact_mut(columns * mat32::ROWS);
    for (group, part) in groups.zip(entries.chunks_exact(mat32::ROWS)) {
        group[column * mat32::ROWS..][..mat32::ROWS].copy_from_slice(part);
    }
}

fn check_rows(tiles: &[i32], columns: usize) -> Result<(), MatrixError> {
    for (g, group) in tiles.chunks_exact(columns * mat32::ROWS).enumerate() {
        let mut sums = [0u64; mat32::ROWS];
        for column in group.chunks_exact(mat32::ROWS) {
            for (sum, entry) in sums.iter_mut().zip(column) {
                *sum += u64::from(entry.unsigned_abs());
            }
        }
        if let Some(l) = sums.iter().position(|&sum| sum >= MAX_ROW_SUM) {
            return Err(MatrixError { row: g * mat32::ROWS + l, found: sums[l] });
        }
    }
    Ok(())
}
