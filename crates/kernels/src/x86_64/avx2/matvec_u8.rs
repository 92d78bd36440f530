//! Matrix of 8-bit words × query: the portable pass on eight lanes.
//!
//! The product of bytes, `vpmaddubsw`, saturates and cannot be used.

use super::lanes::Avx2;
use crate::portable::matvec_u8;

/// Registers of a slab: its sums fit the registers of the CPU.
const SLAB: usize = 4;

/// Adds the rows of every group times the query to `out`.
#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn pass(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &mut [u32]) {
    matvec_u8::pass_lanes::<_, _, SLAB>(Avx2::new(), tiles, quads, planes, plane_count, out);
}
