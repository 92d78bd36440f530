//! Matrix of 4-bit words × query.
//!
//! The product of bytes, `vpmaddubsw`, adds two products of a word up to 15 and a digit: at most
//! 3840, so that [`RUN`] of them fit 16 bits before they are widened.

use std::arch::x86_64::*;

use super::lanes::Avx2;
use crate::layout::ROWS;
use crate::portable::lanes::Lanes;
use crate::portable::matvec_u8::{self, PLANE_BITS};
use crate::stream::Ahead;

/// Registers for a quad of columns of a group; one holds eight rows.
const REGISTERS: usize = 8;
/// Quads of a block, which stays in the first-level cache while all rows use it.
const BLOCK_QUADS: usize = 32;
/// Quads whose products are added in 16 bits: 8·3840 < 2¹⁵.
const RUN: usize = 8;

/// A quad of columns of a group: 64 cells of four bytes.
type Columns = [[[u8; 4]; 8]; REGISTERS];
/// Sums of both halves of eight rows for each plane.
type Sums<const P: usize> = [[__m256i; P]; 2];

/// Adds the rows of every group times the query to `out`.
#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn pass(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &mut [u32]) {
    by_planes!(plane_count, pass_planes(tiles, quads, planes, out));
}

#[target_feature(enable = "avx2,fma,bmi2")]
fn pass_planes<const P: usize>(tiles: &[u8], quads: usize, planes: &[i8], out: &mut [u32]) {
    let (digits, _) = planes.as_chunks::<4>();
    let (digits, _) = digits.as_chunks::<P>();
    let (cells, _) = tiles.as_chunks::<4>();
    let (registers, _) = cells.as_chunks::<8>();
    let (columns, _) = registers.as_chunks::<REGISTERS>();
    let lanes = Avx2::new();

    for (tile, out) in columns
        .chunks_exact(quads)
        .zip(out.chunks_exact_mut(2 * ROWS))
    {
        let (low, high) = out.split_at_mut(ROWS);
        for (block, digits) in tile.chunks(BLOCK_QUADS).zip(digits.chunks(BLOCK_QUADS)) {
            // Every register steps once for each quad, so a block prefetches each quad of the next
            // block once.
            let mut ahead = Ahead::new(REGISTERS);
            let rows = low.chunks_exact_mut(8).zip(high.chunks_exact_mut(8));
            for (register, (low, high)) in rows.enumerate() {
                let sums = sum::<P>(block, register, digits, &mut ahead);
                for (sums, out) in sums.into_iter().zip([low, high]) {
                    matvec_u8::flush::<_, _, 1, P, PLANE_BITS>(lanes, &sums.map(|sum| [sum]), out);
                }
            }
        }
    }
}

/// Sums quads of columns for eight rows, and prefetches the next block.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn sum<const P: usize>(
    block: &[Columns],
    register: usize,
    digits: &[[[i8; 4]; P]],
    ahead: &mut Ahead,
) -> Sums<P> {
    let lanes = Avx2::new();
    let half = lanes.splat([15u8; 4]);
    let ones = lanes.splat([1i16; 2]);
    let mut sums = [[lanes.splat(0); P]; 2];

    for (columns, digits) in block.chunks(RUN).zip(digits.chunks(RUN)) {
        let mut run = [[lanes.splat(0); P]; 2];
        for (columns, digits) in columns.iter().zip(digits) {
            ahead.step(block);
            let bytes = lanes.load(&columns[register]);
            let lows = _mm256_and_si256(bytes, half);
            let highs = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half);
            for (p, &x) in digits.iter().enumerate() {
                let x = lanes.splat(x);
                run[0][p] = _mm256_add_epi16(run[0][p], _mm256_maddubs_epi16(lows, x));
                run[1][p] = _mm256_add_epi16(run[1][p], _mm256_maddubs_epi16(highs, x));
            }
        }

        for (sum, run) in sums.as_flattened_mut().iter_mut().zip(run.as_flattened()) {
            *sum = lanes.add_products(*sum, *run, ones);
        }
    }

    sums
}
