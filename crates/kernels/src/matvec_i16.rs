//! Matrix of 16-bit words × query, with sums modulo 2^64.
//!
//! The matrix is stored in *row groups* of 64 rows. A lane of a register holds a row, so that no
//! sum runs across lanes. One group is one *tile* of `pairs·128` words, read front to back; the
//! word of row `l` (0 to 63) and column `2k + h` is at `(64k + l)·2 + h`.
//!
//! A query value is split into *planes*, balanced digits of 11 bits: the value of a column is
//! `Σ_p 2^(11p)·x_p` with `|x_p| ≤ 2^10`. The digit of column `2k + h` in plane `p` is at
//! `(k·P + p)·2 + h`, where `P` (1 to 5) is the number of planes.
//!
//! Sums wrap modulo 2^64. A sum of words times values modulo 2^b (b ≤ 55) is therefore correct
//! modulo 2^b for any number of columns. It is correct as an integer while it stays below 2^63 in
//! absolute value: for words of 16 bits, in 2^(64 − 15 − b) columns.

use crate::backend::Backend;
pub use crate::layout::ROWS;
pub use crate::portable::matvec_i16::PLANE_BITS;
use crate::portable::matvec_i16::centre;
use crate::tile;

/// The most planes that a query may have.
pub const MAX_PLANES: usize = 5;

/// Words of one pair of columns in a tile.
const PAIR_WORDS: usize = 2 * ROWS;

/// Planes of query values of `bits` bits (1 to 55).
///
/// # Panics
/// If `bits` is outside 1 to 55.
pub const fn planes_for_bits(bits: u32) -> usize {
    assert!(bits >= 1 && bits <= PLANE_BITS * MAX_PLANES as u32);
    bits.div_ceil(PLANE_BITS) as usize
}

/// Splits one value per column into planes and replaces the contents of `out`.
///
/// Values are reduced modulo 2^`bits` and centred first. The planes then satisfy
/// `Σ_p 2^(11p)·x_p ≡ value (mod 2^bits)` with `−2^10 ≤ x_p < 2^10`; the sum equals the centred
/// value if `bits < 11·plane_count`. An odd number of columns is padded with a zero. No branch
/// depends on a value.
///
/// # Panics
/// If `bits` is outside 1 to 55 or needs more than `plane_count` planes, or `plane_count` exceeds
/// [`MAX_PLANES`].
pub fn pack_planes(values: &[u64], bits: u32, plane_count: usize, out: &mut Vec<i16>) {
    assert!(planes_for_bits(bits) <= plane_count && plane_count <= MAX_PLANES);
    out.clear();
    out.reserve(values.len().div_ceil(2) * plane_count * 2);
    for pair in values.chunks(2) {
        let mut even = centre(pair[0], bits);
        // The words of a padding column are multiplied by zero.
        let mut odd = pair.get(1).map_or(0, |&value| centre(value, bits));
        for _ in 0..plane_count {
            out.push(next_digit(&mut even));
            out.push(next_digit(&mut odd));
        }
    }
}

/// Removes and returns the lowest balanced digit of 11 bits.
fn next_digit(rest: &mut i64) -> i16 {
    let digit = centre(*rest as u64, PLANE_BITS);
    // The difference is a multiple of 2^11, so the shift is exact.
    *rest = (*rest - digit) >> PLANE_BITS;
    digit as i16
}

/// Adds the rows of one group times the query to `out`: `out[l] += Σ word·x_p·2^(11p)` over all
/// columns and planes, modulo 2^64.
///
/// # Panics
/// If `tile` is not whole pairs, `planes` does not match it, or `plane_count` is
/// outside 1 to 5.
pub fn accumulate(
    backend: Backend,
    tile: &[i16],
    planes: &[i16],
    plane_count: usize,
    out: &mut [u64; ROWS],
) {
    let pairs = tile.len() / PAIR_WORDS;
    pass(backend, tile, pairs, planes, plane_count, out);
}

