//! Storage of a matrix's words: 16 bits or 4.

use std::ops::Range;

use papir_kernels::{matvec_i16, matvec_u4, matvec_u8};

use super::matrix::{WordMatrix, matrix_bytes, place, read_column, write_columns};
use super::nibbles::{
    MAX_QUERY_BITS, NibbleMatrix, nibble_bytes, nibble_bytes_of, read_nibble_column,
    write_nibble_column, write_nibble_columns,
};

/// The form in which a matrix stores its words. A column holds the bytes of records;
/// [`Storage::bytes_of`] defines which row each part of a byte goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// 16 bits: −32768 to 32767, two bytes each in the order of rows.
    Words,
    /// 4 bits: −8 to 7, two in a byte ([`NibbleMatrix`]).
    Nibbles,
}

impl Storage {
    /// Bits of a word.
    pub const fn word_bits(self) -> u32 {
        match self {
            Self::Words => 16,
            Self::Nibbles => 4,
        }
    }

    /// Most bits of a selector's value.
    pub const fn most_query_bits(self) -> u32 {
        match self {
            Self::Words => matvec_i16::MAX_PLANES as u32 * matvec_i16::PLANE_BITS,
            Self::Nibbles => MAX_QUERY_BITS,
        }
    }

    /// Number of planes of a selector's values of this many bits: how often a pass multiplies each
    /// word.
    pub const fn planes(self, query_bits: u32) -> usize {
        match self {
            Self::Words => matvec_i16::planes_for_bits(query_bits),
            Self::Nibbles => matvec_u8::planes_for_bits(query_bits),
        }
    }

    /// Rows of a group, which rows are padded to.
    pub const fn group_rows(self) -> usize {
        match self {
            Self::Words => matvec_i16::ROWS,
            Self::Nibbles => matvec_u4::ROWS,
        }
    }

    /// Bytes of a matrix. A client may describe one that is longer than its own memory.
    pub const fn matrix_bytes(self, rows: usize, columns: usize) -> u64 {
        match self {
            Self::Words => matrix_bytes(rows, columns),
            Self::Nibbles => nibble_bytes(rows, columns),
        }
    }

    /// The matrix of these bytes.
    ///
    /// # Panics
    /// If they are not whole row groups, or words that are not aligned.
    pub fn matrix(self, columns: usize, tiles: &[u8]) -> Matrix<'_> {
        match self {
            Self::Words => Matrix::Words(WordMatrix::new(columns, bytemuck::cast_slice(tiles))),
            Self::Nibbles => Matrix::Nibbles(NibbleMatrix::new(columns, tiles)),
        }
    }

    /// Writes the bytes of adjacent columns from `first` on, a multiple of 4. Each has bytes for
    /// all rows, padding included.
    ///
    /// # Panics
    /// If the columns exceed the matrix or their length differs from its number of rows.
    pub fn write_columns(
        self,
        tiles: &mut [u8],
        columns: usize,
        first: usize,
        contents: &[Vec<u8>],
    ) {
        match self {
            Self::Words => {
                let words: Vec<Vec<i16>> = contents.iter().map(|bytes| words_of(bytes)).collect();
                write_columns(bytemuck::cast_slice_mut(tiles), columns, first, &words);
            }
            Self::Nibbles => write_nibble_columns(tiles, columns, first, contents),
        }
    }

    /// Writes the bytes of one column, for all rows, padding included.
    ///
    /// # Panics
    /// If the matrix has no such column, or the length differs from its number of rows.
    pub fn write_column(self, tiles: &mut [u8], columns: usize, column: usize, bytes: &[u8]) {
        match self {
            Self::Words => {
                let tiles: &mut [i16] = bytemuck::cast_slice_mut(tiles);
                // A column of fewer words would leave old ones in the rows after them.
                assert_eq!(
                    bytes.len() / 2 * columns.next_multiple_of(2),
                    tiles.len(),
                    "words of a column"
                );
                for (row, word) in words_of(bytes).into_iter().enumerate() {
                    tiles[place(columns, row, column)] = word;
                }
            }
            Self::Nibbles => write_nibble_column(tiles, columns, column, bytes),
        }
    }

    /// Reads the bytes of one column, padding rows included.
    pub fn read_column(self, tiles: &[u8], columns: usize, column: usize) -> Vec<u8> {
        match self {
            Self::Words => {
                let words = read_column(bytemuck::cast_slice(tiles), columns, column);
                words.iter().flat_map(|word| word.to_le_bytes()).collect()
            }
            Self::Nibbles => read_nibble_column(tiles, columns, column),
        }
    }

    /// The bytes of a column whose words are given modulo 2^bits, in the order of rows.
    pub fn bytes_of(self, words: &[u32]) -> Vec<u8> {
        match self {
            Self::Words => words
                .iter()
                .flat_map(|&word| (word as u16).to_le_bytes())
                .collect(),
            Self::Nibbles => nibble_bytes_of(words),
        }
    }
}

