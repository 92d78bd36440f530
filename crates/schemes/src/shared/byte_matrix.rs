//! Matrices of bytes whose columns hold records.

use std::collections::BTreeSet;

use papir_core::scheme::check_changes;
use papir_core::sections::SectionSource;
use papir_core::{AlignedBytes, Blob, Change, Error, Progress, Record, Records, Result};
use papir_lattice::lwe32::{self, LweParams, MaskProducts, matrix_bytes, write_columns};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::device_copy::DeviceCopy;
use super::stored_records::read_columns;
use super::units::Units;

/// A matrix of bytes and the blob that holds it.
pub(crate) type ByteMatrix = lwe32::ByteMatrix<Blob>;

/// The order in which the units of a database fill a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitOrder {
    /// A column is a run of units.
    ColumnsFirst,
    /// A band, which is the rows of one unit in all columns, is a run of units.
    RowsFirst,
}

/// Layout of a matrix. A column is a stack of units, each in neighbouring rows. A record is in one
/// column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Division of the records into units.
    pub(crate) unit_layout: Units,
    /// Order of the units.
    pub(crate) order: UnitOrder,
    /// Number of units in a column.
    pub(crate) units: usize,
    /// Number of rows of the matrix, which is the number of bytes of a column.
    pub(crate) rows: usize,
    /// Number of columns of the matrix.
    pub(crate) columns: usize,
}

/// Limits of the matrices that a scheme supports.
pub(crate) struct Limits {
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    /// Largest number of units in a column.
    pub(crate) units: u64,
}

/// Place of a record. It is secret if the index is, and erased on drop.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct RecordPlace {
    /// Index of the column.
    pub(crate) column: u64,
    /// Position of the unit in the column.
    pub(crate) unit: u64,
    /// Position of the record in the unit.
    pub(crate) slot: u64,
}

/// A byte that changed.
pub(crate) struct Difference {
    pub(crate) row: usize,
    pub(crate) column: usize,
    /// Difference of the new byte and the old one.
    pub(crate) by: i32,
}

impl Layout {
    /// Creates the layout with `units` units in each column, columns first. It gives
    /// [`Error::OutOfBounds`] beyond the limits, and for no unit in a column.
    pub(crate) fn new(unit_layout: Units, units: u64, limits: &Limits) -> Result<Self> {
        let all = unit_layout.units();
        let unit_bytes = unit_layout.unit_bytes as u64;
        let most = all.min(limits.units);
        if units == 0 || units > most {
            let expected = format!("1 to {most}");
            return Err(Error::out_of_bounds(
                "the number of units in a column",
                units,
                expected,
            ));
        }

        // A product that wrapped might pass the check of the limit.
        let rows = units.saturating_mul(unit_bytes);
        let columns = all.div_ceil(units);
        check_side("the number of rows", rows, limits.rows)?;
        check_side("the number of columns", columns, limits.columns)?;

        Ok(Self {
            unit_layout,
            order: UnitOrder::ColumnsFirst,
            units: units as usize,
            rows: rows as usize,
            columns: columns as usize,
        })
    }

    /// Returns the place of a record. No branch depends on the index.
    pub(crate) fn place(&self, index: u64) -> RecordPlace {
        let (unit, slot) = self.unit_layout.locate(index);
        // The order is public, as both divisors are.
        match self.order {
            UnitOrder::ColumnsFirst => RecordPlace {
                column: unit / self.units as u64,
                unit: unit % self.units as u64,
                slot,
            },
            UnitOrder::RowsFirst => RecordPlace {
                column: unit % self.columns as u64,
                unit: unit / self.columns as u64,
                slot,
            },
        }
    }

    /// Returns the number of units that hold changes in any column.
    pub(crate) fn changed_units(&self, changes: &[Change]) -> usize {
        let units: BTreeSet<u64> = changes
            .iter()
            .map(|change| self.place(change.index).unit)
            .collect();
        units.len()
    }

