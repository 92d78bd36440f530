//! Matrix of 4-bit words × query, with sums modulo 2^32.
//!
//! The matrix is stored as bytes of two words, in the tiles of [`crate::matvec_u8`]: the byte of
//! row `l` in a group holds the word of row `l` in its low half and the word of row `64 + l` in its
//! high half. So a group has 128 rows of words from 0 to 15, and one read of the bytes multiplies
//! both halves. Queries are split into the planes of [`crate::matvec_u8`].

use crate::backend::Backend;
use crate::byte_tiles::{check, check_many, pass_blocks};
use crate::layout;

/// Rows of words in a group.
pub const ROWS: usize = 2 * layout::ROWS;

/// Adds the rows of all groups times the query to `out`: `out[l] += Σ word·x_p·2^(8p)` over all
/// columns and planes, modulo 2^32, for `out.len() / 128` groups, whose tiles follow one another.
///
/// # Panics
/// If `out` is not whole groups, `tiles` is not `quads·256` bytes per group, `planes` is not
/// `quads·plane_count·4` digits, or `plane_count` is outside 1 to 4.
pub fn pass(
    backend: Backend,
    tiles: &[u8],
    quads: usize,
    planes: &[i8],
    plane_count: usize,
    out: &mut [u32],
) {
    check(ROWS, tiles, quads, planes, plane_count, out);
    if quads > 0 {
        dispatch!(
            backend,
            matvec_u4::pass(tiles, quads, planes, plane_count, out)
        );
    }
}

/// [`pass`] for several queries that share one read of the tiles; `outs[i]` belongs to
/// `queries[i]`.
///
/// # Panics
/// Same as [`pass`], or if `queries` and `outs` differ in length.
pub fn pass_many(
    backend: Backend,
    tiles: &[u8],
    quads: usize,
    queries: &[&[i8]],
    plane_count: usize,
    outs: &mut [&mut [u32]],
) {
    check_many(ROWS, tiles, quads, queries, plane_count, outs);
    if quads == 0 {
        return;
    }

    // Returns from here if the backend has tiles and there are several queries.
    several_in_tiles!(
        backend,
        queries,
        nibbles(tiles, quads, queries, plane_count, outs)
    );

    pass_blocks(
        ROWS,
        tiles,
        quads,
        queries,
        plane_count,
        outs,
        |bytes, quads, planes, sums| {
            dispatch!(
                backend,
                matvec_u4::pass(bytes, quads, planes, plane_count, sums)
            );
        },
    );
}
