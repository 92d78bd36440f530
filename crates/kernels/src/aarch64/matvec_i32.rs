//! Matrix of 32-bit words × vectors in two halves.

use super::mat32;
use crate::portable::matvec_i32::in_halves;

/// Adds the rows of every group times each vector to its sums.
pub(crate) fn pass_many(
    tiles: &[i32],
    cols: usize,
    ys: &[&[u64]],
    bits: u32,
    outs: &mut [&mut [u64]],
) {
    in_halves(tiles, cols, ys, bits, outs, mat32::pass);
}
