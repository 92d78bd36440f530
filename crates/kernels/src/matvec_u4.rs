//! Matrix of 4-bit words × query, with sums modulo 2^32.
//!
//! The matrix is stored as bytes of two words, in the tiles of [`crate::matvec_u8`]: the byte of row
//! `l` in a group holds the word of row `l` in its low half and that of row `64 + l` in its high
//! half. So a group has 128 rows of words from 0 to 15, and one read of the bytes multiplies both
//! halves. Queries are split into the planes of [`crate::matvec_u8`].

use crate::backend::Backend;
use crate::layout;
use crate::matvec_u8::MAX_PLANES;

/// Rows of words in a group.
pub const ROWS: usize = 2 * layout::ROWS;

/// Bytes of one quad of columns in a tile.
const QUAD_BYTES: usize = 4 * layout::ROWS;
/// Quads of a tile that all queries use in turn: 8 KiB, which stay in the first-level cache.
const BLOCK_QUADS: usize = 32;

/// Adds the rows of all groups times the query to `out`: `out[l] += Σ word·x_p·2^(8p)` over all
/// columns and planes, modulo 2^32, for `out.len() / 128` groups, whose tiles follow one another.
///
/// # Panics
/// If `out` is not whole groups, `tiles` is not `quads·256` bytes per group, `planes` is not
/// `quads·plane_count·4` digits, or `plane_count` is outside 1 to 4.
pub fn pass(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &mut [u32]) {
    pass_with(Backend::current(), tiles, quads, planes, plane_count, out);
}

/// [`pass`] on the given backend.
pub fn pass_with(
    backend: Backend,
    tiles: &[u8],
    quads: usize,
    planes: &[i8],
    plane_count: usize,
    out: &mut [u32],
) {
    check(tiles, quads, planes, plane_count, out);
    if quads > 0 {
        dispatch!(backend, matvec_u4::pass(tiles, quads, planes, plane_count, out));
    }
}

/// [`pass`] for several queries that share one read of the tiles; `outs[i]` belongs to
/// `queries[i]`.
///
/// # Panics
/// Same as [`pass`], or if `queries` and `outs` differ in length.
pub fn pass_many(tiles: &[u8], quads: usize, queries: &[&[i8]], plane_count: usize, outs: &mut [&mut [u32]]) {
    pass_many_with(Backend::current(), tiles, quads, queries, plane_count, outs);
}

/// [`pass_many`] on the given backend.
pub fn pass_many_with(
    backend: Backend,
    tiles: &[u8],
    quads: usize,
    queries: &[&[i8]],
    plane_count: usize,
    outs: &mut [&mut [u32]],
) {
    assert_eq!(queries.len(), outs.len(), "one output for each query");
    for (planes, out) in queries.iter().zip(outs.iter()) {
        check(tiles, quads, planes, plane_count, out);
    }
    if quads == 0 {
        return;
    }
    for (group, tile) in tiles.chunks_exact(quads * QUAD_BYTES).enumerate() {
        for (block, bytes) in tile.chunks(BLOCK_QUADS * QUAD_BYTES).enumerate() {
            let taken = bytes.len() / QUAD_BYTES;
            let from = 4 * plane_count * BLOCK_QUADS * block;
            for (planes, out) in queries.iter().zip(outs.iter_mut()) {
                let planes = &planes[from..][..4 * plane_count * taken];
                let sums = &mut out[group * ROWS..][..ROWS];
                dispatch!(backend, matvec_u4::pass(bytes, taken, planes, plane_count, sums));
            }
        }
    }
}

/// Panics if the lengths of a pass do not match.
fn check(tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize, out: &[u32]) {
    assert!((1..=MAX_PLANES).contains(&plane_count), "{plane_count} planes: expected 1 to {MAX_PLANES}");
    assert_eq!(out.len() % ROWS, 0, "sums of whole groups");
    assert_eq!(tiles.len(), out.len() / ROWS * quads * QUAD_BYTES, "bytes of the tiles");
    assert_eq!(planes.len(), quads * plane_count * 4, "digits of the query");
}