    /// Reads all records into a matrix, column by column.
    pub(crate) fn encode(
        &self,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<ByteMatrix> {
        let rows = self.rows;
        let columns = self.columns;

        progress.stage("encode", columns as u64);
        let mut tiles = AlignedBytes::zeroed(matrix_bytes(rows, columns) as usize);
        let mut block = ReadColumns::new(self, records);
        write_columns(tiles.bytes_mut(), rows, columns, |column, out| {
            progress.advance(1);
            let out = &mut out[..rows];
            match self.order {
                UnitOrder::ColumnsFirst => {
                    let first = (column * self.units) as u64;
                    self.unit_layout.read(records, first, out)
                }
                UnitOrder::RowsFirst => block.copy(column, out),
            }
        })?;

        Ok(ByteMatrix::new(rows, columns, tiles.into()))
    }

    /// Returns the matrix after changes, which apply in order, and the bytes that differ. Returns
    /// `None` if no byte differs.
    pub(crate) fn change(
        &self,
        matrix: &ByteMatrix,
        changes: &[Change],
    ) -> Result<Option<(ByteMatrix, Vec<Difference>)>> {
        check_changes(&self.unit_layout.shape, changes)?;

        let mut tiles = AlignedBytes::copy_of(matrix.tiles());
        let bytes = tiles.bytes_mut();
        let mut differences = Vec::new();

        // Each change is compared with the bytes that earlier ones left, so that differences of a
        // byte that changes twice add up.
        for change in changes {
            let RecordPlace { column, unit, .. } = self.place(change.index);
            let column = column as usize;
            let first = unit as usize * self.unit_layout.unit_bytes;
            let rows = first..first + self.unit_layout.unit_bytes;

            let mut unit: Vec<u8> = rows
                .clone()
                .map(|row| bytes[matrix.position(row, column)])
                .collect();
            self.unit_layout.set(&mut unit, change)?;

            for (row, new) in rows.zip(unit) {
                let byte = &mut bytes[matrix.position(row, column)];
                if new != *byte {
                    differences.push(Difference {
                        row,
                        column,
                        by: i32::from(new) - i32::from(*byte),
                    });
                    *byte = new;
                }
            }
        }

        if differences.is_empty() {
            return Ok(None);
        }
        let changed = ByteMatrix::new(self.rows, self.columns, tiles.into());
        Ok(Some((changed, differences)))
    }

    /// Reads a range of packed records, given by its first index and its length.
    pub(crate) fn read_packed(
        &self,
        matrix: &ByteMatrix,
        range: (u64, u64),
        out: &mut [u8],
    ) -> Result<()> {
        read_columns(&self.unit_layout, self.units as u64, range, out, |run| {
            self.run_of_units(matrix, run)
        })
    }

    /// Returns the bytes of a run of as many units as a column has.
    fn run_of_units(&self, matrix: &ByteMatrix, run: usize) -> Vec<u8> {
        if self.order == UnitOrder::ColumnsFirst {
            return matrix.column(run);
        }

        let unit_bytes = self.unit_layout.unit_bytes;
        let tiles: &[u8] = matrix.tiles();
        let mut bytes = vec![0; self.rows];
        // There are as many runs as columns, so that all of their units have places. Those beyond
        // the last unit are padding.
        for (unit, out) in (run * self.units..).zip(bytes.chunks_exact_mut(unit_bytes)) {
            let column = unit % self.columns;
            let first = unit / self.columns * unit_bytes;
            for (row, byte) in (first..).zip(out) {
                *byte = tiles[matrix.position(row, column)];
            }
        }
        bytes
    }

    /// Returns the record at a secret place of its column. Reads the whole column.
    pub(crate) fn select(&self, place: &RecordPlace, column: &[u8]) -> Record {
        let mut bytes = Zeroizing::new(vec![0; self.unit_layout.unit_bytes]);
        // Every unit is read under a mask, so that neither branches nor addresses depend on the
        // place.
        for (i, other) in (0u64..).zip(column.chunks_exact(self.unit_layout.unit_bytes)) {
            let mask = i.ct_eq(&place.unit).unwrap_u8().wrapping_neg();
            bytes
                .iter_mut()
                .zip(other)
                .for_each(|(out, byte)| *out |= byte & mask);
        }

        self.unit_layout.select(&bytes, place.slot)
    }
}

/// Largest number of bytes of columns that are read together, unless one column is longer.
const READ_BYTES: usize = 16 << 20;

/// Adjacent columns of a matrix that is filled rows first. They are read together, so that a source
/// is read in runs of units.
struct ReadColumns<'a> {
    layout: &'a Layout,
    records: &'a dyn Records,
    /// The first of these columns.
    first: usize,
    /// The columns, one after another.
    bytes: Vec<u8>,
}

