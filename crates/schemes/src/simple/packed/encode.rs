//! The matrix: records → whitened 16-bit words → columns of row groups, and back.

use papir_core::{AlignedBytes, Progress, Records, Result};
use papir_lattice::selection::{matrix, place};
use papir_ring::prg::Seed;

use super::layout::Layout;
use crate::shared::matrices::{self, encode_columns, words_of};

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
    encode_columns((layout.rows, layout.columns), progress, |column| {
        let mut bytes = vec![0; 2 * layout.rows];
        layout.bundle.read(records, column as u64, &mut bytes)?;
        whiten(seed, column as u32, &mut bytes);
        Ok(words_of(&bytes))
    })
}

/// Reads the bytes of a column back from the matrix.
pub fn read_column(layout: &Layout, seed: &Seed, tiles: &[i16], column: usize) -> Vec<u8> {
    let words = matrix::read_column(tiles, layout.columns, column);
    let mut bytes: Vec<u8> = words.iter().take(layout.rows).flat_map(|word| word.to_le_bytes()).collect();
    whiten(seed, column as u32, &mut bytes);
    bytes
}

/// Writes the bytes of a column to the matrix.
pub fn write_column(layout: &Layout, seed: &Seed, tiles: &mut [i16], column: usize, mut bytes: Vec<u8>) {
    whiten(seed, column as u32, &mut bytes);
    for (row, word) in words_of(&bytes).into_iter().enumerate() {
        tiles[place(layout.columns, row, column)] = word;
    }
}

/// Adds the public stream to the bytes of a column, or removes it. No branch depends on the column.
pub fn whiten(seed: &Seed, column: u32, bytes: &mut [u8]) {
    let position = u64::from(column) * bytes.len() as u64;
    matrices::whiten(seed, "simpleypir/whitening", position, bytes);
}
