//! Matrix of 8-bit words × query by dot products of signed bytes.
//!
//! A stored byte less 128 is signed. The missing part, 128 times the sum of a plane's digits, is
//! the same for all rows and is added at the end.

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
    // Once for all groups: it depends on the query alone.
    let missing = missing(digits);

    for (tile, out) in columns.chunks_exact(quads).zip(out.chunks_exact_mut(ROWS)) {
        for (block, digits) in tile.chunks(BLOCK_QUADS).zip(digits.chunks(BLOCK_QUADS)) {
            let mut ahead = Ahead::new(REGISTERS / SLAB);
            for (slab, out) in out.chunks_exact_mut(4 * SLAB).enumerate() {
                let sums = sum::<P>(block, slab, digits, &mut ahead, |bytes| {
                    veorq_u8(bytes, vdupq_n_u8(128))
                });
                matvec_u8::flush::<_, _, SLAB, P, PLANE_BITS>(Neon, &sums, out);
            }
        }

        out.iter_mut()
            .for_each(|out| *out = out.wrapping_add(missing));
    }
}

/// 128 times the query's values.
fn missing<const P: usize>(digits: &[[[i8; 4]; P]]) -> u32 {
    (0..P)
        .map(|p| {
            let digits = digits.iter().flat_map(|planes| planes[p]);
            digits.fold(0u32, |sum, digit| sum.wrapping_add(i32::from(digit) as u32))
                << (PLANE_BITS * p as u32)
        })
        .fold(0u32, u32::wrapping_add)
        << 7
}
