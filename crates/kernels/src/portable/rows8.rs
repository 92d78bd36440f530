//! Database × query for 8-bit bytes: see [`crate::rows8`].

use super::lanes::{Sums, Words};
use crate::rows8::{PLANE_BITS, ROWS};

/// Lanes whose sums fit the registers.
const LANES: usize = 4;
/// Rows of that many lanes.
const SLAB: usize = 4 * LANES;
/// Quads that all slabs of rows take in turn, while they stay in the first-level cache.
const BLOCK_QUADS: usize = 32;

/// A quad of values as `low + 2^16·high`, modulo 2^32, both signed: of columns 0 and 2,
/// of columns 1 and 3.
type Halves = [[[i16; 2]; 2]; 2];

/// Adds every group's rows times the query to `out`.
///
/// Without products of bytes the planes gain nothing: they are put together again, and
/// taken apart into halves of 16 bits.
pub(crate) fn pass(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &mut [u32]) {
    let (cells, _) = tiles.as_chunks::<4>();
    let (columns, _) = cells.as_chunks::<ROWS>();
    for (tile, out) in columns.chunks_exact(quads).zip(out.chunks_exact_mut(ROWS)) {
        let digits = planes.chunks(4 * plane_count * BLOCK_QUADS);
        for (tile, digits) in tile.chunks(BLOCK_QUADS).zip(digits) {
            let mut values = [Halves::default(); BLOCK_QUADS];
            for (values, digits) in values.iter_mut().zip(digits.chunks_exact(4 * plane_count)) {
                *values = halves(digits);
            }
            for (slab, out) in out.chunks_exact_mut(SLAB).enumerate() {
                flush(sum(tile, slab * SLAB, &values), out);
            }
        }
    }
}

/// The values of a quad of columns from its planes, modulo 2^32.
fn halves(digits: &[i8]) -> Halves {
    let mut values = [0u32; 4];
    for digits in digits.chunks_exact(4).rev() {
        for (value, &digit) in values.iter_mut().zip(digits) {
            *value = (*value << PLANE_BITS).wrapping_add(i32::from(digit) as u32);
        }
    }
    let low = values.map(|value| value as i16);
    let high = values.map(|value| (value.wrapping_add(1 << 15) >> 16) as i16);
    [low, high].map(|x| [[x[0], x[2]], [x[1], x[3]]])
}

/// Sums the rows from `first` on of some quads of columns: the low and the high half.
fn sum(tile: &[[[u8; 4]; ROWS]], first: usize, values: &[Halves; BLOCK_QUADS]) -> [[Sums; LANES]; 2] {
    let mut sums = [[Sums::default(); LANES]; 2];
    for (cells, values) in tile.iter().zip(values) {
        let values = values.map(|half| half.map(|x| Words::new([x; 4])));
        let (cells, _) = cells[first..][..SLAB].as_chunks::<4>();
        for (i, &cells) in cells.iter().enumerate() {
            let [even, odd] = Words::from_bytes(cells);
            for (sums, [x, z]) in sums.iter_mut().zip(values) {
                sums[i].add_products(even, x);
                sums[i].add_products(odd, z);
            }
        }
    }
    sums
}

/// Adds the sums of both halves to the rows' sums.
fn flush([low, high]: [[Sums; LANES]; 2], out: &mut [u32]) {
    let low = low.iter().flat_map(|sum| sum.get());
    let high = high.iter().flat_map(|sum| sum.get());
    for ((out, low), high) in out.iter_mut().zip(low).zip(high) {
        *out = out.wrapping_add(low.wrapping_add(high << 16) as u32);
    }
}
