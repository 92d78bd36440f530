//! The matrix D: records → units → whitened words → columns of row groups.

use papir_core::{AlignedBytes, Progress, Records, Result};
use papir_lattice::selection::{matrix, place, write_columns};
use papir_ring::prg::Seed;
use rayon::prelude::*;

use super::layout::Layout;
use super::masks::whiten;

/// Columns that are encoded together; an even number.
const BLOCK_COLUMNS: usize = 64;

/// Encodes all records.
///
/// # Errors
/// Those of the source.
pub fn encode(
    layout: &Layout,
    seed: &Seed,
    records: &dyn Records,
    progress: &dyn Progress,
) -> Result<AlignedBytes> {
    let mut tiles = AlignedBytes::zeroed(layout.matrix_bytes());
    progress.stage("encode", layout.columns as u64);
    for first in (0..layout.columns).step_by(BLOCK_COLUMNS) {
        let count = BLOCK_COLUMNS.min(layout.columns - first);
        let columns = (first..first + count).into_par_iter().map(|i| column(layout, seed, records, i));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        write_columns(tiles.slice_mut(), layout.columns, first, &columns);
        progress.advance(count as u64);
    }
    Ok(tiles)
}

/// The whitened words of a column, padding rows included.
fn column(layout: &Layout, seed: &Seed, records: &dyn Records, index: usize) -> Result<Vec<i16>> {
    let first = index as u64 * layout.blocks as u64;
    let unit_bytes = layout.bundle.unit_bytes;
    let mut bytes = vec![0; layout.blocks * unit_bytes];
    layout.bundle.read(records, first, &mut bytes)?;
    whiten(seed, first, unit_bytes, &mut bytes);
    let mut words: Vec<i16> =
        bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
    words.resize(layout.rows(), 0);
    Ok(words)
}

/// The bytes of a column's units, read back from the matrix.
pub fn read_column(layout: &Layout, seed: &Seed, tiles: &[i16], column: usize) -> Vec<u8> {
    let words = matrix::read_column(tiles, layout.columns, column);
    let words = &words[..layout.blocks * layout.unit_words];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    whiten(seed, (column * layout.blocks) as u64, layout.bundle.unit_bytes, &mut bytes);
    bytes
}

/// The bytes of a unit, read back from the matrix.
pub fn read_unit(layout: &Layout, seed: &Seed, tiles: &[i16], unit: u64) -> Vec<u8> {
    let words = words_of(layout, unit).map(|at| tiles[at].to_le_bytes());
    let mut bytes: Vec<u8> = words.flatten().collect();
    whiten(seed, unit, layout.bundle.unit_bytes, &mut bytes);
    bytes
}

/// Writes the bytes of a unit to its place.
pub fn write_unit(layout: &Layout, seed: &Seed, tiles: &mut [i16], unit: u64, mut bytes: Vec<u8>) {
    whiten(seed, unit, layout.bundle.unit_bytes, &mut bytes);
    for (at, pair) in words_of(layout, unit).zip(bytes.chunks_exact(2)) {
        tiles[at] = i16::from_le_bytes([pair[0], pair[1]]);
    }
}

/// The places of a unit's words.
fn words_of(layout: &Layout, unit: u64) -> impl Iterator<Item = usize> {
    let blocks = layout.blocks as u64;
    let (columns, words) = (layout.columns, layout.unit_words);
    let (column, block) = ((unit / blocks) as usize, (unit % blocks) as usize);
    (block * words..(block + 1) * words).map(move |row| place(columns, row, column))
}
