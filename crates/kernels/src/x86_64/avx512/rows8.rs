//! Database × query for 8-bit bytes: see [`crate::rows8`].

use std::arch::x86_64::*;

use crate::rows8::{PLANE_BITS, ROWS};
use crate::x86_64::stream;

/// Vectors of 16 cells that hold one quad of columns of a group.
const VECTORS: usize = 4;

/// One quad of columns of a group: 64 cells of four bytes.
type Columns = [[[u8; 4]; 16]; VECTORS];

/// Adds every group's rows times the query to `out`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) fn pass(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &mut [u32]) {
    match plane_count {
        1 => pass_planes::<1>(tiles, quads, planes, out),
        2 => pass_planes::<2>(tiles, quads, planes, out),
        3 => pass_planes::<3>(tiles, quads, planes, out),
        _ => pass_planes::<4>(tiles, quads, planes, out),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn pass_planes<const P: usize>(tiles: &[u8], quads: usize, planes: &[i8], out: &mut [u32]) {
    let (digits, _) = planes.as_chunks::<4>();
    let (digits, _) = digits.as_chunks::<P>();
    let (cells, _) = tiles.as_chunks::<4>();
    let (vectors, _) = cells.as_chunks::<16>();
    let (columns, _) = vectors.as_chunks::<VECTORS>();
    let (out, _) = out.as_chunks_mut::<ROWS>();
    for (tile, out) in columns.chunks_exact(quads).zip(out) {
        flush(&sum::<P>(tile, digits), out);
    }
}

/// Sums quads of columns, by plane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn sum<const P: usize>(tile: &[Columns], digits: &[[[i8; 4]; P]]) -> [[__m512i; VECTORS]; P] {
    let mut sums = [[_mm512_setzero_si512(); VECTORS]; P];
    for (columns, digits) in tile.iter().zip(digits) {
        let bytes = load(columns);
        for (sums, &x) in sums.iter_mut().zip(digits) {
            let x = _mm512_set1_epi32(bytemuck::cast(x));
            for (sum, &bytes) in sums.iter_mut().zip(&bytes) {
                *sum = _mm512_dpbusd_epi32(*sum, bytes, x);
            }
        }
    }
    sums
}

/// Loads one quad of columns, and asks for one that will come.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(columns: &Columns) -> [__m512i; VECTORS] {
    let mut bytes = [_mm512_setzero_si512(); VECTORS];
    for (bytes, cells) in bytes.iter_mut().zip(columns) {
        let place = cells.as_ptr();
        stream::prefetch(place);
        // SAFETY: `cells` is 64 bytes; the load needs no alignment.
        *bytes = unsafe { _mm512_loadu_si512(place.cast()) };
    }
    bytes
}

/// Adds the planes' sums to the rows' sums, the highest plane first (Horner).
#[inline]
#[target_feature(enable = "avx512f")]
fn flush<const P: usize>(sums: &[[__m512i; VECTORS]; P], out: &mut [u32; ROWS]) {
    let (out, _) = out.as_chunks_mut::<16>();
    for (i, out) in out.iter_mut().enumerate() {
        let mut total = _mm512_setzero_si512();
        for sums in sums.iter().rev() {
            total = _mm512_add_epi32(_mm512_slli_epi32::<PLANE_BITS>(total), sums[i]);
        }
        let place = out.as_mut_ptr();
        // SAFETY: `out` is 64 bytes; neither access needs alignment.
        unsafe {
            total = _mm512_add_epi32(total, _mm512_loadu_si512(place.cast()));
            _mm512_storeu_si512(place.cast(), total);
        }
    }
}
