//! Matrix of 16-bit words × query, on lanes of any width: see [`crate::matvec_i16`].

use super::baseline::Baseline;
use super::lanes::Lanes;
use crate::layout::ROWS;
use crate::stream::Ahead;

/// Bits of a plane.
pub const PLANE_BITS: u32 = 11;
/// The most pairs of columns whose products a 32-bit sum holds without overflow.
///
/// A product is at most `2^15·2^10`, a pair adds two, and `31·2·2^25 < 2^31`;
/// 32 pairs of −32768 and −1024 would reach 2^31 itself.
pub(crate) const FLUSH_PAIRS: usize = 31;

/// A slab of rows of a pair of columns: `S` registers of `N` cells.
pub(crate) type Slab<const N: usize, const S: usize> = [[[i16; 2]; N]; S];

/// Registers of a slab: the sums of five planes fit the registers of the CPU.
const SLAB: usize = 2;

/// Adds the rows of every group times the query to `out`.
pub(crate) fn pass(
    tiles: &[i16],
    pairs: usize,
    planes: &[i16],
    plane_count: usize,
    out: &mut [u64],
) {
    pass_many(tiles, pairs, &[planes], plane_count, &mut [out]);
}

/// [`pass`] for several queries.
pub(crate) fn pass_many(
    tiles: &[i16],
    pairs: usize,
    queries: &[&[i16]],
    plane_count: usize,
    outs: &mut [&mut [u64]],
) {
    by_planes!(up to 5, plane_count, pass_many_planes(tiles, pairs, queries, outs));
}

fn pass_many_planes<const P: usize>(
    tiles: &[i16],
    pairs: usize,
    queries: &[&[i16]],
    outs: &mut [&mut [u64]],
) {
    pass_many_lanes::<_, _, SLAB, P>(Baseline, tiles, pairs, queries, outs);
}

/// The digits of each pair of columns.
#[inline(always)]
pub(crate) fn digits<const P: usize>(planes: &[i16]) -> &[[[i16; 2]; P]] {
    planes.as_chunks::<2>().0.as_chunks::<P>().0
}

/// The pass with slabs of `S` registers. Queries use a block of columns in turn while it stays in
/// the first-level cache.
#[inline(always)]
pub(crate) fn pass_many_lanes<L: Lanes<N>, const N: usize, const S: usize, const P: usize>(
    lanes: L,
    tiles: &[i16],
    pairs: usize,
    queries: &[&[i16]],
    outs: &mut [&mut [u64]],
) {
    let slabs = ROWS / (N * S);
    let (cells, _) = tiles.as_chunks::<2>();
    let (registers, _) = cells.as_chunks::<N>();
    let (all, _) = registers.as_chunks::<S>();

    for (group, tile) in all.chunks_exact(pairs * slabs).enumerate() {
        for (block, tile) in tile.chunks(FLUSH_PAIRS * slabs).enumerate() {
            // Each query steps once a slab: together they prefetch the next block once.
            let mut ahead = Ahead::new(queries.len());
            for (planes, out) in queries.iter().zip(outs.iter_mut()) {
                let digits = &digits::<P>(planes)[block * FLUSH_PAIRS..][..tile.len() / slabs];
                add_block(
                    lanes,
                    tile,
                    digits,
                    &mut out[group * ROWS..][..ROWS],
                    &mut ahead,
                );
            }
        }
    }
}

/// Adds the rows of one group times the query to `out`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn add_tile<L: Lanes<N>, const N: usize, const S: usize, const P: usize>(
    lanes: L,
    tile: &[Slab<N, S>],
    digits: &[[[i16; 2]; P]],
    out: &mut [u64],
) {
    let slabs = ROWS / (N * S);
    for (tile, digits) in tile
        .chunks(FLUSH_PAIRS * slabs)
        .zip(digits.chunks(FLUSH_PAIRS))
    {
        add_block(lanes, tile, digits, out, &mut Ahead::new(1));
    }
}

/// Adds a block of columns, at most [`FLUSH_PAIRS`] pairs: as many as a 32-bit sum holds. All slabs
/// use the block in turn, while it stays in the first-level cache.
#[inline(always)]
fn add_block<L: Lanes<N>, const N: usize, const S: usize, const P: usize>(
    lanes: L,
    tile: &[Slab<N, S>],
    digits: &[[[i16; 2]; P]],
    out: &mut [u64],
    ahead: &mut Ahead,
) {
    let slabs = ROWS / (N * S);
    for (slab, out) in out.chunks_exact_mut(N * S).enumerate() {
        let mut sums = [[lanes.splat(0); S]; P];
        for (columns, digits) in tile.chunks_exact(slabs).zip(digits) {
            ahead.step(tile);
            add(lanes, &columns[slab], digits, &mut sums);
        }
        flush(lanes, &sums, out);
    }
}

/// The representative in `[−2^(bits−1), 2^(bits−1))` of a value modulo 2^`bits`.
pub(crate) fn centre(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)) as i64 >> (64 - bits)
}

/// Adds one slab of a pair of columns to the sums of each plane.
#[inline(always)]
pub(crate) fn add<L: Lanes<N>, const N: usize, const S: usize, const P: usize>(
    lanes: L,
    slab: &Slab<N, S>,
    digits: &[[i16; 2]; P],
    sums: &mut [[L::Vector; S]; P],
) {
    let words = lanes.load_all(slab);
    for (sums, &x) in sums.iter_mut().zip(digits) {
        let x = lanes.splat(x);
        for (sum, &words) in sums.iter_mut().zip(&words) {
            *sum = lanes.add_products(*sum, words, x);
        }
    }
}

/// Adds the 32-bit sums of the planes to the 64-bit sums of the rows, the highest plane first
/// (Horner's rule).
#[inline(always)]
pub(crate) fn flush<L: Lanes<N>, const N: usize, const S: usize, const P: usize>(
    lanes: L,
    sums: &[[L::Vector; S]; P],
    out: &mut [u64],
) {
    let words = lanes.store_all(sums);
    for (l, out) in out.iter_mut().enumerate() {
        // The sums are modulo 2^64, so bits that the shifts push out do not count.
        let planes = words
            .iter()
            .rev()
            .map(|words| i64::from(words.as_flattened()[l] as i32));
        let total = planes.fold(0i64, |total, sum| (total << PLANE_BITS).wrapping_add(sum));
        *out = out.wrapping_add(total as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::Plain;
    use super::*;

    #[test]
    fn plain_and_baseline_lanes_agree() {
        let pairs = 2 * FLUSH_PAIRS + 5;
        let number = |i: usize| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let tiles: Vec<i16> = (0..2 * pairs * 2 * ROWS)
            .map(|i| number(i) as i16)
            .collect();
        let planes: Vec<i16> = (0..6 * pairs).map(|i| number(i) as i16 >> 5).collect();
        let mut plain = [7; 2 * ROWS];
        let mut used = [7; 2 * ROWS];
        pass_many_lanes::<_, _, SLAB, 3>(Plain, &tiles, pairs, &[&planes], &mut [&mut plain]);
        pass_many_lanes::<_, _, SLAB, 3>(Baseline, &tiles, pairs, &[&planes], &mut [&mut used]);

        assert_eq!(plain, used);
    }
}
