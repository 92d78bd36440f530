//! Layout of the matrix of words of packed SimplePIR.
//!
//! Records fill units, and a unit consists of packs of d words. Words are parts of the records'
//! bytes, whitened by a public stream. A column holds a unit, or several: one in each word of its
//! entries ([`papir_lattice::selection::stacked`]).

use std::ops::Range;

use papir_core::{AlignedBytes, Error, Progress, Records, Result, Shape};
use papir_lattice::selection::{Stacking, Storage};
use papir_ring::prg::Seed;

use crate::shared::matrices::{self, store_columns};
use crate::shared::selection::PackedVariant;
use crate::shared::units::{Location, MAX_COLUMNS, Units};

/// Largest number of packs in a unit. They have 8 Mi words, for which a client holds about 200
/// MiB while it decrypts them.
pub(super) const MAX_PACKS: u64 = 1 << 12;

/// Layout of records in the matrix. A record is stored in one unit. It may span packs, since a
/// client receives all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Storage of words.
    pub storage: Storage,
    /// Label of the whitening stream.
    label: &'static str,
    /// Division of the records into units.
    pub(crate) unit_layout: Units,
    /// Units of a column, which are the words of an entry.
    pub stacking: Stacking,
    /// Number of rows of entries, which is the number of words of a unit, in whole packs.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
}

/// Returns the least number of packs in a unit, which is the number of packs of one record.
pub fn least_packs(storage: Storage, shape: &Shape, degree: usize) -> u64 {
    shape.record_bytes().div_ceil(pack_bytes(storage, degree)) as u64
}

/// Returns the bytes of records in a pack of `degree` words.
pub fn pack_bytes(storage: Storage, degree: usize) -> usize {
    storage.word_bits() as usize * degree / 8
}

impl Layout {
    /// Creates the layout with units of `packs` packs of `degree` words, and columns of as many
    /// units as an entry has words.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if a unit holds no record, or there are more than 2²⁴ columns or 2¹²
    /// packs in a unit.
    pub fn new<V: PackedVariant>(
        shape: Shape,
        degree: usize,
        packs: u64,
        stacking: Stacking,
    ) -> Result<Self> {
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
        let columns = unit_layout.units().div_ceil(stacking.words as u64);
        if columns > MAX_COLUMNS {
            return Err(Error::out_of_bounds(
                "the number of columns",
                columns,
                "at most 2^24",
            ));
        }

        Ok(Self {
            storage,
            label: V::SIMPLE.whitening,
            unit_layout,
            stacking,
            rows,
            columns: columns as usize,
        })
    }

    /// Returns the shape of the records.
    pub fn shape(&self) -> Shape {
        self.unit_layout.shape
    }

    /// Returns the place of a record. The index must be in range. No branch depends on it.
    pub fn locate(&self, index: u64) -> Location {
        self.unit_layout.location(index, self.stacking.words)
    }

    /// Encodes all records.
    pub(super) fn encode(
        &self,
        seed: &Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<AlignedBytes> {
        let words = self.stacking.words;
        let sides = (self.rows * words, self.columns);

        progress.stage("encode", self.columns as u64);
        store_columns(self.storage, sides, progress, |column| {
            // The units of a column lie below one another.
            let units: Result<Vec<_>> = (0..words)
                .map(|word| self.encoded_unit(seed, records, (column * words + word) as u64))
                .collect();
            Ok(units?.concat())
        })
    }

    /// Returns the bytes of a unit in the matrix. A unit after the last one has no records.
    fn encoded_unit(&self, seed: &Seed, records: &dyn Records, unit: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.unit_layout.unit_bytes];
        self.unit_layout.read(records, unit, &mut bytes)?;

        // Before the padding: the stream covers the bytes of records alone.
        self.whiten(seed, unit, &mut bytes);
        Ok(self.padded(bytes))
    }

    /// Returns the number of 16-bit words in the bytes of `units` units, in which the work of
    /// encoding is counted.
    pub(super) fn encoded(&self, units: usize) -> f64 {
        self.unit_layout.unit_bytes as f64 / 2.0 * units as f64
    }

    /// Pads the bytes of a unit for all rows of its last group.
    fn padded(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        let rows = self.rows.next_multiple_of(self.storage.group_rows());
        bytes.resize(rows * self.storage.word_bits() as usize / 8, 0);
        bytes
    }

    /// Reads the bytes of a unit back from the matrix.
    pub(super) fn read_unit(&self, seed: &Seed, tiles: &[u8], unit: usize) -> Vec<u8> {
        let (tiles_of_word, column) = self.place(unit);

        let tiles = &tiles[tiles_of_word];
        let mut bytes = self.storage.read_column(tiles, self.columns, column);
        // The padding was not whitened, so it goes first.
        bytes.truncate(self.unit_layout.unit_bytes);
        self.whiten(seed, unit as u64, &mut bytes);
        bytes
    }

    /// Writes the bytes of a unit to the matrix.
    pub(super) fn write_unit(
        &self,
        seed: &Seed,
        tiles: &mut [u8],
        unit: usize,
        mut bytes: Vec<u8>,
    ) {
        let (tiles_of_word, column) = self.place(unit);

        self.whiten(seed, unit as u64, &mut bytes);
        let tiles = &mut tiles[tiles_of_word];
        self.storage
            .write_column(tiles, self.columns, column, &self.padded(bytes));
    }

    /// Returns the bytes of the tiles that hold the words of a unit, and its column.
    fn place(&self, unit: usize) -> (Range<usize>, usize) {
        let words = self.stacking.words;
        let bytes = self.storage.matrix_bytes(self.rows, self.columns) as usize;

        let first = unit % words * bytes;
        (first..first + bytes, unit / words)
    }

    /// Removes the public stream from the bytes of a unit. No branch depends on the unit.
    pub(super) fn unwhiten(&self, seed: &Seed, unit: u64, bytes: &mut [u8]) {
        matrices::unwhiten(seed, self.label, unit, bytes);
    }

    /// Adds the public stream to the bytes of a unit, or removes it, on a server.
    pub fn whiten(&self, seed: &Seed, unit: u64, bytes: &mut [u8]) {
        // All units have as many bytes, so each has a part of the stream of its own.
        let length = bytes.len();
        matrices::whiten(seed, self.label, unit, length, bytes);
    }
}
