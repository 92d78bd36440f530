//! Matrix of 8-bit words × query, on lanes of any width: see [`crate::matvec_u8`].
//!
//! Without products of bytes, planes of 8 bits gain nothing. They are joined and split again into
//! halves of 16 bits. Bytes 0 and 2 of a cell make one pair of 16-bit words, bytes 1 and 3 another.

use super::baseline::Baseline;
use super::lanes::{ByteLanes, Lanes};
use crate::layout::ROWS;
use crate::stream::Ahead;

/// Bits of a plane.
pub const PLANE_BITS: u32 = 8;
/// Quads of a block, which stays in the first-level cache while all slabs of rows use it.
const BLOCK_QUADS: usize = 32;
/// Bits of a half.
const HALF_BITS: u32 = 16;

/// Registers of a slab: its sums fit the registers of the CPU.
const SLAB: usize = 4;

/// The values of a quad of columns as `Σ_h 2^(16h)·half[h]` modulo 2^32, with signed halves: each
/// half has the values of columns 0 and 2, then the values of columns 1 and 3.
type Halves = [[[i16; 2]; 2]; 2];

/// Adds the rows of every group times the query to `out`.
pub(crate) fn pass(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &mut [u32]) {
    pass_lanes::<_, _, SLAB>(Baseline, tiles, quads, planes, plane_count, out);
}

/// The pass with slabs of `S` registers.
#[inline(always)]
pub(crate) fn pass_lanes<L: ByteLanes<N>, const N: usize, const S: usize>(
    lanes: L,
    tiles: &[u8],
    quads: usize,
    planes: &[i8],
    plane_count: usize,
    out: &mut [u32],
) {
    let slabs = ROWS / (N * S);
    let (cells, _) = tiles.as_chunks::<4>();
    let (registers, _) = cells.as_chunks::<N>();
    let (columns, _) = registers.as_chunks::<S>();

    for (tile, out) in columns
        .chunks_exact(quads * slabs)
        .zip(out.chunks_exact_mut(ROWS))
    {
        let digits = planes.chunks(4 * plane_count * BLOCK_QUADS);
        for (tile, digits) in tile.chunks(BLOCK_QUADS * slabs).zip(digits) {
            // Joined once for a block, as all slabs of rows need the same values.
            let mut values = [Halves::default(); BLOCK_QUADS];
            for (values, digits) in values.iter_mut().zip(digits.chunks_exact(4 * plane_count)) {
                *values = halves(digits);
            }

            let mut ahead = Ahead::new(1);
            for (slab, out) in out.chunks_exact_mut(N * S).enumerate() {
                let mut sums = [[lanes.splat(0); S]; 2];
                for (columns, values) in tile.chunks_exact(slabs).zip(&values) {
                    ahead.step(tile);
                    add(lanes, &columns[slab], values, &mut sums);
                }
                flush::<_, _, _, _, HALF_BITS>(lanes, &sums, out);
            }
        }
    }
}

/// The values of a quad of columns from its planes, modulo 2^32.
#[inline(always)]
fn halves(digits: &[i8]) -> Halves {
    let mut values = [0u32; 4];
    for digits in digits.chunks_exact(4).rev() {
        for (value, &digit) in values.iter_mut().zip(digits) {
            *value = (*value << PLANE_BITS).wrapping_add(i32::from(digit) as u32);
        }
    }
    let low = values.map(|value| value as i16);
    // A low half of 2^15 or more is read as negative, which the rounded high half makes up for.
    let high = values.map(|value| (value.wrapping_add(1 << 15) >> HALF_BITS) as i16);
    [low, high].map(|x| [[x[0], x[2]], [x[1], x[3]]])
}

/// Adds one slab of a quad of columns to the sums of each half.
#[inline(always)]
fn add<L: ByteLanes<N>, const N: usize, const S: usize>(
    lanes: L,
    slab: &[[[u8; 4]; N]; S],
    values: &Halves,
    sums: &mut [[L::Vector; S]; 2],
) {
    for (i, cells) in slab.iter().enumerate() {
        let bytes = lanes.split_bytes(lanes.load(cells));
        for (sums, values) in sums.iter_mut().zip(values) {
            for (&bytes, &x) in bytes.iter().zip(values) {
                sums[i] = lanes.add_products(sums[i], bytes, lanes.splat(x));
            }
        }
    }
}

/// Adds the sums of digits of `BITS` bits to the sums of the rows.
#[inline(always)]
pub(crate) fn flush<
    L: Lanes<N>,
    const N: usize,
    const S: usize,
    const P: usize,
    const BITS: u32,
>(
    lanes: L,
    sums: &[[L::Vector; S]; P],
    out: &mut [u32],
) {
    let words = lanes.store_all(sums);
    for (l, out) in out.iter_mut().enumerate() {
        let digits = words.iter().rev().map(|words| words.as_flattened()[l]);
        *out =
            out.wrapping_add(digits.fold(0, |total: u32, sum| (total << BITS).wrapping_add(sum)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::Plain;
    use super::*;

    #[test]
    fn plain_and_baseline_lanes_agree() {
        let quads = 2 * BLOCK_QUADS + 5;
        let number = |i: usize| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let tiles: Vec<u8> = (0..2 * quads * 4 * ROWS).map(|i| number(i) as u8).collect();
        let planes: Vec<i8> = (0..quads * 4 * 3).map(|i| number(i + 99) as i8).collect();
        let mut plain = [7; 2 * ROWS];
        let mut used = [7; 2 * ROWS];
        pass_lanes::<_, _, SLAB>(Plain, &tiles, quads, &planes, 3, &mut plain);
        pass_lanes::<_, _, SLAB>(Baseline, &tiles, quads, &planes, 3, &mut used);

        assert_eq!(plain, used);
    }
}
