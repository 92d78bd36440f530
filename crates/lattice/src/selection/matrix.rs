//! Matrices of 16-bit words in the row groups of [`papir_kernels::matvec_i16`].

use std::ops::Range;

use papir_kernels::{Backend, matvec_i16};
use rayon::prelude::*;

use crate::threads::join_parts;

/// Words of a matrix, padded to whole groups of 64 rows and whole pairs of columns.
pub const fn matrix_words(rows: usize, columns: usize) -> usize {
    group_rows(rows) * 2 * columns.div_ceil(2)
}

/// Bytes of a matrix. A client may describe one that is longer than its own memory.
pub const fn matrix_bytes(rows: usize, columns: usize) -> u64 {
    4 * group_rows(rows) as u64 * columns.div_ceil(2) as u64
}

/// Number of stored rows: `rows` padded to whole groups.
pub const fn group_rows(rows: usize) -> usize {
    rows.next_multiple_of(matvec_i16::ROWS)
}

/// A borrowed matrix D of signed words.
#[derive(Clone, Copy, Debug)]
pub struct WordMatrix<'a> {
    backend: Backend,
    columns: usize,
    tiles: &'a [i16],
    exceptions: &'a [[u32; 2]],
}

impl<'a> WordMatrix<'a> {
    /// Creates a matrix of `columns` columns; padding rows and columns are zero.
    ///
    /// # Panics
    /// If `tiles` is not whole row groups.
    pub fn new(columns: usize, tiles: &'a [i16]) -> Self {
        let group = matrix_words(1, columns);
        assert!(
            tiles.len().is_multiple_of(group),
            "{} words in groups of {group}",
            tiles.len()
        );
        Self {
            backend: Backend::current(),
            columns,
            tiles,
            exceptions: &[],
        }
    }

    /// Returns the same matrix with exceptions: the sorted (row, column) of words that stand for
    /// +32768, which does not fit 16 bits, and are stored as −32768.
    pub fn with_exceptions(self, exceptions: &'a [[u32; 2]]) -> Self {
        Self { exceptions, ..self }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of rows, padding included.
    pub fn rows(&self) -> usize {
        self.tiles.len() / (2 * self.pairs())
    }

    /// Pairs of columns, the last one padded.
    fn pairs(&self) -> usize {
        self.columns.div_ceil(2)
    }

    /// Reads the words of one row group, row by row, in columns from the even one `first` on; `out`
    /// has 64 times the wanted number of columns. Columns beyond the last are zero.
    pub(super) fn read_rows(&self, group: usize, first: usize, out: &mut [i16]) {
        let words = matrix_words(1, self.columns);
        let tile = &self.tiles[group * words..][..words];
        let width = out.len() / matvec_i16::ROWS;
        let first_pair = first / 2;
        let columns = width.min(2 * (self.pairs() - first_pair));

        if columns == width {
            matvec_i16::gather_rows(tile, first_pair, width, out);
            return;
        }

        // Wider than what is left of the matrix: a row at a time, each with zeros at its end.
        out.fill(0);
        for (l, row) in out.chunks_exact_mut(width).enumerate() {
            matvec_i16::gather_row_block(tile, l, first_pair, &mut row[..columns]);
        }
    }

    /// The exceptions in these rows.
    pub(super) fn exceptions_in(&self, rows: &Range<usize>) -> &'a [[u32; 2]] {
        &self.exceptions[self.exceptions_before(rows.start)..self.exceptions_before(rows.end)]
    }

    /// Number of exceptions in the rows below `bound`.
    fn exceptions_before(&self, bound: usize) -> usize {
        // They are sorted by row.
        self.exceptions
            .partition_point(|[row, _]| (*row as usize) < bound)
    }

    /// Returns D·b for each selector b of `columns` values modulo 2^bits: for each row a sum modulo
    /// 2^bits. All selectors share one pass over the matrix. No branch depends on them.
    pub fn select(&self, selectors: &[&[u64]], bits: u32) -> Vec<Vec<u64>> {
        self.select_from(self.products(selectors, bits), selectors, bits)
    }

    /// [`Self::select`] from the products of the stored words and the selectors, modulo 2^bits at
    /// least.
    pub fn select_from(
        &self,
        mut products: Vec<Vec<u64>>,
        selectors: &[&[u64]],
        bits: u32,
    ) -> Vec<Vec<u64>> {
        for (sums, selector) in products.iter_mut().zip(selectors) {
            // The correction wraps modulo 2⁶⁴, so the mask comes after it.
            self.correct(sums, selector);
            sums.iter_mut().for_each(|sum| *sum &= (1 << bits) - 1);
        }
        products
    }

