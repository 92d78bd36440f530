//! Matrix of 16-bit words × query.
//!
//! Products of both words of a cell are summed in lanes of their own, and the lanes of a row are
//! added at the end of a block.

use std::arch::aarch64::*;

use super::neon::Neon;
use crate::layout::ROWS;
use crate::portable::lanes::Lanes;
use crate::portable::matvec_i16::{self, FLUSH_PAIRS, Slab, digits};
use crate::stream::Ahead;

/// Registers of a slab: two sums for each and for each of five planes fit the registers of the CPU.
const SLAB: usize = 2;
/// Slabs of a group.
const SLABS: usize = ROWS / (4 * SLAB);

/// Adds the rows of every group times the query to `out`.
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
pub(crate) fn pass_many(
    tiles: &[i16],
    pairs: usize,
    queries: &[&[i16]],
    plane_count: usize,
    outs: &mut [&mut [u64]],
) {
    by_planes!(up to 5, plane_count, pass_many_planes(tiles, pairs, queries, outs));
}

fn pass_many_planes<const P: usize>(
    tiles: &[i16],
    pairs: usize,
    queries: &[&[i16]],
    outs: &mut [&mut [u64]],
) {
    let (cells, _) = tiles.as_chunks::<2>();
    let (registers, _) = cells.as_chunks::<4>();
    let (slabs, _) = registers.as_chunks::<SLAB>();

    for (group, tile) in slabs.chunks_exact(pairs * SLABS).enumerate() {
        for (block, tile) in tile.chunks(FLUSH_PAIRS * SLABS).enumerate() {
            let mut ahead = Ahead::new(queries.len());
            for (planes, out) in queries.iter().zip(outs.iter_mut()) {
                let digits = &digits::<P>(planes)[block * FLUSH_PAIRS..][..tile.len() / SLABS];
                let out = out[group * ROWS..][..ROWS].chunks_exact_mut(4 * SLAB);
                for (slab, out) in out.enumerate() {
                    let sums = sum(tile, slab, digits, &mut ahead);
                    matvec_i16::flush(Neon, &sums, out);
                }
            }
        }
    }
}

/// Sums a block of columns for the rows of one slab.
#[inline(always)]
fn sum<const P: usize>(
    tile: &[Slab<4, SLAB>],
    slab: usize,
    digits: &[[[i16; 2]; P]],
    ahead: &mut Ahead,
) -> [[uint32x4_t; SLAB]; P] {
    let zero = Neon.splat(0i32);
    // SAFETY: every aarch64 CPU has NEON.
    unsafe {
        let mut sums = [[[vreinterpretq_s32_u32(zero); 2]; SLAB]; P];

        // A lane gets one product of at most 2^25 for each pair of columns. Two lanes of 31 pairs
        // add up to 62·2^25 < 2^31.
        for (columns, digits) in tile.chunks_exact(SLABS).zip(digits) {
            ahead.step(tile);
            let words = Neon
                .load_all(&columns[slab])
                .map(|words| vreinterpretq_s16_u32(words));
            for (sums, &x) in sums.iter_mut().zip(digits) {
                let x = vreinterpretq_s16_u32(Neon.splat(x));
                for (sums, &words) in sums.iter_mut().zip(&words) {
                    sums[0] = vmlal_s16(sums[0], vget_low_s16(words), vget_low_s16(x));
                    sums[1] = vmlal_high_s16(sums[1], words, x);
                }
            }
        }

        sums.map(|sums| sums.map(|[low, high]| vreinterpretq_u32_s32(vpaddq_s32(low, high))))
    }
}
