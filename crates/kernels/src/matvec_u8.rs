//! Matrix of 8-bit words × query, with sums modulo 2^32.
//!
//! The matrix is stored in *row groups* of 64 rows, as in [`crate::matvec_i16`], with *quads* of
//! columns. One group is one *tile* of `quads·256` bytes; the byte of row `l` (0 to 63) and column
//! `4k + h` is at `(64k + l)·4 + h`.
//!
//! A query value modulo 2^32 is split into *planes*, balanced digits of 8 bits:
//! `value ≡ Σ_p 2^(8p)·x_p` with `−128 ≤ x_p ≤ 127`. The digit of column `4k + h` in plane `p` is
//! at `(k·P + p)·4 + h`, where `P` (1 to 4) is the number of planes.
//!
//! Sums and results wrap modulo 2^32, so unlike in `matvec_i16` no sum has to be flushed before it
//! overflows, whatever the number of columns.

use crate::backend::Backend;
pub use crate::byte_tiles::MAX_PLANES;
use crate::byte_tiles::{QUAD_BYTES, check, check_many, pass_blocks};
pub use crate::layout::ROWS;
pub use crate::portable::matvec_u8::PLANE_BITS;
use crate::tile;

/// Planes of query values of `bits` bits (1 to 32).
///
/// # Panics
/// If `bits` is outside 1 to 32.
pub const fn planes_for_bits(bits: u32) -> usize {
    assert!(bits >= 1 && bits <= PLANE_BITS * MAX_PLANES as u32);
    bits.div_ceil(PLANE_BITS) as usize
}

/// Splits one value per column into planes and replaces the contents of `out`.
///
/// Values are reduced modulo 2^`bits` and centred first. The planes then satisfy
/// `Σ_p 2^(8p)·x_p ≡ value (mod 2^bits)`; the sum equals the centred value if
/// `bits < 8·plane_count`. The columns are padded to whole quads with zeros. No branch depends on a
/// value.
///
/// # Panics
/// If `bits` is outside 1 to 32 or needs more than `plane_count` planes, or `plane_count` exceeds
/// [`MAX_PLANES`].
pub fn pack_planes(values: &[u32], bits: u32, plane_count: usize, out: &mut Vec<i8>) {
    assert!(planes_for_bits(bits) <= plane_count && plane_count <= MAX_PLANES);
    out.clear();
    out.reserve(values.len().div_ceil(4) * plane_count * 4);
    for quad in values.chunks(4) {
        let mut rest: [i64; 4] =
            std::array::from_fn(|h| quad.get(h).map_or(0, |&value| centre(value, bits)));
        for _ in 0..plane_count {
            out.extend(rest.each_mut().map(next_digit));
        }
    }
}

/// The representative in `[−2^(bits−1), 2^(bits−1))` of a value modulo 2^`bits`.
fn centre(value: u32, bits: u32) -> i64 {
    i64::from((value << (32 - bits)) as i32 >> (32 - bits))
}

/// Removes and returns the lowest balanced digit of 8 bits.
fn next_digit(rest: &mut i64) -> i8 {
    let digit = *rest as i8;
    // The difference is a multiple of 2^8, so the shift is exact.
    *rest = (*rest - i64::from(digit)) >> PLANE_BITS;
    digit
}

/// Adds the rows of one group times the query to `out`: `out[l] += Σ byte·x_p·2^(8p)` over all
/// columns and planes, modulo 2^32.
///
/// # Panics
/// If `tile` is not whole quads, `planes` does not match it, or `plane_count` is
/// outside 1 to 4.
pub fn accumulate(
    backend: Backend,
    tile: &[u8],
    planes: &[i8],
    plane_count: usize,
    out: &mut [u32; ROWS],
) {
    let quads = tile.len() / QUAD_BYTES;
    pass(backend, tile, quads, planes, plane_count, out);
}

/// [`accumulate`] for `out.len() / 64` groups, whose tiles follow one another in `tiles`.
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
            matvec_u8::pass(tiles, quads, planes, plane_count, out)
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
        bytes(tiles, quads, queries, plane_count, outs)
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
                matvec_u8::pass(bytes, quads, planes, plane_count, sums)
            );
        },
    );
}

/// Writes one column of the matrix, `bytes[64·g + l]` for row `l` of group `g`.
///
/// # Panics
/// If `tiles` is not `groups·quads·256` bytes, `column` is not below `4·quads`,
/// or `bytes` is not `64·groups` long.
pub fn scatter_column(tiles: &mut [u8], groups: usize, quads: usize, column: usize, bytes: &[u8]) {
    tile::scatter_column::<u8, 4>(tiles, groups, quads, column, bytes);
}

/// Writes columns `4k` to `4k + 3` of the matrix, `columns[h][64·g + l]` for row `l` of
/// group `g`.
///
/// # Panics
/// If `tiles` is not `groups·quads·256` bytes, `k` is not below `quads`, or a
/// column is not `64·groups` long.
pub fn scatter_quad(tiles: &mut [u8], groups: usize, quads: usize, k: usize, columns: [&[u8]; 4]) {
    tile::scatter_columns(tiles, groups, quads, k, columns);
}

/// Reads one column of the matrix, as [`scatter_column`] wrote it.
///
/// # Panics
/// Same as [`scatter_column`].
pub fn gather_column(tiles: &[u8], groups: usize, quads: usize, column: usize, bytes: &mut [u8]) {
    tile::gather_column::<u8, 4>(tiles, groups, quads, column, bytes);
}

/// Reads `out.len()` consecutive columns of row `l` of one group, from column
/// `4·first_quad` on.
///
/// # Panics
/// If `tile` is not whole quads, `l` is not below 64, or the columns end outside
/// the tile.
pub fn gather_row_block(tile: &[u8], l: usize, first_quad: usize, out: &mut [u8]) {
    tile::gather_row::<u8, 4>(tile, l, first_quad, out);
}

/// Reads `columns` consecutive columns of all 64 rows of one group, from column
/// `4·first_quad` on, row by row: `out[l·columns + c]`.
///
/// # Panics
/// If `tile` is not whole quads, the columns end outside the tile, or `out` is
/// not `64·columns` long.
pub fn gather_rows(tile: &[u8], first_quad: usize, columns: usize, out: &mut [u8]) {
    tile::gather_rows::<u8, 4>(tile, first_quad, columns, out);
}
