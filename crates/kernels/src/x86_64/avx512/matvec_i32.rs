//! Matrix of 32-bit words × vectors: one fused multiply-add for each word, register tiles over
//! vectors. See [`crate::matvec_i32`].

use std::arch::x86_64::*;

use super::mat32;
use crate::layout::ROWS;
use crate::portable::matvec_i32::in_halves;
use crate::stream::Ahead;

/// Bits of the products that the multiply-add sums.
const PRODUCT_BITS: u32 = 52;
/// Words of a register: widened to 64 bits.
const LANES: usize = 8;
/// Columns that all tiles of vectors use in turn: 16 KiB, which stay in the first-level cache.
const BLOCK_COLUMNS: usize = 64;
/// The most vectors of a register tile.
const MAX_VECTORS: usize = 12;

/// A column of a group.
type Column = [[i32; LANES]; ROWS / LANES];

/// Adds the rows of every group times each vector to its sums.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512ifma")]
pub(crate) fn pass_many(
    tiles: &[i32],
    cols: usize,
    ys: &[&[u64]],
    bits: u32,
    outs: &mut [&mut [u64]],
) {
    if bits > PRODUCT_BITS {
        return in_halves(tiles, cols, ys, bits, outs, |tiles, cols, ys, outs| {
            mat32::pass(tiles, cols, ys, outs);
        });
    }

    // Tiles of equal size: 13 vectors make tiles of 7 and 6, not of 12 and 1.
    let tile = ys.len().div_ceil(ys.len().div_ceil(MAX_VECTORS));
    let interleaved: Vec<Vec<u64>> = ys.chunks(tile).map(|ys| interleave(ys, cols)).collect();
    let (words, _) = tiles.as_chunks::<LANES>();
    let (columns, _) = words.as_chunks::<{ ROWS / LANES }>();
    let mut sums = vec![[0; ROWS]; ys.len()];

    for (group, columns) in columns.chunks_exact(cols).enumerate() {
        sums.fill([0; ROWS]);
        for (block, columns) in columns.chunks(BLOCK_COLUMNS).enumerate() {
            let mut ahead = Ahead::new(interleaved.len());
            for (ys, sums) in interleaved.iter().zip(sums.chunks_mut(tile)) {
                add_block(
                    columns,
                    &ys[block * BLOCK_COLUMNS * sums.len()..],
                    sums,
                    &mut ahead,
                );
            }
        }

        for (out, sums) in outs.iter_mut().zip(&sums) {
            for (out, &sum) in out[group * ROWS..][..ROWS].iter_mut().zip(sums) {
                // The sums of the lowest 52 bits of products are correct modulo 2^52.
                *out = out.wrapping_add(sum) & ((1 << bits) - 1);
            }
        }
    }
}

/// The values of all vectors for one column after another.
fn interleave(ys: &[&[u64]], cols: usize) -> Vec<u64> {
    (0..cols)
        .flat_map(|c| ys.iter().map(move |y| y[c]))
        .collect()
}

/// Adds a block of columns times the vectors of a tile. Tiles of fewer vectors have more rows, so
/// that the sums fill the registers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512ifma")]
fn add_block(columns: &[Column], ys: &[u64], sums: &mut [[u64; ROWS]], ahead: &mut Ahead) {
    match sums.len() {
        1 => add_rows::<1, 8>(columns, ys, sums, ahead),
        2 => add_rows::<2, 8>(columns, ys, sums, ahead),
        3 => add_rows::<3, 8>(columns, ys, sums, ahead),
        4 => add_rows::<4, 4>(columns, ys, sums, ahead),
        5 => add_rows::<5, 4>(columns, ys, sums, ahead),
        6 => add_rows::<6, 4>(columns, ys, sums, ahead),
        7 => add_rows::<7, 2>(columns, ys, sums, ahead),
        8 => add_rows::<8, 2>(columns, ys, sums, ahead),
        9 => add_rows::<9, 2>(columns, ys, sums, ahead),
        10 => add_rows::<10, 2>(columns, ys, sums, ahead),
        11 => add_rows::<11, 2>(columns, ys, sums, ahead),
        _ => add_rows::<12, 2>(columns, ys, sums, ahead),
    }
}

/// [`add_block`] for `Q` vectors, `R` registers of rows at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512ifma")]
fn add_rows<const Q: usize, const R: usize>(
    columns: &[Column],
    ys: &[u64],
    sums: &mut [[u64; ROWS]],
    ahead: &mut Ahead,
) {
    let (ys, _) = ys.as_chunks::<Q>();
    let slabs = ROWS / (LANES * R);
    let (block, _) = columns.as_flattened().as_chunks::<R>();

    for slab in 0..slabs {
        let mut tile = [[_mm512_setzero_si512(); R]; Q];
        for (column, ys) in block.chunks_exact(slabs).zip(ys) {
            ahead.step(block);
            let mut words = [_mm512_setzero_si512(); R];
            for (words, place) in words.iter_mut().zip(&column[slab]) {
                // SAFETY: 32 bytes of `place` are read, at any alignment.
                let narrow = unsafe { _mm256_loadu_si256(place.as_ptr().cast()) };
                // Products depend on the lowest 52 bits only, so signed words are as good as words
                // modulo 2^52.
                *words = _mm512_cvtepi32_epi64(narrow);
            }

            for (sums, &y) in tile.iter_mut().zip(ys) {
                let y = _mm512_set1_epi64(y as i64);
                for (sum, &words) in sums.iter_mut().zip(&words) {
                    *sum = _mm512_madd52lo_epu64(*sum, words, y);
                }
            }
        }

        for (sums, tile) in sums.iter_mut().zip(&tile) {
            let (places, _) = sums[slab * R * LANES..].as_chunks_mut::<LANES>();
            for (place, &added) in places.iter_mut().zip(tile) {
                // SAFETY: 64 bytes of `place` are read and written, at any alignment.
                unsafe {
                    let sum = _mm512_loadu_si512(place.as_ptr().cast());
                    _mm512_storeu_si512(place.as_mut_ptr().cast(), _mm512_add_epi64(sum, added));
                }
            }
        }
    }
}
