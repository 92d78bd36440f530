//! Layout of the matrix of words of packed SimplePIR.
//!
//! Records fill columns, and a column consists of packs of d words. Words are parts of the records'
//! bytes, whitened by a public stream.

use papir_core::{AlignedBytes, Error, Progress, Records, Result, Shape};
use papir_lattice::selection::Storage;
use papir_ring::prg::Seed;

use crate::shared::matrices::{self, store_columns};
use crate::shared::selection::PackedVariant;
use crate::shared::units::{Location, MAX_COLUMNS, Units};

/// Largest number of packs in a column. They have 8 Mi words, for which a client holds about 200
/// MiB while it decrypts them.
pub(super) const MAX_PACKS: u64 = 1 << 12;

/// Layout of records in the matrix. A record is stored in one column. It may span packs, since a
/// client receives all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Storage of words.
    pub storage: Storage,
    /// Label of the whitening stream.
    label: &'static str,
    /// Division of the records into columns.
    pub(crate) unit_layout: Units,
    /// Number of rows, which is the number of words of a column, in whole packs.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
}

/// Returns the least number of packs in a column, which is the number of packs of one record.
pub fn least_packs(storage: Storage, shape: &Shape, degree: usize) -> u64 {
    shape.record_bytes().div_ceil(pack_bytes(storage, degree)) as u64
}

/// Returns the bytes of records in a pack of `degree` words.
pub fn pack_bytes(storage: Storage, degree: usize) -> usize {
    storage.word_bits() as usize * degree / 8
}

impl Layout {
    /// Creates the layout with columns of `packs` packs of `degree` words.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if a column holds no record, or there are more than 2²⁴ columns or
    /// 2¹² packs in one.
    pub fn new<V: PackedVariant>(shape: Shape, degree: usize, packs: u64) -> Result<Self> {
        let storage = V::SIMPLE.storage;
        let least = least_packs(storage, &shape, degree);

        if packs < least || packs > MAX_PACKS {
            let expected = format!("{least} to {MAX_PACKS}");
            return Err(Error::out_of_bounds(
                "the number of packs in a column",
                packs,
                expected,
            ));
        }

        let rows = packs as usize * degree;
        let unit_layout = Units::new(shape, packs as usize * pack_bytes(storage, degree))?;
        if unit_layout.units() > MAX_COLUMNS {
            return Err(Error::out_of_bounds(
                "the number of columns",
                unit_layout.units(),
                "at most 2^24",
            ));
        }

        Ok(Self {
            storage,
            label: V::SIMPLE.whitening,
            unit_layout,
            rows,
            columns: unit_layout.units() as usize,
        })
    }

    /// Returns the shape of the records.
    pub fn shape(&self) -> Shape {
        self.unit_layout.shape
    }

    /// Returns the place of a record. The index must be in range. No branch depends on it.
    pub fn locate(&self, index: u64) -> Location {
        self.unit_layout.location(index, 1)
    }

    /// Encodes all records.
    pub(super) fn encode(
        &self,
        seed: &Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<AlignedBytes> {
        progress.stage("encode", self.columns as u64);
        store_columns(
            self.storage,
            (self.rows, self.columns),
            progress,
            |column| {
                let mut bytes = vec![0; self.unit_layout.unit_bytes];
                self.unit_layout.read(records, column as u64, &mut bytes)?;

                // Before the padding: the stream covers the bytes of records alone.
                self.whiten(seed, column as u32, &mut bytes);
                Ok(self.padded(bytes))
            },
        )
    }

    /// Returns the number of 16-bit words in the bytes of `columns` columns, the unit of the work
    /// of encoding.
    pub(super) fn encoded(&self, columns: usize) -> f64 {
        self.unit_layout.unit_bytes as f64 / 2.0 * columns as f64
    }

    /// Pads the bytes of a column for all rows of its last group.
    fn padded(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let rows = self.rows.next_multiple_of(self.storage.group_rows());
        bytes.resize(rows * self.storage.word_bits() as usize / 8, 0);
        bytes
    }

    /// Reads the bytes of a column back from the matrix.
    pub(super) fn read_column(&self, seed: &Seed, tiles: &[u8], column: usize) -> Vec<u8> {
        let mut bytes = self.storage.read_column(tiles, self.columns, column);
        // The padding was not whitened, so it goes first.
        bytes.truncate(self.unit_layout.unit_bytes);
        self.whiten(seed, column as u32, &mut bytes);
        bytes
    }

    /// Writes the bytes of a column to the matrix.
    pub(super) fn write_column(
        &self,
        seed: &Seed,
        tiles: &mut [u8],
        column: usize,
        mut bytes: Vec<u8>,
    ) {
        self.whiten(seed, column as u32, &mut bytes);
        self.storage
            .write_column(tiles, self.columns, column, &self.padded(bytes));
    }

    /// Adds the public stream to the bytes of a column, or removes it. No branch depends on the
    /// column.
    pub fn whiten(&self, seed: &Seed, column: u32, bytes: &mut [u8]) {
        // All columns have as many bytes, so each has a part of the stream of its own.
        let position = u64::from(column) * bytes.len() as u64;
        matrices::whiten(seed, self.label, position, bytes);
    }
}
