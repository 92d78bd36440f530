//! Checks and blocks of queries for passes over tiles of bytes.

use crate::layout::ROWS;

/// The most planes that a query may have.
pub const MAX_PLANES: usize = 4;

/// Bytes of one quad of columns in a tile.
pub(crate) const QUAD_BYTES: usize = 4 * ROWS;
/// Quads of a tile that all queries use in turn: 8 KiB, which stay in the first-level cache. The
/// first query prefetches the next block while the others use this one.
const BLOCK_QUADS: usize = 32;

/// Panics if the lengths of a pass do not match; `rows` are the sums of a group.
pub(crate) fn check(
    rows: usize,
    tiles: &[u8],
    quads: usize,
    planes: &[i8],
    plane_count: usize,
    out: &[u32],
) {
    assert!(
        (1..=MAX_PLANES).contains(&plane_count),
        "{plane_count} planes: expected 1 to {MAX_PLANES}"
    );

    assert_eq!(out.len() % rows, 0, "sums of whole groups");
    assert_eq!(
        tiles.len(),
        out.len() / rows * quads * QUAD_BYTES,
        "bytes of the tiles"
    );
    assert_eq!(planes.len(), quads * plane_count * 4, "digits of the query");
}

/// Panics if the lengths of a pass for several queries do not match; `rows` are the sums of a
/// group.
pub(crate) fn check_many(
    rows: usize,
    tiles: &[u8],
    quads: usize,
    queries: &[&[i8]],
    plane_count: usize,
    outs: &[&mut [u32]],
) {
    assert_eq!(queries.len(), outs.len(), "one output for each query");
    for (planes, out) in queries.iter().zip(outs) {
        check(rows, tiles, quads, planes, plane_count, out);
    }
}

/// Calls `pass` for each block and query with the block's bytes, its number of quads, the query's
/// digits for it and the sums of its group.
pub(crate) fn pass_blocks(
    rows: usize,
    tiles: &[u8],
    quads: usize,
    queries: &[&[i8]],
    plane_count: usize,
    outs: &mut [&mut [u32]],
    pass: impl Fn(&[u8], usize, &[i8], &mut [u32]),
) {
    for (group, tile) in tiles.chunks_exact(quads * QUAD_BYTES).enumerate() {
        for (block, bytes) in tile.chunks(BLOCK_QUADS * QUAD_BYTES).enumerate() {
            let taken = bytes.len() / QUAD_BYTES;
            let from = 4 * plane_count * BLOCK_QUADS * block;
            // Queries inside, blocks outside: a block is read from memory once for all of them.
            for (planes, out) in queries.iter().zip(outs.iter_mut()) {
                let planes = &planes[from..][..4 * plane_count * taken];
                pass(bytes, taken, planes, &mut out[group * rows..][..rows]);
            }
        }
    }
}
