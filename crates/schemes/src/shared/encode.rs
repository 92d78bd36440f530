//! Columns of 16-bit words: encoded in blocks, whitened by a public stream.

use papir_core::{AlignedBytes, Progress, Result};
use papir_lattice::selection::{matrix_words, write_columns};
use papir_ring::prg::Seed;
use rayon::prelude::*;
use zeroize::Zeroizing;

/// Columns that are encoded together: their words stay in the cache until they are scattered. Even,
/// so that pairs of columns are written whole.
pub(crate) const BLOCK_COLUMNS: usize = 64;

/// Returns the matrix of columns that `column` gives, each of at least `rows` words.
///
/// # Errors
/// Those of `column`.
pub(crate) fn encode_columns(
    (rows, columns): (usize, usize),
    progress: &dyn Progress,
    column: impl Fn(usize) -> Result<Vec<i16>> + Sync,
) -> Result<AlignedBytes> {
    let mut tiles = AlignedBytes::zeroed(2 * matrix_words(rows, columns));
    for first in (0..columns).step_by(BLOCK_COLUMNS) {
        let block = first..columns.min(first + BLOCK_COLUMNS);
        let words = block.into_par_iter().map(&column).collect::<Result<Vec<_>>>()?;
        write_columns(tiles.slice_mut(), columns, first, &words);
        progress.advance(words.len() as u64);
    }
    Ok(tiles)
}

/// Adds the public stream to bytes at a position, or removes it.
///
/// On the client the part of the stream tells which record was asked for, so it is erased.
pub(crate) fn whiten(seed: &Seed, label: &str, position: u64, bytes: &mut [u8]) {
    let mut stream = seed.expand(label, 0);
    stream.seek(position);
    let mut mask = Zeroizing::new(vec![0; bytes.len()]);
    stream.fill(&mut mask);
    bytes.iter_mut().zip(mask.iter()).for_each(|(byte, mask)| *byte ^= mask);
}

/// Little-endian words of bytes.
pub(crate) fn words_of(bytes: &[u8]) -> Vec<i16> {
    bytes.as_chunks().0.iter().map(|pair| i16::from_le_bytes(*pair)).collect()
}
