//! Matrix of 4-bit words × query by dot products of signed bytes.

use std::arch::aarch64::*;

use super::dot::{BLOCK_QUADS, REGISTERS, SLAB, sum};
use super::neon::Neon;
use crate::layout::ROWS;
use crate::portable::matvec_u8::{self, PLANE_BITS};
use crate::stream::Ahead;

/// Adds the rows of every group times the query to `out`.
#[target_feature(enable = "dotprod")]
pub(crate) fn pass(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &mut [u32]) {
    by_planes!(plane_count, pass_planes(tiles, quads, planes, out));
}

#[target_feature(enable = "dotprod")]
fn pass_planes<const P: usize>(tiles: &[u8], quads: usize, planes: &[i8], out: &mut [u32]) {
    let (digits, _) = planes.as_chunks::<4>();
    let (digits, _) = digits.as_chunks::<P>();
    let (cells, _) = tiles.as_chunks::<4>();
    let (registers, _) = cells.as_chunks::<4>();
    let (columns, _) = registers.as_chunks::<REGISTERS>();

    for (tile, out) in columns
        .chunks_exact(quads)
        .zip(out.chunks_exact_mut(2 * ROWS))
    {
        let (low, high) = out.split_at_mut(ROWS);
        for (block, digits) in tile.chunks(BLOCK_QUADS).zip(digits.chunks(BLOCK_QUADS)) {
            // Both halves of every slab step once for each quad, so a block prefetches each quad of
            // the next block once.
            let mut ahead = Ahead::new(2 * REGISTERS / SLAB);
            let rows = low
                .chunks_exact_mut(4 * SLAB)
                .zip(high.chunks_exact_mut(4 * SLAB));
            for (slab, (low, high)) in rows.enumerate() {
                let sums = sum::<P>(block, slab, digits, &mut ahead, |bytes| {
                    vandq_u8(bytes, vdupq_n_u8(15))
                });
                matvec_u8::flush::<_, _, SLAB, P, PLANE_BITS>(Neon, &sums, low);

                let sums = sum::<P>(block, slab, digits, &mut ahead, |bytes| {
                    vshrq_n_u8::<4>(bytes)
                });
                matvec_u8::flush::<_, _, SLAB, P, PLANE_BITS>(Neon, &sums, high);
            }
        }
    }
}
