//! 32-bit matrix × two vectors: see [`crate::mat32`].

use std::arch::x86_64::*;

use crate::mat32::ROWS;
use crate::x86_64::stream;

/// Vectors of 8 values whose sums, for both vectors, fit the registers.
const VECTORS: usize = 2;
/// Such slabs of rows in a group.
const SLABS: usize = 4;
/// Columns that all slabs of rows take in turn, while they stay in the first-level cache.
const BLOCK_COLUMNS: usize = 32;

/// A slab of rows of a column.
type Slab = [[i32; 8]; VECTORS];
/// The 64-bit sums of a slab's even rows and of its odd rows.
type Sums = [[__m256i; 2]; VECTORS];

/// Adds every group's rows times the vectors to `outs`.
#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn pass(tiles: &[i32], cols: usize, ys: [&[i32]; 2], outs: [&mut [i64]; 2]) {
    let [out0, out1] = outs;
    let (vectors, _) = tiles.as_chunks::<8>();
    let (slabs, _) = vectors.as_chunks::<VECTORS>();
    let (columns, _) = slabs.as_chunks::<SLABS>();
    let outs = out0.chunks_exact_mut(ROWS).zip(out1.chunks_exact_mut(ROWS));
    for (tile, (out0, out1)) in columns.chunks_exact(cols).zip(outs) {
        for (block, tile) in tile.chunks(BLOCK_COLUMNS).enumerate() {
            let ys = ys.map(|y| &y[block * BLOCK_COLUMNS..][..tile.len()]);
            for slab in 0..SLABS {
                let [sums0, sums1] = sum(tile, slab, ys);
                flush(&sums0, &mut out0[slab * 8 * VECTORS..]);
                flush(&sums1, &mut out1[slab * 8 * VECTORS..]);
            }
        }
    }
}

/// Sums one slab of rows of some columns times both vectors.
#[inline]
#[target_feature(enable = "avx2,fma,bmi2")]
fn sum(tile: &[[Slab; SLABS]], slab: usize, ys: [&[i32]; 2]) -> [Sums; 2] {
    let mut sums = [[[_mm256_setzero_si256(); 2]; VECTORS]; 2];
    for ((column, &y0), &y1) in tile.iter().zip(ys[0]).zip(ys[1]) {
        let ys = [_mm256_set1_epi32(y0), _mm256_set1_epi32(y1)];
        stream::prefetch(&column[slab]);
        for (i, values) in column[slab].iter().enumerate() {
            let values = load(values);
            for (sums, y) in sums.iter_mut().zip(ys) {
                for (sum, values) in sums[i].iter_mut().zip(values) {
                    *sum = _mm256_add_epi64(*sum, _mm256_mul_epi32(values, y));
                }
            }
        }
    }
    sums
}

/// Loads 8 values, the odd ones apart in the places of the even ones.
#[inline]
#[target_feature(enable = "avx2")]
fn load(values: &[i32; 8]) -> [__m256i; 2] {
    // SAFETY: `values` is 32 bytes; the load needs no alignment.
    let values = unsafe { _mm256_loadu_si256(values.as_ptr().cast()) };
    [values, _mm256_srli_epi64::<32>(values)]
}

/// Adds a slab's sums to the first rows of `out`, even and odd rows in their order.
#[inline]
#[target_feature(enable = "avx2")]
fn flush(sums: &Sums, out: &mut [i64]) {
    let (out, _) = out.as_chunks_mut::<8>();
    for ([even, odd], out) in sums.iter().zip(out) {
        // Rows 0 1 4 5, rows 2 3 6 7.
        let low = _mm256_unpacklo_epi64(*even, *odd);
        let high = _mm256_unpackhi_epi64(*even, *odd);
        let totals =
            [_mm256_permute2x128_si256::<0x20>(low, high), _mm256_permute2x128_si256::<0x31>(low, high)];
        for (out, total) in out.as_chunks_mut::<4>().0.iter_mut().zip(totals) {
            let place = out.as_mut_ptr().cast::<__m256i>();
            // SAFETY: `out` is 32 bytes; neither access needs alignment.
            unsafe {
                let total = _mm256_add_epi64(total, _mm256_loadu_si256(place));
                _mm256_storeu_si256(place, total);
            }
        }
    }
}
