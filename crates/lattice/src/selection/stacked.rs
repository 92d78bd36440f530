//! Matrices with several words in an entry.
//!
//! An entry is E = Σ wᵢ·Bⁱ, with words w₀, w₁, … of D bits and B = 2^step. One value of a selector
//! serves all words of its entries, and the message of the selected entry says which word an
//! answer has: times q/(2^D·Bⁱ), the words above wᵢ vanish modulo q, and those below it stay short
//! of the distance between messages by a factor B.

use super::matrix::WordMatrix;
use super::storage::{Matrix, Storage};

/// Number of words in an entry of a matrix, and the distance between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stacking {
    /// Number of words in an entry, 1 or more.
    pub words: usize,
    /// log₂ B, the bits from a word of an entry to the next one.
    pub step: u32,
}

impl Stacking {
    /// Every entry is one word.
    pub const NONE: Self = Self { words: 1, step: 0 };
    /// Largest number of words of an entry. It bounds what parameters of a server make a client
    /// compute.
    pub const MAX_WORDS: usize = 8;

    /// Returns the bits from the first word of an entry to the last one.
    pub fn reach(self) -> u32 {
        (self.words as u32 - 1) * self.step
    }

    /// Returns Σ Bⁱ: the largest entry, in units of the largest word.
    pub fn gain(self) -> f64 {
        (0..self.words as i32)
            .map(|i| 2f64.powi(i * self.step as i32))
            .sum()
    }

    /// Returns Σ B⁻ⁱ for i > 0: what the words below the last one add to it at most, in units of
    /// the largest word.
    pub fn below(self) -> f64 {
        (1..self.words as i32)
            .map(|i| 2f64.powi(-i * self.step as i32))
            .sum()
    }
}

/// A borrowed matrix whose entries have one or several words.
#[derive(Clone, Debug)]
pub struct StackedMatrix<'a> {
    /// The matrix of each word of the entries, w₀ first.
    levels: Vec<Matrix<'a>>,
    step: u32,
}

impl<'a> StackedMatrix<'a> {
    /// Creates a matrix of `columns` columns. Its tiles are those of the first words of all
    /// entries, then of the second words, and so on.
    ///
    /// # Panics
    /// If the tiles of a word are not whole row groups.
    pub fn new(storage: Storage, columns: usize, tiles: &'a [u8], stacking: Stacking) -> Self {
        let each = tiles.len() / stacking.words;
        assert_eq!(each * stacking.words, tiles.len(), "tiles of all words");

        let levels = tiles.chunks_exact(each);
        Self {
            levels: levels.map(|tiles| storage.matrix(columns, tiles)).collect(),
            step: stacking.step,
        }
    }

    /// Returns the matrix of the first words, and those of the others with the bits by which their
    /// words are shifted in an entry.
    pub(super) fn levels(&self) -> (Matrix<'a>, impl Iterator<Item = (Matrix<'a>, u32)>) {
        let shifts = (1..).map(|i| i * self.step);
        (self.levels[0], self.levels[1..].iter().copied().zip(shifts))
    }

    /// Returns E·b for each selector b of `columns` values modulo 2^bits: for each row of entries a
    /// sum modulo 2^bits. All selectors share one pass over the matrix. No branch depends on them.
    ///
    /// # Panics
    /// If `bits` is not above [`Stacking::reach`].
    pub fn select(&self, selectors: &[&[u64]], bits: u32) -> Vec<Vec<u64>> {
        let (first, others) = self.levels();
        let mut sums = first.select(selectors, bits);

        for (level, shift) in others {
            // The bits of a value that the shift would move beyond 2^bits are not multiplied.
            let of_level = level.select(selectors, bits - shift);
            for (sums, of_level) in sums.iter_mut().zip(&of_level) {
                add_shifted(sums, of_level, shift, bits);
            }
        }

        sums
    }
}

impl<'a> From<Matrix<'a>> for StackedMatrix<'a> {
    fn from(matrix: Matrix<'a>) -> Self {
        Self {
            levels: vec![matrix],
            step: 0,
        }
    }
}

impl<'a> From<WordMatrix<'a>> for StackedMatrix<'a> {
    fn from(matrix: WordMatrix<'a>) -> Self {
        Matrix::from(matrix).into()
    }
}

/// Adds `terms`·2^shift to `sums` modulo 2^bits.
fn add_shifted(sums: &mut [u64], terms: &[u64], shift: u32, bits: u32) {
    for (sum, &term) in sums.iter_mut().zip(terms) {
        *sum = (*sum + (term << shift)) & ((1 << bits) - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: usize = 70;
    const ROWS: usize = 128;

    /// The byte of two words of the column of a level.
    fn byte(level: usize, column: usize, i: usize) -> u8 {
        ((level * 57 + column * 37 + i * 131 + column * i) % 251) as u8
    }

    /// Tiles of `words` levels.
    fn tiles(words: usize) -> Vec<u8> {
        let storage = Storage::Nibbles;
        let each = storage.matrix_bytes(ROWS, COLUMNS) as usize;
        let mut tiles = vec![0; each * words];

        for (level, tiles) in tiles.chunks_exact_mut(each).enumerate() {
            let contents: Vec<Vec<u8>> = (0..COLUMNS)
                .map(|column| (0..ROWS / 2).map(|i| byte(level, column, i)).collect())
                .collect();
            storage.write_columns(tiles, COLUMNS, 0, &contents);
        }

        tiles
    }

    /// The word of a level: byte l holds those of rows l and 64 + l.
    fn word(level: usize, row: usize, column: usize) -> i64 {
        let byte = byte(level, column, row % 64);
        i64::from(byte >> (4 * (row / 64)) & 15) - 8
    }

    fn entry(stacking: Stacking, row: usize, column: usize) -> i64 {
        (0..stacking.words)
            .map(|level| word(level, row, column) << (level as u32 * stacking.step))
            .sum()
    }

    #[test]
    fn sums_are_those_of_the_entries() {
        let bits = 27;
        let values: Vec<u64> = (0..COLUMNS as u64)
            .map(|c| c * 7_654_321 % (1 << bits))
            .collect();

        for stacking in [
            Stacking::NONE,
            Stacking { words: 2, step: 5 },
            Stacking { words: 3, step: 7 },
        ] {
            let tiles = tiles(stacking.words);
            let matrix = StackedMatrix::new(Storage::Nibbles, COLUMNS, &tiles, stacking);
            let found = matrix.select(&[&values, &values[..]], bits);

            let expected: Vec<u64> = (0..ROWS)
                .map(|row| {
                    let terms = (0..COLUMNS).zip(&values);
                    let sum: i64 = terms
                        .map(|(c, &value)| entry(stacking, row, c) * value as i64)
                        .sum();
                    sum.rem_euclid(1 << bits) as u64
                })
                .collect();
            assert!(found == [expected.clone(), expected], "{stacking:?}");
        }
    }

    #[test]
    fn the_largest_entry_is_the_gain_times_the_largest_word() {
        let stacking = Stacking { words: 3, step: 6 };
        assert_eq!(stacking.reach(), 12);
        assert_eq!(8.0 * stacking.gain(), f64::from(8 + (8 << 6) + (8 << 12)));
        assert_eq!(
            stacking.below() * f64::from(8 << 12),
            f64::from(8 + (8 << 6))
        );
        assert_eq!([Stacking::NONE.gain(), Stacking::NONE.below()], [1.0, 0.0]);
    }
}
