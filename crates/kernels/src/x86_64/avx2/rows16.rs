//! Database × query for 16-bit words: see [`crate::rows16`].

use std::arch::x86_64::*;

use crate::rows16::{FLUSH_PAIRS, PLANE_BITS, ROWS};
use crate::x86_64::stream;

/// Vectors of 8 cells whose sums, in four planes, fit the registers.
const VECTORS: usize = 2;
/// Such slabs of rows in a group.
const SLABS: usize = 4;
/// Vectors of a slab of rows.
type Slab = [[[i16; 2]; 8]; VECTORS];

/// Adds every group's rows times the query to `out`.
#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn pass(tiles: &[i16], pairs: usize, planes: &[i16], plane_count: usize, out: &mut [u64]) {
    match plane_count {
        1 => pass_planes::<1>(tiles, pairs, planes, out),
        2 => pass_planes::<2>(tiles, pairs, planes, out),
        3 => pass_planes::<3>(tiles, pairs, planes, out),
        _ => pass_planes::<4>(tiles, pairs, planes, out),
    }
}

#[target_feature(enable = "avx2,fma,bmi2")]
fn pass_planes<const P: usize>(tiles: &[i16], pairs: usize, planes: &[i16], out: &mut [u64]) {
    let (digits, _) = planes.as_chunks::<2>();
    let (digits, _) = digits.as_chunks::<P>();
    let (cells, _) = tiles.as_chunks::<2>();
    let (vectors, _) = cells.as_chunks::<8>();
    let (slabs, _) = vectors.as_chunks::<VECTORS>();
    let (columns, _) = slabs.as_chunks::<SLABS>();
    for (tile, out) in columns.chunks_exact(pairs).zip(out.chunks_exact_mut(ROWS)) {
        for (tile, digits) in tile.chunks(FLUSH_PAIRS).zip(digits.chunks(FLUSH_PAIRS)) {
            for (slab, out) in out.chunks_exact_mut(8 * VECTORS).enumerate() {
                flush(&sum::<P>(tile, slab, digits), out);
            }
        }
    }
}

/// Sums one slab of rows of at most [`FLUSH_PAIRS`] pairs of columns, by plane.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn sum<const P: usize>(
    tile: &[[Slab; SLABS]],
    slab: usize,
    digits: &[[[i16; 2]; P]],
) -> [[__m256i; VECTORS]; P] {
    let mut sums = [[_mm256_setzero_si256(); VECTORS]; P];
    for (columns, digits) in tile.iter().zip(digits) {
        let words = load(&columns[slab]);
        for (sums, &x) in sums.iter_mut().zip(digits) {
            let x = _mm256_set1_epi32(bytemuck::cast(x));
            for (sum, &words) in sums.iter_mut().zip(&words) {
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(words, x));
            }
        }
    }
    sums
}

/// Loads one slab of a pair of columns, and asks for one that will come.
#[inline]
#[target_feature(enable = "avx2")]
fn load(slab: &Slab) -> [__m256i; VECTORS] {
    stream::prefetch(slab);
    let mut words = [_mm256_setzero_si256(); VECTORS];
    for (words, cells) in words.iter_mut().zip(slab) {
        // SAFETY: `cells` is 32 bytes; the load needs no alignment.
        *words = unsafe { _mm256_loadu_si256(cells.as_ptr().cast()) };
    }
    words
}

/// Adds the planes' 32-bit sums to the rows' 64-bit sums, the highest plane first (Horner).
#[inline]
#[target_feature(enable = "avx2")]
fn flush<const P: usize>(sums: &[[__m256i; VECTORS]; P], out: &mut [u64]) {
    let (out, _) = out.as_chunks_mut::<4>();
    for (i, out) in out.iter_mut().enumerate() {
        let mut total = _mm256_setzero_si256();
        for sums in sums.iter().rev() {
            let half = match i % 2 {
                0 => _mm256_castsi256_si128(sums[i / 2]),
                _ => _mm256_extracti128_si256::<1>(sums[i / 2]),
            };
            total = _mm256_slli_epi64::<{ PLANE_BITS as i32 }>(total);
            total = _mm256_add_epi64(total, _mm256_cvtepi32_epi64(half));
        }
        let place = out.as_mut_ptr().cast::<__m256i>();
        // SAFETY: `out` is 32 bytes; neither access needs alignment.
        unsafe {
            total = _mm256_add_epi64(total, _mm256_loadu_si256(place));
            _mm256_storeu_si256(place, total);
        }
    }
}
