//! Database × query for 16-bit words: see [`crate::rows16`].

use super::lanes::{Sums, Words};
use crate::rows16::{FLUSH_PAIRS, PLANE_BITS, ROWS};

/// Lanes whose sums, in four planes, fit the registers.
const LANES: usize = 2;
/// Rows of that many lanes.
const SLAB: usize = 4 * LANES;

/// Adds every group's rows times the query to `out`.
pub(crate) fn pass(tiles: &[i16], pairs: usize, planes: &[i16], plane_count: usize, out: &mut [u64]) {
    match plane_count {
        1 => pass_planes::<1>(tiles, pairs, planes, out),
        2 => pass_planes::<2>(tiles, pairs, planes, out),
        3 => pass_planes::<3>(tiles, pairs, planes, out),
        _ => pass_planes::<4>(tiles, pairs, planes, out),
    }
}

fn pass_planes<const P: usize>(tiles: &[i16], pairs: usize, planes: &[i16], out: &mut [u64]) {
    let (digits, _) = planes.as_chunks::<2>();
    let (digits, _) = digits.as_chunks::<P>();
    let (cells, _) = tiles.as_chunks::<2>();
    let (columns, _) = cells.as_chunks::<ROWS>();
    for (tile, out) in columns.chunks_exact(pairs).zip(out.chunks_exact_mut(ROWS)) {
        for (tile, digits) in tile.chunks(FLUSH_PAIRS).zip(digits.chunks(FLUSH_PAIRS)) {
            for (slab, out) in out.chunks_exact_mut(SLAB).enumerate() {
                flush(&sum(tile, slab * SLAB, digits), out);
            }
        }
    }
}

/// Sums the rows from `first` on of at most [`FLUSH_PAIRS`] pairs of columns, by plane.
fn sum<const P: usize>(
    tile: &[[[i16; 2]; ROWS]],
    first: usize,
    digits: &[[[i16; 2]; P]],
) -> [[Sums; LANES]; P] {
    let mut sums = [[Sums::default(); LANES]; P];
    for (cells, digits) in tile.iter().zip(digits) {
        let (cells, _) = cells[first..][..SLAB].as_chunks::<4>();
        for (sums, &x) in sums.iter_mut().zip(digits) {
            let x = Words::new([x; 4]);
            for (sum, &cells) in sums.iter_mut().zip(cells) {
                sum.add_products(Words::new(cells), x);
            }
        }
    }
    sums
}

/// Adds the planes' 32-bit sums to the rows' 64-bit sums.
fn flush<const P: usize>(sums: &[[Sums; LANES]; P], out: &mut [u64]) {
    for (p, sums) in sums.iter().enumerate() {
        let sums = sums.iter().flat_map(|sum| sum.get());
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = out.wrapping_add((i64::from(sum) as u64) << (PLANE_BITS * p as u32));
        }
    }
}
