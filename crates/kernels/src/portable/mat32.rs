//! 32-bit matrix × two vectors: see [`crate::mat32`].

use crate::layout::ROWS;

/// Rows that are summed at a time: their sums fit the registers.
const SLAB: usize = 8;
/// Columns of a block, which stays in the first-level cache while all slabs of rows use it.
const BLOCK_COLUMNS: usize = 32;

/// Adds the rows of every group times the vectors to `outs`.
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
///
/// Unsigned products are cheaper on many CPUs. With `v' = v + 2^31` and `y' = y + 2^31`,
/// `Σ v·y = Σ v'·y' − 2^31·Σ v' − 2^31·Σ y`, modulo 2^64.
#[inline(never)]
fn add_slab(tile: &[[i32; ROWS]], ys: [&[i32]; 2], first: usize, outs: [&mut [i64]; 2]) {
    let mut sums = [[0u64; SLAB]; 2];
    let mut rows = [0u64; SLAB];
    let mut y_sums = [0i64; 2];

    for ((values, &y0), &y1) in tile.iter().zip(ys[0]).zip(ys[1]) {
        let values: [u64; SLAB] = std::array::from_fn(|l| raise(values[first + l]));
        for (row, value) in rows.iter_mut().zip(values) {
            *row = row.wrapping_add(value);
        }
        for ((sums, y_sum), y) in sums.iter_mut().zip(&mut y_sums).zip([y0, y1]) {
            *y_sum = y_sum.wrapping_add(i64::from(y));
            for (sum, value) in sums.iter_mut().zip(values) {
                // Both factors are below 2^32, so the product fits. The sums wrap.
                *sum = sum.wrapping_add(value * raise(y));
            }
        }
    }

    for ((out, sums), y_sum) in outs.into_iter().zip(sums).zip(y_sums) {
        for ((out, sum), row) in out.iter_mut().zip(sums).zip(rows) {
            let raised = row.wrapping_add(y_sum as u64) << 31;
            *out = out.wrapping_add(sum.wrapping_sub(raised) as i64);
        }
    }
}

/// A number plus 2^31, as an unsigned number.
#[inline(always)]
fn raise(value: i32) -> u64 {
    // Modulo 2^32, adding 2^31 flips the top bit.
    u64::from(value as u32 ^ 1 << 31)
}
