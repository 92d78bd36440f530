//! ENCODEDB (Algorithm 7): records → whitened words → polynomial coefficients → row groups of
//! centred 16-bit words.

use papir_core::{Progress, Records, Result};
use papir_kernels::matvec_i16;
use papir_kernels::pointwise::Modulus;
use papir_lattice::selection::write_columns;
use papir_ring::prg::{Expander, Seed};
use rayon::prelude::*;

use super::layout::{Layout, PLAINTEXT};
use super::masks::whitening;
use crate::shared::matrices::BLOCK_COLUMNS;

/// The centred value that does not fit 16 bits: +32768, stored as −32768.
const EXCEPTION: i32 = 1 << 15;

/// Encodes all records as the matrix D′, in the row groups of [`matvec_i16`]. Returns the
/// exceptions: the sorted (row, column) of coefficients +32768, which are stored as −32768.
///
/// # Errors
/// Those of the source.
pub fn encode(
    layout: &Layout,
    seed: &Seed,
    records: &dyn Records,
    tiles: &mut [i16],
    progress: &dyn Progress,
) -> Result<Vec<[u32; 2]>> {
    let mut exceptions = Vec::new();
    progress.stage("encode", layout.columns as u64);
    for first in (0..layout.columns).step_by(BLOCK_COLUMNS) {
        let count = BLOCK_COLUMNS.min(layout.columns - first);
        let columns: Result<Vec<Column>> = (first..first + count)
            .into_par_iter()
            .map(|i| Ok(Column::encode(layout, seed, i, &read_column(layout, records, i)?)))
            .collect();
        let (words, listed): (Vec<_>, Vec<_>) =
            columns?.into_iter().map(|column| (column.words, column.exceptions)).unzip();
        write_columns(tiles, layout.columns, first, &words);
        exceptions.extend(listed.into_iter().flatten());
        progress.advance(count as u64);
    }
    exceptions.sort_unstable();
    Ok(exceptions)
}

/// One encoded column: all rows, and its exceptions.
pub struct Column {
    /// Index of the column.
    pub index: usize,
    /// The words of all rows.
    pub words: Vec<i16>,
    /// Exceptions of this column, as [`encode`] returns them.
    pub exceptions: Vec<[u32; 2]>,
}

impl Column {
    /// Encodes the bytes of t elements, one after the other, each with all its chunks.
    ///
    /// # Panics
    /// If there are fewer than t · chunks · 2d bytes.
    pub fn encode(layout: &Layout, seed: &Seed, index: usize, bytes: &[u8]) -> Self {
        let words = layout.points * layout.degree;
        let mut encoded = Self { index, words: vec![0; layout.rows()], exceptions: Vec::new() };
        let mut values = vec![0u32; words];
        for chunk in 0..layout.chunks {
            let mut stream = whitening(seed, chunk);
            stream.seek((index * layout.points * layout.element_bytes()) as u64);
            for (point, element) in values.chunks_exact_mut(layout.degree).enumerate() {
                let start = (point * layout.chunks + chunk) * layout.element_bytes();
                whiten(&bytes[start..][..layout.element_bytes()], &mut stream, element);
            }
            layout.interpolation.to_coefficients(&mut values, layout.degree, Modulus::new(PLAINTEXT));
            encoded.store(chunk * words, &values);
        }
        encoded
    }

    /// Centres the coefficients into rows `first_row`….
    fn store(&mut self, first_row: usize, values: &[u32]) {
        let words = &mut self.words[first_row..][..values.len()];
        for (r, (word, &value)) in words.iter_mut().zip(values).enumerate() {
            let centred = value as i32 - if value > PLAINTEXT / 2 { PLAINTEXT as i32 } else { 0 };
            *word = centred as i16;
            if centred == EXCEPTION {
                self.exceptions.push([(first_row + r) as u32, self.index as u32]);
            }
        }
    }
}

/// The bytes of a column's t elements, each with all its chunks; zeros after the last record.
fn read_column(layout: &Layout, records: &dyn Records, column: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; layout.points * layout.bundle.unit_bytes];
    layout.bundle.read(records, (column * layout.points) as u64, &mut bytes)?;
    Ok(bytes)
}

/// The 16-bit words of one ring element, whitened by the next bytes of the stream.
fn whiten(bytes: &[u8], stream: &mut Expander, words: &mut [u32]) {
    let mut mask = vec![0; bytes.len()];
    stream.fill(&mut mask);
    let pairs = bytes.chunks_exact(2).zip(mask.chunks_exact(2));
    for (word, (byte, mask)) in words.iter_mut().zip(pairs) {
        *word = u32::from(u16::from_le_bytes([byte[0] ^ mask[0], byte[1] ^ mask[1]]));
    }
}

/// Overwrites columns, given in any order.
///
/// # Panics
/// If `tiles` or a column is not of this layout.
pub fn replace(layout: &Layout, tiles: &mut [i16], columns: &[&Column]) {
    let pairs = layout.pairs();
    tiles.par_chunks_exact_mut(pairs * 2 * matvec_i16::ROWS).enumerate().for_each(|(group, tile)| {
        let rows = group * matvec_i16::ROWS..(group + 1) * matvec_i16::ROWS;
        for column in columns {
            matvec_i16::scatter_column(tile, 1, pairs, column.index, &column.words[rows.clone()]);
        }
    });
}
