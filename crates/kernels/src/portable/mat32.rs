//! 32-bit matrix × two vectors: see [`crate::mat32`].

use crate::mat32::ROWS;

/// Rows that are summed at a time: their sums fit the registers.
const SLAB: usize = 8;
/// Columns that all slabs of rows take in turn, while they stay in the first-level cache.
const BLOCK_COLUMNS: usize = 32;

/// Adds every group's rows times the vectors to `outs`.
#[inline(always)]
pub(crate) fn pass(tiles: &[i32], cols: usize, ys: [&[i32]; 2], outs: [&mut [i64]; 2]) {
    let [out0, out1] = outs;
    let (columns, _) = tiles.as_chunks::<ROWS>();
    let outs = out0.chunks_exact_mut(ROWS).zip(out1.chunks_exact_mut(ROWS));
    for (tile, (out0, out1)) in columns.chunks_exact(cols).zip(outs) {
        for (block, tile) in tile.chunks(BLOCK_COLUMNS).enumerate() {
            let ys = ys.map(|y| &y[block * BLOCK_COLUMNS..][..tile.len()]);
            let outs = out0.chunks_exact_mut(SLAB).zip(out1.chunks_exact_mut(SLAB));
            for (slab, (out0, out1)) in outs.enumerate() {
                add_slab(tile, ys, slab * SLAB, [out0, out1]);
            }
        }
    }
}

/// Adds the rows from `first` on.
#[inline(always)]
fn add_slab(tile: &[[i32; ROWS]], ys: [&[i32]; 2], first: usize, outs: [&mut [i64]; 2]) {
    let mut sums = [[0i64; SLAB]; 2];
    for ((values, &y0), &y1) in tile.iter().zip(ys[0]).zip(ys[1]) {
        let values = &values[first..][..SLAB];
        for (sums, y) in sums.iter_mut().zip([y0, y1]) {
            for (sum, &value) in sums.iter_mut().zip(values) {
                *sum = sum.wrapping_add(i64::from(value) * i64::from(y));
            }
        }
    }
    for (out, sums) in outs.into_iter().zip(sums) {
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = out.wrapping_add(sum);
        }
    }
}
