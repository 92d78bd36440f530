//! Building and reading tiles: the order of words that `rows16` and `rows8` share.
//!
//! A tile holds 64 rows; `H` neighbouring columns of a row lie together (a *cell*),
//! the cells of 64 rows follow one another, then come the next `H` columns.

/// Rows of a group.
const ROWS: usize = 64;
/// Columns of cells that [`gather_rows`] turns at a time: with cells of 4 bytes, four
/// cache lines a row, and a turned block that stays in the first-level cache.
const TURN: usize = 64;

/// Writes one column of `groups` tiles of `cells` cells a row.
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

/// Writes the `H` columns that share cell `k` of `groups` tiles of `cells` cells a row.
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
    let (places, _) = tiles.as_chunks_mut::<H>();
    for (group, place) in places.chunks_exact_mut(cells * ROWS).enumerate() {
        let place = &mut place[k * ROWS..][..ROWS];
        let columns = columns.map(|column| &column[group * ROWS..][..ROWS]);
        for (l, cell) in place.iter_mut().enumerate() {
            *cell = std::array::from_fn(|h| columns[h][l]);
        }
    }
}

/// Reads consecutive columns of row `l`, from cell `first` on.
pub(crate) fn gather_row<T: Copy, const H: usize>(tile: &[T], l: usize, first: usize, out: &mut [T]) {
    assert!(l < ROWS, "row {l} of {ROWS}");
    let cells = span::<T, H>(tile, first, out.len());
    let rows = cells.chunks_exact(ROWS);
    for (out, cells) in out.chunks_mut(H).zip(rows) {
        out.copy_from_slice(&cells[l][..out.len()]);
    }
}

/// Reads `columns` consecutive columns of all rows, from cell `first` on, row by row.
pub(crate) fn gather_rows<T: Copy + Default, const H: usize>(
    tile: &[T],
    first: usize,
    columns: usize,
    out: &mut [T],
) {
    assert_eq!(out.len(), ROWS * columns, "words of the rows");
    if columns == 0 {
        return;
    }
    let cells = span::<T, H>(tile, first, columns);
    for (turn, cells) in cells.chunks(TURN * ROWS).enumerate() {
        let mut turned = [[[T::default(); H]; TURN]; ROWS];
        for (c, cells) in cells.chunks_exact(ROWS).enumerate() {
            for (turned, cell) in turned.iter_mut().zip(cells) {
                turned[c] = *cell;
            }
        }
        let from = turn * TURN * H;
        let taken = (columns - from).min(TURN * H);
        for (row, turned) in out.chunks_exact_mut(columns).zip(&turned) {
            row[from..][..taken].copy_from_slice(&turned.as_flattened()[..taken]);
        }
    }
}

/// The cells that hold `columns` columns from cell `first` on.
fn span<T, const H: usize>(tile: &[T], first: usize, columns: usize) -> &[[T; H]] {
    assert_eq!(tile.len() % (ROWS * H), 0, "a tile of whole cells");
    let (cells, _) = tile.as_chunks::<H>();
    let (total, wanted) = (cells.len() / ROWS, columns.div_ceil(H));
    assert!(
        first <= total && wanted <= total - first,
        "cells {first} and {wanted} more: the tile has {total}"
    );
    &cells[first * ROWS..][..wanted * ROWS]
}
