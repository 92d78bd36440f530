//! Database × query for 16-bit words: see [`crate::rows16`].

use crate::rows16::{FLUSH_PAIRS, PLANE_BITS, ROWS};

/// Rows that are summed at a time: their sums fit the registers.
const SLAB: usize = 16;

/// One pair of columns of a group.
type Columns = [[i16; 2]; ROWS];

/// Adds every group's rows times the query to `out`.
pub(crate) fn pass(tiles: &[i16], pairs: usize, planes: &[i16], plane_count: usize, out: &mut [u64]) {
    let (digits, _) = planes.as_chunks::<2>();
    let (cells, _) = tiles.as_chunks::<2>();
    let (columns, _) = cells.as_chunks::<ROWS>();
    for (tile, out) in columns.chunks_exact(pairs).zip(out.chunks_exact_mut(ROWS)) {
        let digits = digits.chunks(FLUSH_PAIRS * plane_count);
        for (tile, digits) in tile.chunks(FLUSH_PAIRS).zip(digits) {
            for p in 0..plane_count {
                let mut plane = [[0; 2]; FLUSH_PAIRS];
                for (x, digits) in plane.iter_mut().zip(digits.chunks_exact(plane_count)) {
                    *x = digits[p];
                }
                for (slab, out) in out.chunks_exact_mut(SLAB).enumerate() {
                    add_plane(&sum_plane(tile, slab * SLAB, &plane), p, out);
                }
            }
        }
    }
}

/// Sums the rows from `first` on of at most [`FLUSH_PAIRS`] pairs in one plane.
///
/// Products of numbers that LLVM sees to be 16 bits wide become one instruction on
/// x86-64 (`pmaddwd`): hence one plane at a time, shifts, and a function of its own.
#[inline(never)]
fn sum_plane(tile: &[Columns], first: usize, plane: &[[i16; 2]; FLUSH_PAIRS]) -> [i32; SLAB] {
    let mut sums = [0i32; SLAB];
    for (cells, x) in tile.iter().zip(plane) {
        let x = x.map(i32::from);
        let cells = &cells[first..][..SLAB];
        for l in 0..SLAB {
            let cell: i32 = bytemuck::cast(cells[l].map(i16::to_le));
            let cell = i32::from_le(cell);
            sums[l] = sums[l].wrapping_add((cell << 16 >> 16).wrapping_mul(x[0]));
            sums[l] = sums[l].wrapping_add((cell >> 16).wrapping_mul(x[1]));
        }
    }
    sums
}

/// Adds the sums of plane `p` to the rows' sums.
fn add_plane(sums: &[i32; SLAB], p: usize, out: &mut [u64]) {
    for (out, &sum) in out.iter_mut().zip(sums) {
        *out = out.wrapping_add((i64::from(sum) as u64) << (PLANE_BITS * p as u32));
    }
}
