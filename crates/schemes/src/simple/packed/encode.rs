//! The matrix: records → whitened 16-bit words → columns of row groups, and back.

use papir_core::{AlignedBytes, Progress, Records, Result};
use papir_lattice::selection::{matrix, matrix_words, place, write_columns};
use papir_ring::prg::Seed;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::layout::Layout;

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
    let mut tiles = AlignedBytes::zeroed(2 * matrix_words(layout.rows, layout.columns));
    progress.stage("encode", layout.columns as u64);
    for first in (0..layout.columns).step_by(BLOCK_COLUMNS) {
        let count = BLOCK_COLUMNS.min(layout.columns - first);
        let columns = (first..first + count).into_par_iter().map(|index| {
            let mut bytes = vec![0; 2 * layout.rows];
            layout.bundle.read(records, index as u64, &mut bytes)?;
            Ok(words(seed, index as u32, bytes))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        write_columns(tiles.slice_mut(), layout.columns, first, &columns);
        progress.advance(count as u64);
    }
    Ok(tiles)
}

/// The bytes of a column, read back from the matrix.
pub fn read_column(layout: &Layout, seed: &Seed, tiles: &[i16], column: u32) -> Vec<u8> {
    let words = matrix::read_column(tiles, layout.columns, column as usize);
    let mut bytes: Vec<u8> = words.iter().take(layout.rows).flat_map(|word| word.to_le_bytes()).collect();
    whiten(seed, column, &mut bytes);
    bytes
}

/// Writes the bytes of a column to their places.
pub fn write_column(layout: &Layout, seed: &Seed, tiles: &mut [i16], column: u32, bytes: Vec<u8>) {
    for (row, word) in words(seed, column, bytes).into_iter().enumerate() {
        tiles[place(layout.columns, row, column as usize)] = word;
    }
}

/// The whitened words of a column.
fn words(seed: &Seed, column: u32, mut bytes: Vec<u8>) -> Vec<i16> {
    whiten(seed, column, &mut bytes);
    bytes.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect()
}

/// Adds the public stream to the bytes of a column, or takes it off. No branch depends on the column.
pub fn whiten(seed: &Seed, column: u32, bytes: &mut [u8]) {
    let mut stream = seed.expand("simpleypir/whitening", 0);
    stream.seek(u64::from(column) * bytes.len() as u64);
    // On the client which part of the stream it is tells which column was asked for.
    let mut mask = Zeroizing::new(vec![0; bytes.len()]);
    stream.fill(&mut mask);
    bytes.iter_mut().zip(mask.iter()).for_each(|(byte, mask)| *byte ^= mask);
}
