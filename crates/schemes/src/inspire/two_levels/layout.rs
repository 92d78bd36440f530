//! Layout and encoding of the matrix D.
//!
//! Records fill units of γ₀ words, and t units make a column. The words of units are whitened and
//! placed in row groups.

use crate::shared::matrices::{self, encode_columns};
use crate::shared::units::{Location, MAX_COLUMNS, Units};
use papir_core::{AlignedBytes, Error, Progress, Records, Result, Shape};
use papir_lattice::selection::{group_rows, matrix, matrix_bytes, place, words_of};
use papir_ring::prg::Seed;

/// Label of the whitening stream.
const WHITENING: &str = "inspire2/whitening";

/// Layout of records in the matrix: unit u is block u mod t of column ⌊u/t⌋.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub(crate) unit_layout: Units,
    /// γ₀, the number of 16-bit words in a unit.
    pub unit_words: usize,
    /// t, the number of units in a column.
    pub blocks: usize,
    /// N/t, the number of columns.
    pub columns: usize,
}

impl Layout {
    /// Creates the layout with t = `blocks` units of γ₀ = `unit_words` words in a column, and the
    /// fewest columns.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for records longer than a unit, for no units in a column, and for
    /// more than 2²⁴ columns, units of a column, or 2³² rows.
    pub fn new(shape: Shape, unit_words: usize, blocks: usize) -> Result<Self> {
        let unit_layout = Units::new(shape, 2 * unit_words)?;
        // More units than there are would only add rows of zeros.
        let most = unit_layout.units().min(MAX_COLUMNS);
        if blocks == 0 || blocks as u64 > most {
            let expected = format!("1 to {most}");
            return Err(Error::out_of_bounds(
                "the number of units in a column",
                blocks as u64,
                expected,
            ));
        }

        let rows = blocks as u64 * unit_words as u64;
        if rows > u64::from(u32::MAX) {
            return Err(Error::out_of_bounds(
                "the number of rows",
                rows,
                "below 2^32",
            ));
        }

        let columns = unit_layout.units().div_ceil(blocks as u64);
        if columns > MAX_COLUMNS {
            return Err(Error::out_of_bounds(
                "the number of columns",
                columns,
                "at most 2^24",
            ));
        }

        Ok(Self {
            unit_layout,
            unit_words,
            blocks,
            columns: columns as usize,
        })
    }

    /// Returns the shape of the records.
    pub fn shape(&self) -> Shape {
        self.unit_layout.shape
    }

    /// Returns the number of records in a unit.
    pub fn per_unit(&self) -> u64 {
        self.unit_layout.per_unit
    }

    /// Returns the number of rows of the matrix: t·γ₀, rounded up to whole row groups.
    pub fn rows(&self) -> usize {
        group_rows(self.blocks * self.unit_words)
    }

    /// Returns the bytes of the encoded matrix.
    pub fn matrix_bytes(&self) -> u64 {
        matrix_bytes(self.rows(), self.columns)
    }

    /// Returns the place of a record. The index must be in range. No branch depends on it.
    pub fn locate(&self, index: u64) -> Location {
        self.unit_layout.location(index, self.blocks)
    }
}

/// Encodes all records in zeroed memory of [`Layout::matrix_bytes`].
pub(super) fn encode(
    layout: &Layout,
    seed: &Seed,
    records: &dyn Records,
    tiles: &mut AlignedBytes,
    progress: &dyn Progress,
) -> Result<()> {
    progress.stage("encode", layout.columns as u64);
    encode_columns(tiles, layout.columns, progress, |column| {
        let first = (column * layout.blocks) as u64;
        let mut bytes = vec![0; layout.blocks * layout.unit_layout.unit_bytes];
        layout.unit_layout.read(records, first, &mut bytes)?;
        whiten(seed, first, layout.unit_layout.unit_bytes, &mut bytes);

        let mut words = words_of(&bytes);
        // Rows that fill up the last row group are zero.
        words.resize(layout.rows(), 0);
        Ok(words)
    })
}

/// Reads the bytes of a column's units back from the matrix.
pub(super) fn read_column(layout: &Layout, seed: &Seed, tiles: &[i16], column: usize) -> Vec<u8> {
    let words = matrix::read_column(tiles, layout.columns, column);
    // The rows that fill up the last row group were not whitened.
    let words = &words[..layout.blocks * layout.unit_words];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();

    whiten(
        seed,
        (column * layout.blocks) as u64,
        layout.unit_layout.unit_bytes,
        &mut bytes,
    );
    bytes
}

/// Reads the bytes of a unit back from the matrix.
pub(super) fn read_unit(layout: &Layout, seed: &Seed, tiles: &[i16], unit: u64) -> Vec<u8> {
    let words = places(layout, unit).map(|at| tiles[at].to_le_bytes());
    let mut bytes: Vec<u8> = words.flatten().collect();
    whiten(seed, unit, layout.unit_layout.unit_bytes, &mut bytes);
    bytes
}

/// Writes the bytes of a unit to the matrix.
pub(super) fn write_unit(
    layout: &Layout,
    seed: &Seed,
    tiles: &mut [i16],
    unit: u64,
    mut bytes: Vec<u8>,
) {
    whiten(seed, unit, layout.unit_layout.unit_bytes, &mut bytes);
    for (at, pair) in places(layout, unit).zip(bytes.chunks_exact(2)) {
        tiles[at] = i16::from_le_bytes([pair[0], pair[1]]);
    }
}

/// Returns the positions of a unit's words in the matrix.
fn places(layout: &Layout, unit: u64) -> impl Iterator<Item = usize> {
    let blocks = layout.blocks as u64;
    let columns = layout.columns;
    let words = layout.unit_words;

    let column = (unit / blocks) as usize;
    let block = (unit % blocks) as usize;
    (block * words..(block + 1) * words).map(move |row| place(columns, row, column))
}

/// Adds the whitening stream of units from unit `first` on, or removes it, on a server.
fn whiten(seed: &Seed, first: u64, unit_bytes: usize, bytes: &mut [u8]) {
    matrices::whiten(seed, WHITENING, first, unit_bytes, bytes);
}

/// Removes the whitening stream from a unit. No branch depends on the unit.
pub(super) fn unwhiten(seed: &Seed, unit: u64, bytes: &mut [u8]) {
    matrices::unwhiten(seed, WHITENING, unit, bytes);
}
