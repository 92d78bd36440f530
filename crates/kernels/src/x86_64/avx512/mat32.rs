//! 32-bit matrix × two vectors: see [`crate::mat32`].

use std::arch::x86_64::*;

use crate::mat32::ROWS;
use crate::x86_64::stream;

/// Vectors of 16 values that hold one column of a group.
const VECTORS: usize = 4;

/// One column of a group.
type Column = [[i32; 16]; VECTORS];
/// The 64-bit sums of a column's even rows and of its odd rows.
type Sums = [[__m512i; 2]; VECTORS];

/// Adds every group's rows times the vectors to `outs`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn pass(tiles: &[i32], cols: usize, ys: [&[i32]; 2], outs: [&mut [i64]; 2]) {
    let [out0, out1] = outs;
    let (vectors, _) = tiles.as_chunks::<16>();
    let (columns, _) = vectors.as_chunks::<VECTORS>();
    let (out0, _) = out0.as_chunks_mut::<ROWS>();
    let (out1, _) = out1.as_chunks_mut::<ROWS>();
    for ((tile, out0), out1) in columns.chunks_exact(cols).zip(out0).zip(out1) {
        let [sums0, sums1] = sum(tile, ys);
        flush(&sums0, out0);
        flush(&sums1, out1);
    }
}

/// Sums one group's columns times both vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn sum(tile: &[Column], ys: [&[i32]; 2]) -> [Sums; 2] {
    let mut sums = [[[_mm512_setzero_si512(); 2]; VECTORS]; 2];
    for ((column, &y0), &y1) in tile.iter().zip(ys[0]).zip(ys[1]) {
        let ys = [_mm512_set1_epi32(y0), _mm512_set1_epi32(y1)];
        for (i, values) in column.iter().enumerate() {
            let values = load(values);
            for (sums, y) in sums.iter_mut().zip(ys) {
                for (sum, values) in sums[i].iter_mut().zip(values) {
                    *sum = _mm512_add_epi64(*sum, _mm512_mul_epi32(values, y));
                }
            }
        }
    }
    sums
}

/// Loads 16 values, the odd ones apart in the places of the even ones, and asks for
/// some that will come.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(values: &[i32; 16]) -> [__m512i; 2] {
    let place = values.as_ptr();
    stream::prefetch(place);
    // SAFETY: `values` is 64 bytes; the load needs no alignment.
    let values = unsafe { _mm512_loadu_si512(place.cast()) };
    [values, _mm512_srli_epi64::<32>(values)]
}

/// Adds a group's sums to `out`, even and odd rows in their order.
#[inline]
#[target_feature(enable = "avx512f")]
fn flush(sums: &Sums, out: &mut [i64; ROWS]) {
    let low = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
    let high = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
    let (out, _) = out.as_chunks_mut::<8>();
    for (i, out) in out.iter_mut().enumerate() {
        let [even, odd] = sums[i / 2];
        let order = if i % 2 == 0 { low } else { high };
        let total = _mm512_permutex2var_epi64(even, order, odd);
        let place = out.as_mut_ptr();
        // SAFETY: `out` is 64 bytes; neither access needs alignment.
        unsafe {
            let total = _mm512_add_epi64(total, _mm512_loadu_si512(place.cast()));
            _mm512_storeu_si512(place.cast(), total);
        }
    }
}
