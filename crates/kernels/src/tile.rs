//! Writing and reading of the tiles of `matvec_i16` and `matvec_u8`.
//!
//! A tile holds 64 rows. `H` neighbouring columns of a row make a *cell*. The cells of the 64 rows
//! come one after another, then the cells of the next `H` columns.

use bytemuck::Pod;

use crate::layout::ROWS;
use crate::portable::baseline::Baseline;
use crate::portable::lanes::FourLanes;

/// Side of the squares of cells that [`gather_rows`] transposes.
const SIDE: usize = 4;
/// Squares of four rows that [`gather_rows`] transposes in a run: with cells of 4 bytes, eight
/// cache lines of each row. Rows a power of two apart compete for the same cache sets, and shorter
/// runs make them evict each other's lines more often.
const RUN: usize = 32;

/// Writes one column of `groups` tiles with `cells` cells per row.
pub(crate) fn scatter_column<T: Copy, const H: usize>(
    tiles: &mut [T],
    groups: usize,
    cells: usize,
    column: usize,
    words: &[T],
) {
    assert_eq!(tiles.len(), groups * cells * ROWS * H, "words of the tiles");
    assert_eq!(words.len(), groups * ROWS, "words of the column");
    assert!(column < cells * H, "column {column} of {}", cells * H);

    let (places, _) = tiles.as_chunks_mut::<H>();
    let groups = places.chunks_exact_mut(cells * ROWS);
    for (group, words) in groups.zip(words.chunks_exact(ROWS)) {
        let group = &mut group[column / H * ROWS..][..ROWS];
        for (cell, &word) in group.iter_mut().zip(words) {
            cell[column % H] = word;
        }
    }
}

/// Writes the `H` columns of cell `k` to `groups` tiles with `cells` cells per row.
pub(crate) fn scatter_columns<T: Copy, const H: usize>(
    tiles: &mut [T],
    groups: usize,
    cells: usize,
    k: usize,
    columns: [&[T]; H],
) {
    assert_eq!(tiles.len(), groups * cells * ROWS * H, "words of the tiles");
    assert!(k < cells, "cell {k} of {cells}");
    for column in columns {
        assert_eq!(column.len(), groups * ROWS, "words of the column");
    }

    // All columns of a cell at once: one at a time would write each cache line H times.
    let (places, _) = tiles.as_chunks_mut::<H>();
    for (group, place) in places.chunks_exact_mut(cells * ROWS).enumerate() {
        let place = &mut place[k * ROWS..][..ROWS];
        let columns = columns.map(|column| &column[group * ROWS..][..ROWS]);
        for (l, cell) in place.iter_mut().enumerate() {
            *cell = std::array::from_fn(|h| columns[h][l]);
        }
    }
}

/// Reads one column of `groups` tiles with `cells` cells per row, as [`scatter_column`] wrote it.
pub(crate) fn gather_column<T: Copy, const H: usize>(
    tiles: &[T],
    groups: usize,
    cells: usize,
    column: usize,
    words: &mut [T],
) {
    assert_eq!(tiles.len(), groups * cells * ROWS * H, "words of the tiles");
    assert_eq!(words.len(), groups * ROWS, "words of the column");
    assert!(column < cells * H, "column {column} of {}", cells * H);

    let (places, _) = tiles.as_chunks::<H>();
    let groups = places.chunks_exact(cells * ROWS);
    for (group, words) in groups.zip(words.chunks_exact_mut(ROWS)) {
        let group = &group[column / H * ROWS..][..ROWS];
        for (cell, word) in group.iter().zip(words) {
            *word = cell[column % H];
        }
    }
}

/// Reads consecutive columns of row `l`, from cell `first` on.
pub(crate) fn gather_row<T: Copy, const H: usize>(
    tile: &[T],
    l: usize,
    first: usize,
    out: &mut [T],
) {
    assert!(l < ROWS, "row {l} of {ROWS}");
    let cells = span::<T, H>(tile, first, out.len());
    let rows = cells.chunks_exact(ROWS);
    for (out, cells) in out.chunks_mut(H).zip(rows) {
        out.copy_from_slice(&cells[l][..out.len()]);
    }
}

/// Reads `columns` consecutive columns of all rows, from cell `first` on, row by row.
///
/// Whole cells are transposed in squares, in runs of [`RUN`] for the same four rows.
pub(crate) fn gather_rows<T: Copy, const H: usize>(
    tile: &[T],
    first: usize,
    columns: usize,
    out: &mut [T],
) where
    [T; H]: Pod,
{
    assert_eq!(out.len(), ROWS * columns, "words of the rows");
    // The chunks below must have at least one word.
    if columns == 0 {
        return;
    }

    let (cells, _) = span::<T, H>(tile, first, columns).as_chunks::<ROWS>();
    let (squares, _) = cells[..columns / H].as_chunks::<SIDE>();
    for (run, squares) in squares.chunks(RUN).enumerate() {
        for (block, rows) in out.chunks_exact_mut(SIDE * columns).enumerate() {
            turn_run(Baseline, squares, block, rows, run * RUN);
        }
    }

    // The cells after the last whole square, of which the last one may have fewer columns.
    for (k, cells) in cells.iter().enumerate().skip(squares.len() * SIDE) {
        for (row, cell) in out.chunks_exact_mut(columns).zip(cells) {
            let row = &mut row[k * H..];
            let taken = row.len().min(H);
            row[..taken].copy_from_slice(&cell[..taken]);
        }
    }
}

/// Transposes the four rows of `block` in each square and writes them to `rows`, square `to` first.
#[inline(always)]
fn turn_run<L: FourLanes, T, const H: usize>(
    lanes: L,
    squares: &[[[[T; H]; ROWS]; SIDE]],
    block: usize,
    rows: &mut [T],
    to: usize,
) where
    [T; H]: Pod,
{
    let columns = rows.len() / SIDE;
    for (square, to) in squares.iter().zip(to..) {
        let turned = turn(
            lanes,
            square
                .each_ref()
                .map(|cells| lanes.load(&cells.as_chunks().0[block])),
        );

        for (row, values) in rows.chunks_exact_mut(columns).zip(turned) {
            let (cells, _) = row.as_chunks_mut::<H>();
            let (squares, _) = cells.as_chunks_mut();
            lanes.store(&mut squares[to], values);
        }
    }
}

/// Transposes a square: the rows from the columns.
#[inline(always)]
fn turn<L: FourLanes>(lanes: L, [a, b, c, d]: [L::Vector; SIDE]) -> [L::Vector; SIDE] {
    let [ac, ac_high] = lanes.zip(a, c);
    let [bd, bd_high] = lanes.zip(b, d);
    let [r0, r1] = lanes.zip(ac, bd);
    let [r2, r3] = lanes.zip(ac_high, bd_high);
    [r0, r1, r2, r3]
}

/// The cells that hold `columns` columns from cell `first` on.
fn span<T, const H: usize>(tile: &[T], first: usize, columns: usize) -> &[[T; H]] {
    assert_eq!(tile.len() % (ROWS * H), 0, "a tile of whole cells");
    let (cells, _) = tile.as_chunks::<H>();
    let total = cells.len() / ROWS;
    // Compared by a difference below, as the sum of both could overflow.
    let wanted = columns.div_ceil(H);
    assert!(
        first <= total && wanted <= total - first,
        "cells {first} and {wanted} more: the tile has {total}"
    );
    &cells[first * ROWS..][..wanted * ROWS]
}
