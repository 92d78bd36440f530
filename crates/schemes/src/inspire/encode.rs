//! ENCODEDB (Algorithm 7) and its inverse, column by column.
//!
//! Records become whitened words. The words become the coefficients of a polynomial for each
//! column, and these become centred 16-bit words in row groups. The inverse evaluates a column's
//! polynomial at its t points.

use std::ops::Range;

use papir_core::{Progress, Records, Result, parallel};
use papir_kernels::matvec_i16;
use papir_kernels::pointwise::Modulus;
use papir_lattice::selection::{matrix, write_columns};
use papir_ring::prg::{Expander, Seed};

use super::layout::{Layout, PLAINTEXT};
use crate::shared::matrices::{BLOCK_BYTES, BLOCK_COLUMNS, seek_block};

/// The coefficient whose centred value, +32768, does not fit into 16 bits. It is stored as −32768.
const EXCEPTION: u32 = PLAINTEXT / 2;
/// Number of coefficients that are searched for exceptions together.
const LISTED_AT_ONCE: usize = 1024;

/// Returns the stream that whitens chunk `chunk` of all records. Element e starts at byte e·2d.
pub fn whitening(seed: &Seed, chunk: usize) -> Expander {
    seed.expand("inspire/whitening", chunk as u64)
}

/// Returns the stream of [`whitening`] from an element on.
pub(super) fn whitening_from(layout: &Layout, seed: &Seed, chunk: usize, element: u64) -> Expander {
    let mut stream = whitening(seed, chunk);
    // Whole blocks: d is a multiple of 64. The client's element is secret.
    let blocks = layout.element_bytes() / BLOCK_BYTES;
    seek_block(&mut stream, element * blocks as u64);
    stream
}

/// Removes the whitening from 16-bit words. `bytes` holds the whitening stream, and afterwards the
/// bytes of the words.
pub(super) fn unwhiten(words: &[u32], bytes: &mut [u8]) {
    for (pair, &word) in bytes.chunks_exact_mut(2).zip(words) {
        let [low, high] = (word as u16).to_le_bytes();
        pair[0] ^= low;
        pair[1] ^= high;
    }
}

/// Encodes all records as the matrix D′, in the row groups of [`matvec_i16`]. Returns the
/// exceptions, sorted: row and column of each coefficient +32768, which is stored as −32768.
pub(super) fn encode(
    layout: &Layout,
    seed: &Seed,
    records: &dyn Records,
    tiles: &mut [i16],
    progress: &dyn Progress,
) -> Result<Vec<[u32; 2]>> {
    progress.stage("encode", layout.columns as u64);
    encode_blocks(
        layout,
        seed,
        0..layout.columns,
        records,
        progress,
        |first, words| {
            write_columns(tiles, layout.columns, first, words);
        },
    )
}

/// Encodes a range of columns. It calls `write` with the first column and the words of each block
/// of adjacent columns. Returns the exceptions, sorted.
pub(super) fn encode_blocks(
    layout: &Layout,
    seed: &Seed,
    columns: Range<usize>,
    records: &dyn Records,
    progress: &dyn Progress,
    mut write: impl FnMut(usize, &[Vec<i16>]),
) -> Result<Vec<[u32; 2]>> {
    let mut exceptions = Vec::new();
    for first in columns.clone().step_by(BLOCK_COLUMNS) {
        let block = first..columns.end.min(first + BLOCK_COLUMNS);
        let encoded =
            parallel::try_map(block, |index| encode_column(layout, seed, index, records))?;

        let mut words = Vec::with_capacity(encoded.len());
        for column in encoded {
            words.push(column.words);
            exceptions.extend(column.exceptions);
        }
        write(first, &words);
        progress.advance(words.len() as u64);
    }

    // Each column lists its own by row, so together they are out of order.
    exceptions.sort_unstable();
    Ok(exceptions)
}

/// Reads the records of a column and encodes them.
fn encode_column(
    layout: &Layout,
    seed: &Seed,
    index: usize,
    records: &dyn Records,
) -> Result<EncodedColumn> {
    let mut bytes = vec![0; layout.points * layout.unit_layout.unit_bytes];
    layout
        .unit_layout
        .read(records, (index * layout.points) as u64, &mut bytes)?;
    Ok(EncodedColumn::encode(layout, seed, index, &bytes))
}

/// One encoded column: the words of all rows, and its exceptions as [`encode`] returns them.
pub(super) struct EncodedColumn {
    pub(super) index: usize,
    words: Vec<i16>,
    pub(super) exceptions: Vec<[u32; 2]>,
}

impl EncodedColumn {
    /// Encodes the bytes of t elements, one after the other, each with all its chunks.
    pub(super) fn encode(layout: &Layout, seed: &Seed, index: usize, bytes: &[u8]) -> Self {
        let words = layout.points * layout.degree;
        let mut encoded = Self {
            index,
            words: vec![0; layout.rows()],
            exceptions: Vec::new(),
        };

        let mut values = vec![0u32; words];
        for chunk in 0..layout.chunks {
            // The elements of a column follow each other in the stream of a chunk: one seek serves
            // them all.
            let mut stream = whitening_from(layout, seed, chunk, (index * layout.points) as u64);
            for (point, element) in values.chunks_exact_mut(layout.degree).enumerate() {
                let start = (point * layout.chunks + chunk) * layout.element_bytes();
                whiten(
                    &bytes[start..][..layout.element_bytes()],
                    &mut stream,
                    element,
                );
            }

            layout.interpolation.to_coefficients(
                &mut values,
                layout.degree,
                Modulus::new(PLAINTEXT),
            );
            encoded.store(chunk * words, &values);
        }
        encoded
    }