/// [`accumulate`] for `out.len() / 64` groups, whose tiles follow one another in `tiles`.
///
/// # Panics
/// If `out` is not whole groups, `tiles` is not `pairs·128` words per group, `planes` is not
/// `pairs·plane_count·2` digits, or `plane_count` is outside 1 to 5.
pub fn pass(
    backend: Backend,
    tiles: &[i16],
    pairs: usize,
    planes: &[i16],
    plane_count: usize,
    out: &mut [u64],
) {
    check(tiles, pairs, planes, plane_count, out);
    if pairs > 0 {
        dispatch!(
            backend,
            matvec_i16::pass(tiles, pairs, planes, plane_count, out)
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
    tiles: &[i16],
    pairs: usize,
    queries: &[&[i16]],
    plane_count: usize,
    outs: &mut [&mut [u64]],
) {
    assert_eq!(queries.len(), outs.len(), "one output for each query");
    for (planes, out) in queries.iter().zip(outs.iter()) {
        check(tiles, pairs, planes, plane_count, out);
    }
    if pairs == 0 {
        return;
    }

    // Returns from here if the backend has tiles and there are several queries.
    several_in_tiles!(
        backend,
        queries,
        words(tiles, pairs, queries, plane_count, outs)
    );

    dispatch!(
        backend,
        matvec_i16::pass_many(tiles, pairs, queries, plane_count, outs)
    );
}

/// Panics if the lengths of a pass do not match.
fn check(tiles: &[i16], pairs: usize, planes: &[i16], plane_count: usize, out: &[u64]) {
    assert!(
        (1..=MAX_PLANES).contains(&plane_count),
        "{plane_count} planes: expected 1 to {MAX_PLANES}"
    );
    assert_eq!(out.len() % ROWS, 0, "sums of whole groups");
    assert_eq!(
        tiles.len(),
        out.len() / ROWS * pairs * PAIR_WORDS,
        "words of the tiles"
    );
    assert_eq!(planes.len(), pairs * plane_count * 2, "digits of the query");
}

/// Writes one column of the matrix, `words[64·g + l]` for row `l` of group `g`.
///
/// # Panics
/// If `tiles` is not `groups·pairs·128` words, `column` is not below `2·pairs`,
/// or `words` is not `64·groups` long.
pub fn scatter_column(
    tiles: &mut [i16],
    groups: usize,
    pairs: usize,
    column: usize,
    words: &[i16],
) {
    tile::scatter_column::<i16, 2>(tiles, groups, pairs, column, words);
}

/// Writes columns `2k` and `2k + 1` of the matrix, `even[64·g + l]` and `odd[64·g + l]`
/// for row `l` of group `g`.
///
/// # Panics
/// If `tiles` is not `groups·pairs·128` words, `k` is not below `pairs`, or
/// `even` or `odd` is not `64·groups` long.
pub fn scatter_pair(
    tiles: &mut [i16],
    groups: usize,
    pairs: usize,
    k: usize,
    even: &[i16],
    odd: &[i16],
) {
    tile::scatter_columns(tiles, groups, pairs, k, [even, odd]);
}

/// Reads one column of the matrix, as [`scatter_column`] wrote it.
///
/// # Panics
/// Same as [`scatter_column`].
pub fn gather_column(tiles: &[i16], groups: usize, pairs: usize, column: usize, words: &mut [i16]) {
    tile::gather_column::<i16, 2>(tiles, groups, pairs, column, words);
}

/// Reads `out.len()` consecutive columns of row `l` of one group, from column
/// `2·first_pair` on.
///
/// # Panics
/// If `tile` is not whole pairs, `l` is not below 64, or the columns end outside
/// the tile.
pub fn gather_row_block(tile: &[i16], l: usize, first_pair: usize, out: &mut [i16]) {
    tile::gather_row::<i16, 2>(tile, l, first_pair, out);
}

/// Reads `columns` consecutive columns of all 64 rows of one group, from column
/// `2·first_pair` on, row by row: `out[l·columns + c]`.
///
/// # Panics
/// If `tile` is not whole pairs, the columns end outside the tile, or `out` is
/// not `64·columns` long.
pub fn gather_rows(tile: &[i16], first_pair: usize, columns: usize, out: &mut [i16]) {
    tile::gather_rows::<i16, 2>(tile, first_pair, columns, out);
}