/// The little-endian words of bytes; a last odd byte is left out.
pub fn words_of(bytes: &[u8]) -> Vec<i16> {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|pair| i16::from_le_bytes(*pair))
        .collect()
}

/// A borrowed matrix D of signed words in one of the storages.
#[derive(Clone, Copy, Debug)]
pub enum Matrix<'a> {
    /// A matrix of 16-bit words.
    Words(WordMatrix<'a>),
    /// A matrix of 4-bit words.
    Nibbles(NibbleMatrix<'a>),
}

impl<'a> From<WordMatrix<'a>> for Matrix<'a> {
    fn from(matrix: WordMatrix<'a>) -> Self {
        Self::Words(matrix)
    }
}

impl<'a> Matrix<'a> {
    /// Number of columns.
    pub fn columns(&self) -> usize {
        match self {
            Self::Words(matrix) => matrix.columns(),
            Self::Nibbles(matrix) => matrix.columns(),
        }
    }

    /// Returns D·b for each selector b of `columns` values modulo 2^bits: for each row a sum modulo
    /// 2^bits. All selectors share one pass over the matrix. No branch depends on them.
    pub fn select(&self, selectors: &[&[u64]], bits: u32) -> Vec<Vec<u64>> {
        match self {
            Self::Words(matrix) => matrix.select(selectors, bits),
            Self::Nibbles(matrix) => matrix.select(selectors, bits),
        }
    }

    /// Reads the words of 64 rows from `64·group` on, row by row, in columns from `first` on, a
    /// multiple of 4; `out` has 64 times the wanted number of columns. Columns beyond the last are
    /// zero.
    pub(super) fn read_rows(&self, group: usize, first: usize, out: &mut [i16]) {
        match self {
            Self::Words(matrix) => matrix.read_rows(group, first, out),
            Self::Nibbles(matrix) => matrix.read_rows(group, first, out),
        }
    }

