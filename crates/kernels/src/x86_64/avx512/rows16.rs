//! Database × query for 16-bit words: see [`crate::rows16`].

use std::arch::x86_64::*;

use crate::rows16::{FLUSH_PAIRS, PLANE_BITS, ROWS};
use crate::x86_64::stream;

/// Vectors of 16 cells that hold one pair of columns of a group.
const VECTORS: usize = 4;

/// Streams in which a large tile is read: one alone does not use all the bandwidth of a
/// core. Each has load instructions of its own, which the CPU's prefetcher tells apart.
const STREAMS: usize = 4;
/// Pairs from which on a tile is large.
const STREAMED_PAIRS: usize = 4096;

/// One pair of columns of a group: 64 cells of two words.
type Columns = [[[i16; 2]; 16]; VECTORS];

/// Adds every group's rows times the query to `out`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) fn pass(tiles: &[i16], pairs: usize, planes: &[i16], plane_count: usize, out: &mut [u64]) {
    match plane_count {
        1 => pass_planes::<1>(tiles, pairs, planes, out),
        2 => pass_planes::<2>(tiles, pairs, planes, out),
        3 => pass_planes::<3>(tiles, pairs, planes, out),
        _ => pass_planes::<4>(tiles, pairs, planes, out),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn pass_planes<const P: usize>(tiles: &[i16], pairs: usize, planes: &[i16], out: &mut [u64]) {
    let (digits, _) = planes.as_chunks::<2>();
    let (digits, _) = digits.as_chunks::<P>();
    let (cells, _) = tiles.as_chunks::<2>();
    let (vectors, _) = cells.as_chunks::<16>();
    let (columns, _) = vectors.as_chunks::<VECTORS>();
    let (out, _) = out.as_chunks_mut::<ROWS>();
    for (tile, out) in columns.chunks_exact(pairs).zip(out) {
        let length = if pairs < STREAMED_PAIRS { 0 } else { pairs / STREAMS };
        add_streams(tile, digits, length, out);
        let rest = STREAMS * length..;
        let digits = digits[rest.clone()].chunks(FLUSH_PAIRS);
        for (tile, digits) in tile[rest].chunks(FLUSH_PAIRS).zip(digits) {
            let mut sums = [[_mm512_setzero_si512(); VECTORS]; P];
            for (columns, digits) in tile.iter().zip(digits) {
                add(columns, digits, &mut sums);
            }
            flush(&sums, out);
        }
    }
}

/// Adds the first pairs of columns to `out`, as [`STREAMS`] streams of `length` in turn.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn add_streams<const P: usize>(
    tile: &[Columns],
    digits: &[[[i16; 2]; P]],
    length: usize,
    out: &mut [u64; ROWS],
) {
    const STEP: usize = FLUSH_PAIRS / STREAMS;
    for from in (0..length).step_by(STEP) {
        let taken = STEP.min(length - from);
        let stream = |s: usize| {
            let from = s * length + from;
            tile[from..][..taken].iter().zip(&digits[from..][..taken])
        };
        let mut sums = [[_mm512_setzero_si512(); VECTORS]; P];
        let streams = stream(0).zip(stream(1)).zip(stream(2)).zip(stream(3));
        for (((a, b), c), d) in streams {
            add(a.0, a.1, &mut sums);
            add(b.0, b.1, &mut sums);
            add(c.0, c.1, &mut sums);
            add(d.0, d.1, &mut sums);
        }
        flush(&sums, out);
    }
}

/// Adds one pair of columns to the sums, by plane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn add<const P: usize>(columns: &Columns, digits: &[[i16; 2]; P], sums: &mut [[__m512i; VECTORS]; P]) {
    let words = load(columns);
    for (sums, &x) in sums.iter_mut().zip(digits) {
        let x = _mm512_set1_epi32(bytemuck::cast(x));
        for (sum, &words) in sums.iter_mut().zip(&words) {
            *sum = _mm512_dpwssd_epi32(*sum, words, x);
        }
    }
}

/// Loads one pair of columns, and asks for one that will come.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(columns: &Columns) -> [__m512i; VECTORS] {
    let mut words = [_mm512_setzero_si512(); VECTORS];
    for (words, cells) in words.iter_mut().zip(columns) {
        let place = cells.as_ptr();
        stream::prefetch(place);
        // SAFETY: `cells` is 64 bytes; the load needs no alignment.
        *words = unsafe { _mm512_loadu_si512(place.cast()) };
    }
    words
}

/// Adds the planes' 32-bit sums to the rows' 64-bit sums, the highest plane first (Horner).
#[inline]
#[target_feature(enable = "avx512f")]
fn flush<const P: usize>(sums: &[[__m512i; VECTORS]; P], out: &mut [u64; ROWS]) {
    let (out, _) = out.as_chunks_mut::<8>();
    for (i, out) in out.iter_mut().enumerate() {
        let mut total = _mm512_setzero_si512();
        for sums in sums.iter().rev() {
            let half = match i % 2 {
                0 => _mm512_castsi512_si256(sums[i / 2]),
                _ => _mm512_extracti64x4_epi64::<1>(sums[i / 2]),
            };
            total = _mm512_slli_epi64::<PLANE_BITS>(total);
            total = _mm512_add_epi64(total, _mm512_cvtepi32_epi64(half));
        }
        let place = out.as_mut_ptr();
        // SAFETY: `out` is 64 bytes; neither access needs alignment.
        unsafe {
            total = _mm512_add_epi64(total, _mm512_loadu_si512(place.cast()));
            _mm512_storeu_si512(place.cast(), total);
        }
    }
}