    /// The products of the stored words and the selectors, modulo 2^bits at least.
    pub fn products(&self, selectors: &[&[u64]], bits: u32) -> Vec<Vec<u64>> {
        let count = matvec_i16::planes_for_bits(bits);
        let planes: Vec<Vec<i16>> = selectors
            .par_iter()
            .map(|values| planes(values, bits, count))
            .collect();
        let planes: Vec<&[i16]> = planes.iter().map(Vec::as_slice).collect();

        // A single selector has a pass of its own, which reads large tiles in several streams on
        // AVX-512.
        match planes[..] {
            [planes] => vec![self.pass(planes, count)],
            _ => self.pass_many(&planes, count),
        }
    }

    fn pass(&self, planes: &[i16], count: usize) -> Vec<u64> {
        let mut sums = vec![0; self.rows()];
        let parts = self
            .shares()
            .zip(sums.par_chunks_mut(self.share() * matvec_i16::ROWS));
        parts.for_each(|(tiles, sums)| {
            matvec_i16::pass(self.backend, tiles, self.pairs(), planes, count, sums);
        });
        sums
    }

    fn pass_many(&self, planes: &[&[i16]], count: usize) -> Vec<Vec<u64>> {
        let parts: Vec<Vec<Vec<u64>>> = self
            .shares()
            .map(|tiles| {
                let mut sums = vec![vec![0; tiles.len() / (2 * self.pairs())]; planes.len()];
                let mut outs: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
                matvec_i16::pass_many(self.backend, tiles, self.pairs(), planes, count, &mut outs);
                sums
            })
            .collect();

        join_parts(&parts, planes.len())
    }

    /// Adds 2·32768 times the selector's value for each exception, since −32768 was multiplied
    /// instead of +32768.
    fn correct(&self, sums: &mut [u64], selector: &[u64]) {
        for &[row, column] in self.exceptions {
            let sum = &mut sums[row as usize];
            *sum = sum.wrapping_add(selector[column as usize] << 16);
        }
    }

    /// Row groups for each thread.
    fn share(&self) -> usize {
        // At least one, as chunks of no words are not allowed.
        (self.rows() / matvec_i16::ROWS)
            .div_ceil(rayon::current_num_threads())
            .max(1)
    }

    /// The words of each thread's row groups.
    fn shares(&self) -> impl IndexedParallelIterator<Item = &'a [i16]> {
        self.tiles
            .par_chunks(self.share() * matrix_words(1, self.columns))
    }
}

fn planes(values: &[u64], bits: u32, count: usize) -> Vec<i16> {
    let mut planes = Vec::new();
    matvec_i16::pack_planes(values, bits, count, &mut planes);
    planes
}

/// Returns the position of a word in the tiles of a matrix of `columns` columns.
pub const fn place(columns: usize, row: usize, column: usize) -> usize {
    let group = row / matvec_i16::ROWS * matrix_words(1, columns);
    group + (column / 2 * matvec_i16::ROWS + row % matvec_i16::ROWS) * 2 + column % 2
}

/// Returns the words of a column, padding rows included.
///
/// # Panics
/// If the matrix has no such column.
pub fn read_column(tiles: &[i16], columns: usize, column: usize) -> Vec<i16> {
    let groups = tiles.len() / matrix_words(1, columns);
    let mut words = vec![0; groups * matvec_i16::ROWS];
    matvec_i16::gather_column(tiles, groups, columns.div_ceil(2), column, &mut words);
    words
}

/// Writes adjacent columns from the even column `first` on. Each has one word for each row, padding
/// included.
///
/// # Panics
/// If the columns exceed the matrix or their length differs from its number of rows.
pub fn write_columns(tiles: &mut [i16], columns: usize, first: usize, words: &[Vec<i16>]) {
    let pairs = columns.div_ceil(2);
    let rows = tiles.len() / (2 * pairs);
    let padding = vec![0; rows];

    tiles
        .par_chunks_exact_mut(matrix_words(1, columns))
        .enumerate()
        .for_each(|(group, tile)| {
            let rows = group * matvec_i16::ROWS..(group + 1) * matvec_i16::ROWS;
            for (k, pair) in words.chunks(2).enumerate() {
                let odd = pair.get(1).unwrap_or(&padding);
                matvec_i16::scatter_pair(
                    tile,
                    1,
                    pairs,
                    first / 2 + k,
                    &pair[0][rows.clone()],
                    &odd[rows.clone()],
                );
            }
        });
}
