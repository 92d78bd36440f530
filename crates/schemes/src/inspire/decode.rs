//! The records back from the encoded matrix: evaluates a column's polynomial at its t points.

use papir_kernels::pointwise::Modulus;
use papir_lattice::selection::place;
use papir_ring::prg::Seed;

use super::layout::{Layout, PLAINTEXT};
use super::masks::whitening;

/// A matrix that is read by columns.
pub struct Columns<'a> {
    layout: &'a Layout,
    seed: &'a Seed,
    tiles: &'a [i16],
    /// (column, row) of the words that stand for +32768, sorted.
    exceptions: Vec<[u32; 2]>,
}

impl<'a> Columns<'a> {
    /// What [`super::encode`] made under this seed.
    pub fn new(layout: &'a Layout, seed: &'a Seed, tiles: &'a [i16], exceptions: &[[u32; 2]]) -> Self {
        let mut exceptions: Vec<_> = exceptions.iter().map(|&[row, column]| [column, row]).collect();
        exceptions.sort_unstable();
        Self { layout, seed, tiles, exceptions }
    }

    /// The bytes of a column's t elements, one after the other, each with all its chunks.
    ///
    /// # Panics
    /// When the matrix has no such column.
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

    /// One column of the matrix as residues modulo p.
    fn residues(&self, column: usize) -> Vec<u32> {
        let word = |row: usize| {
            let word = self.tiles[place(self.layout.columns, row, column)];
            i32::from(word).rem_euclid(PLAINTEXT as i32) as u32
        };
        let mut residues: Vec<u32> = (0..self.layout.rows()).map(word).collect();
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

/// The bytes of 16-bit words, of which `bytes` holds the whitening stream.
pub(super) fn unwhiten(words: &[u32], bytes: &mut [u8]) {
    for (pair, &word) in bytes.chunks_exact_mut(2).zip(words) {
        let [low, high] = (word as u16).to_le_bytes();
        pair[0] ^= low;
        pair[1] ^= high;
    }
}
