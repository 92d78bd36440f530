//! Layout of the matrix of words.
//!
//! Records fill columns; a column is some packs of d words. A word is 16 bits of the records' bytes,
//! whitened by a public stream.

use papir_core::{AlignedBytes, Error, Progress, Records, Result, Shape};
use papir_lattice::selection::{matrix, place};
use papir_ring::prg::Seed;

use crate::shared::matrices::{self, encode_columns, words_of};
use crate::shared::units::{Location, MAX_COLUMNS, Units};

/// Most packs in a column: 16 MiB of words, for which a client holds some 200 MiB while it decrypts
/// them.
pub(super) const MAX_PACKS: u64 = 1 << 12;

/// Shape of the matrix. A record is stored in one column; it may span packs, since a client
/// receives all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Records in columns.
    pub(crate) unit_layout: Units,
    /// Words of a column: whole packs.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

/// Fewest packs in a column: those of one record.
pub fn least_packs(shape: &Shape, degree: usize) -> u64 {
    shape.record_bytes().div_ceil(2 * degree) as u64
}

impl Layout {
    /// Columns of `packs` packs of `degree` words.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if a column holds no record, or there are more than 2²⁴ columns or
    /// 2¹² packs in one.
    pub fn new(shape: Shape, degree: usize, packs: u64) -> Result<Self> {
        let least = least_packs(&shape, degree);
        if packs < least || packs > MAX_PACKS {
            let expected = format!("{least} to {MAX_PACKS}");
            return Err(Error::out_of_bounds("the number of packs in a column", packs, expected));
        }
        let rows = packs as usize * degree;
        let unit_layout = Units::new(shape, 2 * rows)?;
        if unit_layout.units() > MAX_COLUMNS {
            return Err(Error::out_of_bounds("the number of columns", unit_layout.units(), "at most 2^24"));
        }
        Ok(Self { unit_layout, rows, columns: unit_layout.units() as usize })
    }

    /// Records and their length.
    pub fn shape(&self) -> Shape {
        self.unit_layout.shape
    }

    /// Place of a record; the index must be in range. No branch depends on it.
    pub fn locate(&self, index: u64) -> Location {
        self.unit_layout.location(index, 1)
    }

    /// Encodes all records.
    ///
    /// # Errors
    /// The errors of the source.
    pub(super) fn encode(
        &self,
        seed: &Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<AlignedBytes> {
        progress.stage("encode", self.columns as u64);
        encode_columns((self.rows, self.columns), progress, |column| {
            let mut bytes = vec![0; 2 * self.rows];
            self.unit_layout.read(records, column as u64, &mut bytes)?;
            whiten(seed, column as u32, &mut bytes);
            Ok(words_of(&bytes))
        })
    }

    /// Reads the bytes of a column back from the matrix.
    pub(super) fn read_column(&self, seed: &Seed, tiles: &[i16], column: usize) -> Vec<u8> {
        let words = matrix::read_column(tiles, self.columns, column);
        let mut bytes: Vec<u8> = words.iter().take(self.rows).flat_map(|word| word.to_le_bytes()).collect();
        whiten(seed, column as u32, &mut bytes);
        bytes
    }

    /// Writes the bytes of a column to the matrix.
    pub(super) fn write_column(&self, seed: &Seed, tiles: &mut [i16], column: usize, mut bytes: Vec<u8>) {
        whiten(seed, column as u32, &mut bytes);
        for (row, word) in words_of(&bytes).into_iter().enumerate() {
            tiles[place(self.columns, row, column)] = word;
        }
    }
}

/// Adds the public stream to the bytes of a column, or removes it. No branch depends on the column.
pub fn whiten(seed: &Seed, column: u32, bytes: &mut [u8]) {
    let position = u64::from(column) * bytes.len() as u64;
    matrices::whiten(seed, "simpleypir/whitening", position, bytes);
}
