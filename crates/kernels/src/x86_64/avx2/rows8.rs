//! Database × query for 8-bit bytes: see [`crate::rows8`].
//!
//! `vpmaddubsw` saturates, so bytes are widened: a cell's bytes 0 and 2 are one pair
//! of 16-bit words, its bytes 1 and 3 another, and `vpmaddwd` sums each exactly.

use std::arch::x86_64::*;

use crate::rows8::{PLANE_BITS, ROWS};
use crate::x86_64::stream;

/// Vectors of 8 cells whose sums, in four planes, fit the registers.
const VECTORS: usize = 2;
/// Such slabs of rows in a group.
const SLABS: usize = 4;
/// Quads that all slabs of rows take in turn, while they stay in the first-level cache.
const BLOCK_QUADS: usize = 32;

/// Vectors of a slab of rows.
type Slab = [[[u8; 4]; 8]; VECTORS];
/// The digits of a quad of columns: of columns 0 and 2, of columns 1 and 3.
type Digits = [[i16; 2]; 2];

/// Adds every group's rows times the query to `out`.
#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn pass(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &mut [u32]) {
    match plane_count {
        1 => pass_planes::<1>(tiles, quads, planes, out),
        2 => pass_planes::<2>(tiles, quads, planes, out),
        3 => pass_planes::<3>(tiles, quads, planes, out),
        _ => pass_planes::<4>(tiles, quads, planes, out),
    }
}

#[target_feature(enable = "avx2,fma,bmi2")]
fn pass_planes<const P: usize>(tiles: &[u8], quads: usize, planes: &[i8], out: &mut [u32]) {
    let (digits, _) = planes.as_chunks::<4>();
    let (digits, _) = digits.as_chunks::<P>();
    let (cells, _) = tiles.as_chunks::<4>();
    let (vectors, _) = cells.as_chunks::<8>();
    let (slabs, _) = vectors.as_chunks::<VECTORS>();
    let (columns, _) = slabs.as_chunks::<SLABS>();
    for (tile, out) in columns.chunks_exact(quads).zip(out.chunks_exact_mut(ROWS)) {
        for (tile, digits) in tile.chunks(BLOCK_QUADS).zip(digits.chunks(BLOCK_QUADS)) {
            let mut wide = [[Digits::default(); P]; BLOCK_QUADS];
            widen(digits, &mut wide);
            for (slab, out) in out.chunks_exact_mut(8 * VECTORS).enumerate() {
                flush(&sum::<P>(tile, slab, &wide), out);
            }
        }
    }
}

/// Widens the digits of a block.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn widen<const P: usize>(digits: &[[[i8; 4]; P]], wide: &mut [[Digits; P]; BLOCK_QUADS]) {
    let wide = wide.as_flattened_mut();
    for (wide, x) in wide.iter_mut().zip(digits.as_flattened()) {
        let x = x.map(i16::from);
        *wide = [[x[0], x[2]], [x[1], x[3]]];
    }
}

/// Sums one slab of rows of at most [`BLOCK_QUADS`] quads of columns, by plane.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn sum<const P: usize>(
    tile: &[[Slab; SLABS]],
    slab: usize,
    digits: &[[Digits; P]; BLOCK_QUADS],
) -> [[__m256i; VECTORS]; P] {
    let mut sums = [[_mm256_setzero_si256(); VECTORS]; P];
    for (columns, digits) in tile.iter().zip(digits) {
        let bytes = load(&columns[slab]);
        for (sums, &[even, odd]) in sums.iter_mut().zip(digits) {
            let even = _mm256_set1_epi32(bytemuck::cast(even));
            let odd = _mm256_set1_epi32(bytemuck::cast(odd));
            for (sum, &bytes) in sums.iter_mut().zip(&bytes) {
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(bytes[0], even));
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(bytes[1], odd));
            }
        }
    }
    sums
}

/// Loads one slab of a quad of columns, bytes 0 and 2 apart from bytes 1 and 3, and
/// asks for one that will come.
#[inline]
#[target_feature(enable = "avx2")]
fn load(slab: &Slab) -> [[__m256i; 2]; VECTORS] {
    stream::prefetch(slab);
    let mut bytes = [[_mm256_setzero_si256(); 2]; VECTORS];
    for (bytes, cells) in bytes.iter_mut().zip(slab) {
        // SAFETY: `cells` is 32 bytes; the load needs no alignment.
        let cells = unsafe { _mm256_loadu_si256(cells.as_ptr().cast()) };
        let low = _mm256_set1_epi16(0xff);
        *bytes = [_mm256_and_si256(cells, low), _mm256_srli_epi16::<8>(cells)];
    }
    bytes
}

/// Adds the planes' sums to the rows' sums, the highest plane first (Horner).
#[inline]
#[target_feature(enable = "avx2")]
fn flush<const P: usize>(sums: &[[__m256i; VECTORS]; P], out: &mut [u32]) {
    let (out, _) = out.as_chunks_mut::<8>();
    for (i, out) in out.iter_mut().enumerate() {
        let mut total = _mm256_setzero_si256();
        for sums in sums.iter().rev() {
            total = _mm256_slli_epi32::<{ PLANE_BITS as i32 }>(total);
            total = _mm256_add_epi32(total, sums[i]);
        }
        let place = out.as_mut_ptr().cast::<__m256i>();
        // SAFETY: `out` is 32 bytes; neither access needs alignment.
        unsafe {
            total = _mm256_add_epi32(total, _mm256_loadu_si256(place));
            _mm256_storeu_si256(place, total);
        }
    }
}
