//! Matrix of 16-bit words × query: the portable pass on eight lanes.

use super::lanes::Avx2;
use crate::portable::matvec_i16;

/// Registers of a slab: the sums of five planes fit the registers of the CPU.
const SLAB: usize = 2;

/// Adds the rows of every group times the query to `out`.
#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn pass(
    tiles: &[i16],
    pairs: usize,
    planes: &[i16],
    plane_count: usize,
    out: &mut [u64],
) {
    pass_many(tiles, pairs, &[planes], plane_count, &mut [out]);
}

/// [`pass`] for several queries.
#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn pass_many(
    tiles: &[i16],
    pairs: usize,
    queries: &[&[i16]],
    plane_count: usize,
    outs: &mut [&mut [u64]],
) {
    by_planes!(up to 5, plane_count, pass_many_planes(tiles, pairs, queries, outs));
}

#[target_feature(enable = "avx2,fma,bmi2")]
fn pass_many_planes<const P: usize>(
    tiles: &[i16],
    pairs: usize,
    queries: &[&[i16]],
    outs: &mut [&mut [u64]],
) {
    matvec_i16::pass_many_lanes::<_, _, SLAB, P>(Avx2::new(), tiles, pairs, queries, outs);
}
