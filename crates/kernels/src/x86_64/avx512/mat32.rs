//! 32-bit matrix × two vectors: see [`crate::x86_64::mat32`].

use super::lanes::Avx512;
use crate::x86_64::mat32;

/// Registers of a slab: a whole column of a group.
const SLAB: usize = 4;

/// Adds the rows of every group times the vectors to `outs`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) fn pass(tiles: &[i32], cols: usize, ys: [&[i32]; 2], outs: [&mut [i64]; 2]) {
    mat32::pass::<_, _, SLAB>(Avx512::new(), tiles, cols, ys, outs);
}