impl<'a> ReadColumns<'a> {
    /// No columns yet.
    fn new(layout: &'a Layout, records: &'a dyn Records) -> Self {
        Self {
            layout,
            records,
            first: 0,
            bytes: Vec::new(),
        }
    }

    /// Copies a column. Reads it together with those that follow, unless it was read before.
    fn copy(&mut self, column: usize, out: &mut [u8]) -> Result<()> {
        let rows = self.layout.rows;
        let end = self.first + self.bytes.len() / rows;
        if !(self.first..end).contains(&column) {
            self.read(column)?;
        }

        let start = (column - self.first) * rows;
        out.copy_from_slice(&self.bytes[start..start + rows]);
        Ok(())
    }

    /// Reads the columns from `first` on.
    fn read(&mut self, first: usize) -> Result<()> {
        let Layout {
            unit_layout,
            units,
            rows,
            columns,
            ..
        } = self.layout;
        let unit_bytes = unit_layout.unit_bytes;
        let count = (READ_BYTES / rows).clamp(1, columns - first);
        self.first = first;
        self.bytes = vec![0; count * rows];

        let mut band = vec![0; count * unit_bytes];
        for unit in 0..*units {
            // Units beyond the last one are not read, and stay zero.
            band.fill(0);
            unit_layout.read(self.records, (unit * columns + first) as u64, &mut band)?;

            let place = unit * unit_bytes..(unit + 1) * unit_bytes;
            let all = self.bytes.chunks_exact_mut(*rows);
            for (column, bytes) in all.zip(band.chunks_exact(unit_bytes)) {
                column[place.clone()].copy_from_slice(bytes);
            }
        }
        Ok(())
    }
}

/// Checks the number of rows or columns against its limit.
fn check_side(what: &'static str, found: u64, most: u64) -> Result<()> {
    if found > most {
        return Err(Error::out_of_bounds(what, found, format!("at most {most}")));
    }
    Ok(())
}

/// Reads a matrix from its section.
pub(crate) fn load_matrix(
    source: &dyn SectionSource,
    section: &'static str,
    rows: usize,
    columns: usize,
) -> Result<ByteMatrix> {
    let tiles = source.get(section)?;
    Error::check_length(section, tiles.len(), matrix_bytes(rows, columns) as usize)?;
    Ok(ByteMatrix::new(rows, columns, tiles))
}

/// Computes [`ByteMatrix::products`], on a device if it holds the matrix.
pub(crate) fn held_products(
    matrix: &ByteMatrix,
    held: &DeviceCopy,
    queries: &[&[u32]],
    bits: u32,
    centre: u8,
) -> Vec<Vec<u32>> {
    if held.is_nowhere() {
        return matrix.products(queries, bits, centre);
    }

    // Devices multiply 64-bit vectors.
    let vectors: Vec<Vec<u64>> = queries
        .iter()
        .map(|query| query.iter().map(|&x| x.into()).collect())
        .collect();
    let vectors: Vec<&[u64]> = vectors.iter().map(Vec::as_slice).collect();

    // A device that fails reports it itself; the answer is the same without it.
    match held.products(&vectors, bits) {
        Some(products) => matrix.products_from(&products, queries, centre),
        None => matrix.products(queries, bits, centre),
    }
}

/// Computes the products of all rows of a matrix with all masks: n words for each row.
pub(crate) fn multiply(
    lwe: &LweParams,
    products: &MaskProducts,
    matrix: &ByteMatrix,
    progress: &dyn Progress,
) -> AlignedBytes {
    let mut words = AlignedBytes::zeroed(4 * matrix.rows() * lwe.n());
    products.add_matrix(lwe, matrix, words.slice_mut(), |rows| {
        progress.advance(rows as u64)
    });
    words
}

/// Computes the products of one row of a matrix with all masks: n words.
pub(crate) fn row_products(
    lwe: &LweParams,
    products: &MaskProducts,
    matrix: &ByteMatrix,
    row: usize,
) -> Vec<u32> {
    let mut bytes = vec![0; matrix.columns()];
    matrix.read_row(row, &mut bytes);
    products.of_row(lwe, &bytes)
}
