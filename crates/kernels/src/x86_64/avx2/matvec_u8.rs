//! Database × query for 8-bit bytes: the portable pass on eight lanes.
//!
//! `vpmaddubsw`, the product of bytes, saturates and is of no use.

use super::lanes::Avx2;
use crate::portable::matvec_u8;

/// Registers of a slab: their sums fit those of the CPU.
const SLAB: usize = 4;

/// Adds every group's rows times the query to `out`.
#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn pass(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &mut [u32]) {
    matvec_u8::pass_lanes::<_, _, SLAB>(Avx2::new(), tiles, quads, planes, plane_count, out);
}
