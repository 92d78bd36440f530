//! Matrix of 8-bit words × query: one instruction sums the four products of a cell.

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
    for (tile, out) in columns.chunks_exact(quads).zip(out.chunks_exact_mut(ROWS)) {
        let sums = sum::<P>(tile, digits);
        matvec_u8::flush::<_, _, _, _, PLANE_BITS>(Avx512::new(), &sums, out);
    }
}

/// Sums quads of columns for each plane, and prefetches later ones.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn sum<const P: usize>(tile: &[Columns], digits: &[[[i8; 4]; P]]) -> [[__m512i; REGISTERS]; P] {
    let lanes = Avx512::new();
    let mut sums = [[lanes.splat(0); REGISTERS]; P];
    for (columns, digits) in tile.iter().zip(digits) {
        stream::prefetch(slice::from_ref(columns), AHEAD);
        let bytes = lanes.load_all(columns);
        for (sums, &x) in sums.iter_mut().zip(digits) {
            let x = lanes.splat(x);
            for (sum, &bytes) in sums.iter_mut().zip(&bytes) {
                // This product does not saturate: sums wrap modulo 2^32, as the definition says.
                *sum = _mm512_dpbusd_epi32(*sum, bytes, x);
            }
        }
    }
    sums
}
