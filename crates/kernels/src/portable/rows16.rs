//! Database × query for 16-bit words: see [`crate::rows16`].

use crate::rows16::{FLUSH_PAIRS, PLANE_BITS, ROWS};

/// Rows that are summed at a time: their sums in all planes fit the registers.
const SLAB: usize = 8;

/// Adds every group's rows times the query to `out`.
#[inline(always)]
pub(crate) fn pass(tiles: &[i16], pairs: usize, planes: &[i16], plane_count: usize, out: &mut [u64]) {
    match plane_count {
        1 => pass_planes::<1>(tiles, pairs, planes, out),
        2 => pass_planes::<2>(tiles, pairs, planes, out),
        3 => pass_planes::<3>(tiles, pairs, planes, out),
        _ => pass_planes::<4>(tiles, pairs, planes, out),
    }
}

#[inline(always)]
fn pass_planes<const P: usize>(tiles: &[i16], pairs: usize, planes: &[i16], out: &mut [u64]) {
    let (digits, _) = planes.as_chunks::<2>();
    let (digits, _) = digits.as_chunks::<P>();
    let (columns, _) = tiles.as_chunks::<2>();
    let (columns, _) = columns.as_chunks::<ROWS>();
    for (tile, out) in columns.chunks_exact(pairs).zip(out.chunks_exact_mut(ROWS)) {
        for (tile, digits) in tile.chunks(FLUSH_PAIRS).zip(digits.chunks(FLUSH_PAIRS)) {
            for (slab, out) in out.chunks_exact_mut(SLAB).enumerate() {
                add_slab(tile, digits, slab * SLAB, out);
            }
        }
    }
}

/// Adds the rows from `first` on of at most [`FLUSH_PAIRS`] pairs.
#[inline(always)]
fn add_slab<const P: usize>(
    tile: &[[[i16; 2]; ROWS]],
    digits: &[[[i16; 2]; P]],
    first: usize,
    out: &mut [u64],
) {
    let mut sums = [[0i32; SLAB]; P];
    for (cells, digits) in tile.iter().zip(digits) {
        let cells = &cells[first..][..SLAB];
        for (sums, x) in sums.iter_mut().zip(digits) {
            for (sum, cell) in sums.iter_mut().zip(cells) {
                *sum += i32::from(cell[0]) * i32::from(x[0]) + i32::from(cell[1]) * i32::from(x[1]);
            }
        }
    }
    for (p, sums) in sums.iter().enumerate() {
        for (out, &sum) in out.iter_mut().zip(sums) {
            *out = out.wrapping_add((i64::from(sum) as u64) << (PLANE_BITS * p as u32));
        }
    }
}
