//! Matrix of 4-bit words × query: one instruction sums the four products of half a cell.

use std::arch::x86_64::*;
use std::slice;

use super::lanes::Avx512;
use crate::layout::ROWS;
use crate::portable::lanes::Lanes;
use crate::portable::matvec_u8::{self, PLANE_BITS};
use crate::stream;

/// Registers for a quad of columns of a group.
const REGISTERS: usize = 4;
/// Quads of columns that are prefetched ahead: a page.
const AHEAD: usize = 15;

/// A quad of columns of a group: 64 cells of four bytes.
type Columns = [[[u8; 4]; 16]; REGISTERS];
/// Sums of a half for each plane.
type Sums<const P: usize> = [[__m512i; REGISTERS]; P];

/// Adds the rows of every group times the query to `out`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) fn pass(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &mut [u32]) {
    by_planes!(plane_count, pass_planes(tiles, quads, planes, out));
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn pass_planes<const P: usize>(tiles: &[u8], quads: usize, planes: &[i8], out: &mut [u32]) {
    let (digits, _) = planes.as_chunks::<4>();
    let (digits, _) = digits.as_chunks::<P>();
    let (cells, _) = tiles.as_chunks::<4>();
    let (registers, _) = cells.as_chunks::<16>();
    let (columns, _) = registers.as_chunks::<REGISTERS>();
    for (tile, out) in columns
        .chunks_exact(quads)
        .zip(out.chunks_exact_mut(2 * ROWS))
    {
        let [low, high] = sum::<P>(tile, digits);
        let (low_rows, high_rows) = out.split_at_mut(ROWS);
        matvec_u8::flush::<_, _, _, _, PLANE_BITS>(Avx512::new(), &low, low_rows);
        matvec_u8::flush::<_, _, _, _, PLANE_BITS>(Avx512::new(), &high, high_rows);
    }
}

/// Sums quads of columns for each plane, low halves and high ones, and prefetches later quads.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn sum<const P: usize>(tile: &[Columns], digits: &[[[i8; 4]; P]]) -> [Sums<P>; 2] {
    let lanes = Avx512::new();
    let half = lanes.splat([15u8; 4]);
    let mut low = [[lanes.splat(0); REGISTERS]; P];
    let mut high = [[lanes.splat(0); REGISTERS]; P];

    for (columns, digits) in tile.iter().zip(digits) {
        stream::prefetch(slice::from_ref(columns), AHEAD);
        for (i, cells) in columns.iter().enumerate() {
            let bytes = lanes.load(cells);
            let lows = _mm512_and_si512(bytes, half);
            let highs = _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), half);
            for (p, &x) in digits.iter().enumerate() {
                let x = lanes.splat(x);
                // This product does not saturate: sums wrap modulo 2^32, as the definition says.
                low[p][i] = _mm512_dpbusd_epi32(low[p][i], lows, x);
                high[p][i] = _mm512_dpbusd_epi32(high[p][i], highs, x);
            }
        }
    }

    [low, high]
}
