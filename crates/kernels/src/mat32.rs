//! 32-bit matrix × two residue vectors, with 64-bit sums.
//!
//! The matrix is stored in *row groups* of 64 rows. One group is one *tile* of `cols·64` values;
//! the value of row `l` (0 to 63) and column `c` is at `64c + l`. One read of the tile serves both
//! vectors. Sums wrap modulo 2^64 in all builds; callers that need exact sums must bound them.

use crate::backend::Backend;
pub use crate::layout::ROWS;

/// Columns of a tile that all pairs of vectors use in turn: 8 KiB, which stay in the first-level
/// cache. The first pair prefetches the next block while the others use this one.
const BLOCK_COLUMNS: usize = 32;

/// Adds the rows of one group times `y0` to `out0` and times `y1` to `out1`:
/// `out[l] += Σ_c value·y[c]`.
///
/// # Panics
/// If `tile` is not `64·y0.len()` values, or `y1` differs from `y0` in length.
pub fn accumulate(
    backend: Backend,
    tile: &[i32],
    y0: &[i32],
    y1: &[i32],
    out0: &mut [i64; ROWS],
    out1: &mut [i64; ROWS],
) {
    pass(backend, tile, y0.len(), y0, y1, out0, out1);
}

/// [`accumulate`] for `out0.len() / 64` groups, whose tiles follow one another in `tiles`.
///
/// # Panics
/// If the outputs are not whole groups of one length, `tiles` is not `cols·64` values per group, or
/// a vector is not `cols` long.
pub fn pass(
    backend: Backend,
    tiles: &[i32],
    cols: usize,
    y0: &[i32],
    y1: &[i32],
    out0: &mut [i64],
    out1: &mut [i64],
) {
    check(tiles, cols, [y0, y1], [out0, out1]);
    if cols > 0 {
        dispatch!(backend, mat32::pass(tiles, cols, [y0, y1], [out0, out1]));
    }
}

/// [`pass`] for several pairs of vectors that share one read of the tiles; `outs[i]` belongs to
/// `ys[i]`.
///
/// # Panics
/// Same as [`pass`], or if `ys` and `outs` differ in length.
pub fn pass_many(
    backend: Backend,
    tiles: &[i32],
    cols: usize,
    ys: &[[&[i32]; 2]],
    outs: &mut [[&mut [i64]; 2]],
) {
    assert_eq!(ys.len(), outs.len(), "one pair of outputs for each pair");
    for (ys, [out0, out1]) in ys.iter().zip(outs.iter()) {
        check(tiles, cols, *ys, [out0, out1]);
    }
    if cols == 0 {
        return;
    }

    for (group, tile) in tiles.chunks_exact(cols * ROWS).enumerate() {
        for (block, values) in tile.chunks(BLOCK_COLUMNS * ROWS).enumerate() {
            let taken = values.len() / ROWS;
            // Pairs inside, blocks outside: memory is read once, and further pairs read the cache.
            for (ys, outs) in ys.iter().zip(outs.iter_mut()) {
                let ys = ys.map(|y| &y[block * BLOCK_COLUMNS..][..taken]);
                let sums = outs.each_mut().map(|out| &mut out[group * ROWS..][..ROWS]);
                dispatch!(backend, mat32::pass(values, taken, ys, sums));
            }
        }
    }
}

/// Panics if the lengths of a pass do not match.
fn check(tiles: &[i32], cols: usize, ys: [&[i32]; 2], outs: [&[i64]; 2]) {
    assert_eq!(outs[0].len() % ROWS, 0, "sums of whole groups");
    assert_eq!(outs[0].len(), outs[1].len(), "sums of both vectors");
    assert_eq!(tiles.len(), outs[0].len() * cols, "values of the tiles");
    for y in ys {
        assert_eq!(y.len(), cols, "values of the vector");
    }
}
