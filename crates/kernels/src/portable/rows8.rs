//! Database × query for 8-bit bytes: see [`crate::rows8`].

use crate::rows8::{PLANE_BITS, ROWS};

/// Rows that are summed at a time: their sums fit the registers.
const SLAB: usize = 16;
/// Quads that all slabs of rows take in turn, while they stay in the first-level
/// cache.
const BLOCK_QUADS: usize = 32;

/// A quad of values as `low + 2^16·high`, modulo 2^32, both signed.
type Halves = [[i16; 4]; 2];

/// Adds every group's rows times the query to `out`.
///
/// Without a multiplication of bytes the planes gain nothing: they are put together
/// again, and taken apart into halves whose products with a byte are cheap.
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
                add_slab(tile, &values, slab * SLAB, out);
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
    [low, high]
}

/// Adds the rows from `first` on of at most [`BLOCK_QUADS`] quads.
///
/// Products of numbers that LLVM sees to be 16 bits wide become one instruction on
/// x86-64 (`pmaddwd`), in a function of its own.
#[inline(never)]
fn add_slab(tile: &[[[u8; 4]; ROWS]], values: &[Halves; BLOCK_QUADS], first: usize, out: &mut [u32]) {
    let mut low = [0i32; SLAB];
    let mut high = [0i32; SLAB];
    for (cells, values) in tile.iter().zip(values) {
        let cells = &cells[first..][..SLAB];
        let [x, z] = values.map(|half| half.map(i32::from));
        for l in 0..SLAB {
            let cell = u32::from_le_bytes(cells[l]);
            for h in 0..4 {
                let byte = (cell >> (8 * h) & 0xff) as i32;
                low[l] = low[l].wrapping_add(byte.wrapping_mul(x[h]));
                high[l] = high[l].wrapping_add(byte.wrapping_mul(z[h]));
            }
        }
    }
    for ((out, low), high) in out.iter_mut().zip(low).zip(high) {
        let sum = low.wrapping_add(high << 16);
        *out = out.wrapping_add(sum as u32);
    }
}
