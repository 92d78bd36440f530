//! The matrix D: records → units → whitened words → columns of row groups, and back.

use papir_core::{AlignedBytes, Progress, Records, Result};
use papir_lattice::selection::{matrix, place};
use papir_ring::prg::Seed;

use super::layout::Layout;
use super::masks::whiten;
use crate::shared::matrices::{encode_columns, words_of};

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
    progress.stage("encode", layout.columns as u64);
    encode_columns((layout.rows(), layout.columns), progress, |column| {
        let first = (column * layout.blocks) as u64;
        let mut bytes = vec![0; layout.blocks * layout.bundle.unit_bytes];
        layout.bundle.read(records, first, &mut bytes)?;
        whiten(seed, first, layout.bundle.unit_bytes, &mut bytes);
        let mut words = words_of(&bytes);
        words.resize(layout.rows(), 0);
        Ok(words)
    })
}

/// Reads the bytes of a column's units back from the matrix.
pub fn read_column(layout: &Layout, seed: &Seed, tiles: &[i16], column: usize) -> Vec<u8> {
    let words = matrix::read_column(tiles, layout.columns, column);
    let words = &words[..layout.blocks * layout.unit_words];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    whiten(seed, (column * layout.blocks) as u64, layout.bundle.unit_bytes, &mut bytes);
    bytes
}

/// Reads the bytes of a unit back from the matrix.
pub fn read_unit(layout: &Layout, seed: &Seed, tiles: &[i16], unit: u64) -> Vec<u8> {
    let words = places(layout, unit).map(|at| tiles[at].to_le_bytes());
    let mut bytes: Vec<u8> = words.flatten().collect();
    whiten(seed, unit, layout.bundle.unit_bytes, &mut bytes);
    bytes
}

/// Writes the bytes of a unit to the matrix.
pub fn write_unit(layout: &Layout, seed: &Seed, tiles: &mut [i16], unit: u64, mut bytes: Vec<u8>) {
    whiten(seed, unit, layout.bundle.unit_bytes, &mut bytes);
    for (at, pair) in places(layout, unit).zip(bytes.chunks_exact(2)) {
        tiles[at] = i16::from_le_bytes([pair[0], pair[1]]);
    }
}

/// Positions of a unit's words.
fn places(layout: &Layout, unit: u64) -> impl Iterator<Item = usize> {
    let blocks = layout.blocks as u64;
    let (columns, words) = (layout.columns, layout.unit_words);
    let (column, block) = ((unit / blocks) as usize, (unit % blocks) as usize);
    (block * words..(block + 1) * words).map(move |row| place(columns, row, column))
}