    /// The (row, column) of words in these rows that stand for +32768 and are stored as −32768.
    pub(super) fn exceptions_in(&self, rows: &Range<usize>) -> &'a [[u32; 2]] {
        match self {
            Self::Words(matrix) => matrix.exceptions_in(rows),
            Self::Nibbles(_) => &[],
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_ring::prg::Seed;

    use super::super::masks::SelectorMasks;
    use super::*;
    use crate::params::{DEFAULT_PRIMES, Literal, RlweParams};

    const D: usize = 64;

    fn byte(row: usize, column: usize) -> u8 {
        ((row * 131 + column * 37 + row * column) % 251) as u8
    }

    /// A matrix of words of 4 bits, and the same words in 16 bits.
    fn both(rows: usize, columns: usize) -> [Vec<u8>; 2] {
        let [nibbles, words] = [Storage::Nibbles, Storage::Words];
        let mut tiles =
            [nibbles, words].map(|one| vec![0u8; one.matrix_bytes(rows, columns) as usize]);
        let column = |c: usize| {
            (0..rows.next_multiple_of(128) / 2)
                .map(|row| byte(row, c))
                .collect()
        };
        let contents: Vec<Vec<u8>> = (0..columns).map(column).collect();
        nibbles.write_columns(&mut tiles[0], columns, 0, &contents);
        let halves = |bytes: &[u8]| {
            [0, 4].map(|half| {
                bytes
                    .iter()
                    .map(|b| i16::from(b >> half & 15) - 8)
                    .collect()
            })
        };
        let wide = |bytes: &Vec<u8>| {
            let groups: Vec<[Vec<i16>; 2]> = bytes.chunks_exact(64).map(halves).collect();
            groups
                .as_flattened()
                .iter()
                .flatten()
                .flat_map(|word| word.to_le_bytes())
                .collect()
        };
        let contents: Vec<Vec<u8>> = contents.iter().map(wide).collect();
        words.write_columns(&mut tiles[1], columns, 0, &contents);
        tiles
    }

    #[test]
    fn both_storages_of_the_same_words_have_the_same_products() {
        let params = Literal {
            degree: D,
            primes: DEFAULT_PRIMES,
            sigma: 6.4,
        };
        let params = RlweParams::insecure(params).unwrap();
        for columns in [1, 3, 64, 130, 255] {
            let [nibbles, words] = both(256, columns);
            let [nibbles, words] = [(Storage::Nibbles, &nibbles), (Storage::Words, &words)]
                .map(|(s, tiles)| s.matrix(columns, tiles));
            assert_eq!((nibbles.columns(), words.columns()), (columns, columns));
            let selector = |i: u64| {
                (0..columns as u64)
                    .map(|c| (c * 7919 + i * 104_729) % (1 << 18))
                    .collect()
            };
            let selectors: Vec<Vec<u64>> = (0..3).map(selector).collect();
            let selectors: Vec<&[u64]> = selectors.iter().map(Vec::as_slice).collect();
            assert_eq!(
                nibbles.select(&selectors, 18),
                words.select(&selectors, 18),
                "{columns} columns"
            );
            assert_eq!(
                nibbles.select(&selectors[..1], 18),
                words.select(&selectors[..1], 18)
            );
            let masks = SelectorMasks::new(&params, &Seed([1; 32]), "test", columns, D);
            for rows in [0..D, 128..128 + D, 192..192 + D] {
                let [found, expected] = [nibbles, words]
                    .map(|matrix| masks.of_rows(params.ring(), matrix, rows.clone()));
                assert!(
                    format!("{found:?}") == format!("{expected:?}"),
                    "{columns} columns, {rows:?}"
                );
            }
        }
    }

    #[test]
    fn columns_are_read_back_and_replaced() {
        for storage in [Storage::Words, Storage::Nibbles] {
            let columns = 7;
            let mut tiles = vec![0; storage.matrix_bytes(128, columns) as usize];
            let length = 128 * storage.word_bits() as usize / 8;
            let content = |c: usize| (0..length).map(|i| byte(i, c)).collect::<Vec<u8>>();
            let contents: Vec<Vec<u8>> = (0..columns).map(content).collect();
            storage.write_columns(&mut tiles, columns, 0, &contents[..4]);
            storage.write_columns(&mut tiles, columns, 4, &contents[4..]);
            storage.write_column(&mut tiles, columns, 5, &contents[1]);
            for (c, expected) in contents.iter().enumerate() {
                let expected = if c == 5 { &contents[1] } else { expected };
                assert_eq!(
                    &storage.read_column(&tiles, columns, c),
                    expected,
                    "{storage:?}, column {c}"
                );
            }
        }
    }

    #[test]
    fn words_modulo_a_power_of_two_are_bytes_again() {
        let content: Vec<u8> = (0..128).map(|i| byte(i, 1)).collect();
        let halves = |half: usize| content.iter().map(move |b| u32::from(b >> half & 15));
        let words = |bytes: &mut dyn Iterator<Item = u32>| {
            bytes.map(|word| word.wrapping_sub(8) & 15).collect()
        };
        let low: Vec<u32> = words(&mut halves(0));
        let high: Vec<u32> = words(&mut halves(4));
        let rows = [&low[..64], &high[..64], &low[64..], &high[64..]].concat();

        assert_eq!(Storage::Nibbles.bytes_of(&rows), content);
        assert_eq!(
            Storage::Words.bytes_of(&[0x0201, 0xfffe]),
            [1, 2, 0xfe, 0xff]
        );
    }
}
