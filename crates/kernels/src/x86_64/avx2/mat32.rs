//! 32-bit matrix × two vectors: see [`crate::x86_64::mat32`].

use super::lanes::Avx2;
use crate::x86_64::mat32;

/// Registers of a slab: its sums for both vectors fit the registers of the CPU.
const SLAB: usize = 2;

/// Adds the rows of every group times the vectors to `outs`.
#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn pass(tiles: &[i32], cols: usize, ys: [&[i32]; 2], outs: [&mut [i64]; 2]) {
    mat32::pass::<_, _, SLAB>(Avx2::new(), tiles, cols, ys, outs);
}