    /// Centres coefficients and stores them in the rows from `first_row` on.
    fn store(&mut self, first_row: usize, values: &[u32]) {
        let words = &mut self.words[first_row..][..values.len()];
        for (word, &value) in words.iter_mut().zip(values) {
            let wrap = if value > EXCEPTION { PLAINTEXT } else { 0 };
            // From −32768 to +32768: the largest wraps to the smallest as a word, and is listed.
            *word = value.wrapping_sub(wrap) as i16;
        }

        // Counted first, by vectors: few parts have an exception.
        for (part, values) in values.chunks(LISTED_AT_ONCE).enumerate() {
            let found = values.iter().filter(|&&value| value == EXCEPTION).count();
            if found > 0 {
                self.list(first_row + part * LISTED_AT_ONCE, values);
            }
        }
    }

    /// Lists the exceptions among the coefficients of the rows from `first_row` on.
    fn list(&mut self, first_row: usize, values: &[u32]) {
        for (row, &value) in (first_row..).zip(values) {
            if value == EXCEPTION {
                self.exceptions.push([row as u32, self.index as u32]);
            }
        }
    }
}

/// Writes the 16-bit words of one ring element, whitened by the next bytes of the stream.
fn whiten(bytes: &[u8], stream: &mut Expander, words: &mut [u32]) {
    let mut mask = vec![0; bytes.len()];
    stream.fill(&mut mask);

    let pairs = bytes.chunks_exact(2).zip(mask.chunks_exact(2));
    for (word, (byte, mask)) in words.iter_mut().zip(pairs) {
        *word = u32::from(u16::from_le_bytes([byte[0] ^ mask[0], byte[1] ^ mask[1]]));
    }
}

/// Overwrites columns, given in any order.
pub(super) fn replace(layout: &Layout, tiles: &mut [i16], columns: &[&EncodedColumn]) {
    let pairs = layout.pairs();
    let groups = tiles
        .chunks_exact_mut(pairs * 2 * matvec_i16::ROWS)
        .enumerate();

    // A row group is a contiguous part of the tiles with its rows of all columns, so threads write
    // to disjoint memory.
    parallel::for_each(groups, |(group, tile)| {
        let rows = group * matvec_i16::ROWS..(group + 1) * matvec_i16::ROWS;
        for column in columns {
            matvec_i16::scatter_column(tile, 1, pairs, column.index, &column.words[rows.clone()]);
        }
    });
}

/// An encoded matrix, read by columns.
pub(super) struct Columns<'a> {
    layout: &'a Layout,
    seed: &'a Seed,
    tiles: &'a [i16],
    /// Column and row of each word that represents +32768, sorted.
    exceptions: Vec<[u32; 2]>,
}

impl<'a> Columns<'a> {
    /// Creates a reader of a matrix that [`encode`] made under this seed.
    pub(super) fn new(
        layout: &'a Layout,
        seed: &'a Seed,
        tiles: &'a [i16],
        exceptions: &[[u32; 2]],
    ) -> Self {
        let mut exceptions: Vec<_> = exceptions
            .iter()
            .map(|&[row, column]| [column, row])
            .collect();
        exceptions.sort_unstable();

        Self {
            layout,
            seed,
            tiles,
            exceptions,
        }
    }

    /// Decodes the bytes of a column's t elements, one after the other, each with all its chunks.
    pub(super) fn decode(&self, column: usize) -> Vec<u8> {
        let Layout {
            points,
            degree,
            chunks,
            interpolation,
            ..
        } = *self.layout;
        let bytes = self.layout.element_bytes();
        let mut coefficients = self.residues(column);
        let mut elements = vec![0; points * chunks * bytes];

        for (chunk, values) in coefficients.chunks_exact_mut(points * degree).enumerate() {
            interpolation.to_values(values, degree, Modulus::new(PLAINTEXT));

            let mut stream =
                whitening_from(self.layout, self.seed, chunk, (column * points) as u64);
            for (k, words) in values.chunks_exact(degree).enumerate() {
                let out = &mut elements[(k * chunks + chunk) * bytes..][..bytes];
                stream.fill(out);
                unwhiten(words, out);
            }
        }
        elements
    }

    /// Returns one column of the matrix as residues modulo p.
    fn residues(&self, column: usize) -> Vec<u32> {
        let words = matrix::read_column(self.tiles, self.layout.columns, column);
        let mut residues: Vec<u32> = words
            .into_iter()
            .map(|word| i32::from(word).rem_euclid(PLAINTEXT as i32) as u32)
            .collect();

        let start = self
            .exceptions
            .partition_point(|[c, _]| (*c as usize) < column);
        let listed = self.exceptions[start..].iter();
        for [_, row] in listed.take_while(|[c, _]| *c as usize == column) {
            // The stored word is −32768, a different residue.
            residues[*row as usize] = EXCEPTION;
        }
        residues
    }
}
