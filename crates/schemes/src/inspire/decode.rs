//! Decoding of columns: evaluates a column's polynomial at its t points.

use papir_core::Result;
use papir_kernels::pointwise::Modulus;
use papir_lattice::selection::read_column;
use papir_ring::prg::Seed;

use super::layout::{Layout, PLAINTEXT};
use super::masks::whitening;
use crate::shared::stored_records::read_columns;

/// An encoded matrix, read by columns.
pub struct Columns<'a> {
    layout: &'a Layout,
    seed: &'a Seed,
    tiles: &'a [i16],
    /// (column, row) of the words that represent +32768, sorted.
    exceptions: Vec<[u32; 2]>,
}

impl<'a> Columns<'a> {
    /// A matrix that [`super::encode`] made under this seed.
    pub fn new(layout: &'a Layout, seed: &'a Seed, tiles: &'a [i16], exceptions: &[[u32; 2]]) -> Self {
        let mut exceptions: Vec<_> = exceptions.iter().map(|&[row, column]| [column, row]).collect();
        exceptions.sort_unstable();
        Self { layout, seed, tiles, exceptions }
    }

    /// The bytes of a column's t elements, one after the other, each with all its chunks.
    ///
    /// # Panics
    /// If the matrix has no such column.
    pub fn decode(&self, column: usize) -> Vec<u8> {
        let (t, d, bytes) = (self.layout.points, self.layout.degree, self.layout.element_bytes());
        let mut coefficients = self.residues(column);
        let mut elements = vec![0; t * self.layout.chunks * bytes];
        for (chunk, values) in coefficients.chunks_exact_mut(t * d).enumerate() {
            self.layout.interpolation.to_values(values, d, Modulus::new(PLAINTEXT));
            let mut stream = whitening(self.seed, chunk);
            stream.seek((column * t * bytes) as u64);
            for (k, words) in values.chunks_exact(d).enumerate() {
                let out = &mut elements[(k * self.layout.chunks + chunk) * bytes..][..bytes];
                stream.fill(out);
                unwhiten(words, out);
            }
        }
        elements
    }

    /// Reads records, as [`papir_core::Records::read_packed`] does.
    ///
    /// # Errors
    /// As [`papir_core::Records::read_packed`].
    pub fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let (bundle, points) = (&self.layout.bundle, self.layout.points as u64);
        read_columns(bundle, points, (first, count), out, |column| self.decode(column))
    }

    /// One column of the matrix as residues modulo p.
    fn residues(&self, column: usize) -> Vec<u32> {
        let words = read_column(self.tiles, self.layout.columns, column);
        let residue = |word: i16| i32::from(word).rem_euclid(PLAINTEXT as i32) as u32;
        let mut residues: Vec<u32> = words.into_iter().map(residue).collect();
        for &[_, row] in self.exceptions(column) {
            residues[row as usize] = PLAINTEXT / 2;
        }
        residues
    }

    /// The exceptions of one column.
    fn exceptions(&self, column: usize) -> &[[u32; 2]] {
        let start = self.exceptions.partition_point(|[c, _]| (*c as usize) < column);
        let end = self.exceptions.partition_point(|[c, _]| (*c as usize) <= column);
        &self.exceptions[start..end]
    }
}

/// Adds 16-bit words to the whitening stream in `bytes`, which gives their bytes.
pub(super) fn unwhiten(words: &[u32], bytes: &mut [u8]) {
    for (pair, &word) in bytes.chunks_exact_mut(2).zip(words) {
        let [low, high] = (word as u16).to_le_bytes();
        pair[0] ^= low;
        pair[1] ^= high;
    }
}
