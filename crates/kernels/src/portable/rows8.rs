//! Database × query for 8-bit bytes: see [`crate::rows8`].

use crate::rows8::{PLANE_BITS, ROWS};

/// Rows that are summed at a time: their sums in all planes fit the registers.
const SLAB: usize = 8;
/// Quads that all slabs of rows take in turn, while they stay in the first-level cache.
const BLOCK_QUADS: usize = 32;

/// Adds every group's rows times the query to `out`.
#[inline(always)]
pub(crate) fn pass(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &mut [u32]) {
    match plane_count {
        1 => pass_planes::<1>(tiles, quads, planes, out),
        2 => pass_planes::<2>(tiles, quads, planes, out),
        3 => pass_planes::<3>(tiles, quads, planes, out),
        _ => pass_planes::<4>(tiles, quads, planes, out),
    }
}

#[inline(always)]
fn pass_planes<const P: usize>(tiles: &[u8], quads: usize, planes: &[i8], out: &mut [u32]) {
    let (digits, _) = planes.as_chunks::<4>();
    let (digits, _) = digits.as_chunks::<P>();
    let (columns, _) = tiles.as_chunks::<4>();
    let (columns, _) = columns.as_chunks::<ROWS>();
    for (tile, out) in columns.chunks_exact(quads).zip(out.chunks_exact_mut(ROWS)) {
        for (tile, digits) in tile.chunks(BLOCK_QUADS).zip(digits.chunks(BLOCK_QUADS)) {
            for (slab, out) in out.chunks_exact_mut(SLAB).enumerate() {
                add_slab(tile, digits, slab * SLAB, out);
            }
        }
    }
}

/// Adds the rows from `first` on of at most [`BLOCK_QUADS`] quads.
#[inline(always)]
fn add_slab<const P: usize>(
    tile: &[[[u8; 4]; ROWS]],
    digits: &[[[i8; 4]; P]],
    first: usize,
    out: &mut [u32],
) {
    let mut sums = [[0i32; SLAB]; P];
    for (cells, digits) in tile.iter().zip(digits) {
        let cells = &cells[first..][..SLAB];
        for (sums, x) in sums.iter_mut().zip(digits) {
            for (sum, cell) in sums.iter_mut().zip(cells) {
                for h in 0..4 {
                    *sum += i32::from(cell[h]) * i32::from(x[h]);
                }
            }
        }
    }
    for (p, sums) in sums.iter().enumerate() {
        for (out, &sum) in out.iter_mut().zip(sums) {
            *out = out.wrapping_add((sum as u32) << (PLANE_BITS * p as u32));
        }
    }
}
