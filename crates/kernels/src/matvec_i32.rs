//! Matrix of 32-bit words × vectors, with sums modulo 2^bits.
//!
//! The matrix is stored in *row groups* of 64 rows, as in [`crate::mat32`]. One group is one *tile*
//! of `cols·64` words; the word of row `l` (0 to 63) and column `c` is at `64c + l`.
//!
//! A vector has one value modulo 2^bits for each column. Values and sums of up to 52 bits are one
//! product for each word on CPUs with integer fused multiply-add; elsewhere, and above, a value is
//! two halves of 32 bits, which share one read of the matrix.

use crate::backend::Backend;
pub use crate::layout::ROWS;

/// The most bits of values and sums.
pub const MAX_BITS: u32 = 63;

/// Adds the rows of `outs[i].len() / 64` groups, whose tiles follow one another in `tiles`, times
/// each vector to its sums: `outs[i][l] = (outs[i][l] + Σ_c word·ys[i][c]) mod 2^bits`. All vectors
/// share one read of the tiles. Bits of a value above `bits` are ignored.
///
/// # Panics
/// If `bits` is outside 1 to 63, `ys` and `outs` differ in length, a vector is not `cols` long, an
/// output is not whole groups, or `tiles` is not `cols·64` words for each group.
pub fn pass_many(
    backend: Backend,
    tiles: &[i32],
    cols: usize,
    ys: &[&[u64]],
    bits: u32,
    outs: &mut [&mut [u64]],
) {
    assert!(
        (1..=MAX_BITS).contains(&bits),
        "{bits} bits: expected 1 to {MAX_BITS}"
    );

    assert_eq!(ys.len(), outs.len(), "one output for each vector");
    for (y, out) in ys.iter().zip(outs.iter()) {
        assert_eq!(y.len(), cols, "values of the vector");
        assert_eq!(out.len() % ROWS, 0, "sums of whole groups");
        assert_eq!(tiles.len(), out.len() * cols, "words of the tiles");
    }
    if cols > 0 && !ys.is_empty() {
        dispatch!(backend, matvec_i32::pass_many(tiles, cols, ys, bits, outs));
    }
}
