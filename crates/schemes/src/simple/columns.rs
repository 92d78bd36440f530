//! Records in the columns of a matrix of bytes.

use papir_core::scheme::check_changes;
use papir_core::sections::SectionSource;
use papir_core::{
    AlignedBytes, Change, Progress, Record, RecordBuffer, Records, Result, Shape, extract_bits,
};
use papir_lattice::lwe32::{Masks, matrix_bytes, write_columns};
use papir_ring::prg::Seed;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::layout::Layout;
use crate::shared::matrices::{ByteMatrix, load_matrix};
use crate::shared::stored_records::read_columns;

/// A, with a row for each column of D.
pub(super) fn masks(seed: Seed) -> Masks {
    Masks::new(seed, "simple/lwe-matrix")
}

/// Reads all records, column by column.
///
/// # Errors
/// Those of the source.
pub(crate) fn encode(layout: &Layout, records: &dyn Records, progress: &dyn Progress) -> Result<ByteMatrix> {
    let shape = records.shape();
    let (rows, columns) = (layout.rows, layout.columns);
    let mut tiles = AlignedBytes::zeroed(matrix_bytes(rows, columns) as usize);
    progress.stage("encode", columns as u64);
    write_columns(tiles.bytes_mut(), rows, columns, |column, out| {
        let first = column as u64 * layout.column_records();
        let count = layout.column_records().min(shape.records() - first);
        progress.advance(1);
        records.read_packed(first, count, &mut out[..(count * shape.record_bits()).div_ceil(8) as usize])
    })?;
    Ok(ByteMatrix::new(rows, columns, tiles.into()))
}

/// A byte that changed.
pub(crate) struct Difference {
    pub(crate) row: usize,
    pub(crate) column: usize,
    /// The new byte less the old one.
    pub(crate) by: i32,
}

/// The matrix after changes in order, and the bytes that differ; `None` if no byte differs.
///
/// # Errors
/// As [`check_changes`].
pub(crate) fn change(
    shape: Shape,
    layout: &Layout,
    matrix: &ByteMatrix,
    changes: &[Change],
) -> Result<Option<(ByteMatrix, Vec<Difference>)>> {
    check_changes(&shape, changes)?;
    let mut tiles = AlignedBytes::copy_of(matrix.tiles());
    let mut differences = Vec::new();
    for change in changes {
        replace((shape, layout), change, (matrix, tiles.bytes_mut()), &mut differences)?;
    }
    let changed = || ByteMatrix::new(matrix.rows(), matrix.columns(), tiles.into());
    Ok((!differences.is_empty()).then(|| (changed(), differences)))
}

/// Makes one change in the tiles of a matrix's next version, and lists the bytes that differ.
///
/// # Errors
/// Those of a record of the wrong length.
fn replace(
    (shape, layout): (Shape, &Layout),
    change: &Change,
    (matrix, tiles): (&ByteMatrix, &mut [u8]),
    differences: &mut Vec<Difference>,
) -> Result<()> {
    let place = layout.place(change.index);
    let column = place.column as usize;
    let first = place.unit as usize * layout.unit_bytes;
    let positions: Vec<(usize, usize)> =
        (first..first + layout.unit_bytes).map(|row| (row, matrix.position(row, column))).collect();
    let old: Vec<u8> = positions.iter().map(|(_, position)| tiles[*position]).collect();
    let mut unit = RecordBuffer::from_packed(Shape::new(layout.unit_records, shape.record_bits())?, old)?;
    unit.set(place.slot, &change.record)?;
    for ((row, position), &new) in positions.into_iter().zip(unit.packed()) {
        let by = i32::from(new) - i32::from(tiles[position]);
        if by != 0 {
            differences.push(Difference { row, column, by });
            tiles[position] = new;
        }
    }
    Ok(())
}

/// Reads a range of records, packed, as [`Records::read_packed`] does.
///
/// # Errors
/// As [`Records::read_packed`].
pub(crate) fn read_packed(
    (shape, layout): (Shape, &Layout),
    matrix: &ByteMatrix,
    records: (u64, u64),
    out: &mut [u8],
) -> Result<()> {
    read_columns(&layout.bundle(shape), 1, records, out, |column| matrix.column(column))
}

/// The matrix of a section.
///
/// # Errors
/// [`papir_core::Error::MissingSection`] or [`papir_core::Error::Length`].
pub(crate) fn load(layout: &Layout, source: &dyn SectionSource, name: &'static str) -> Result<ByteMatrix> {
    load_matrix(source, name, layout.rows, layout.columns)
}

/// The record at a secret (unit, slot) of a column. Reads the whole column.
pub(crate) fn select(shape: Shape, layout: &Layout, (unit, slot): (u64, u64), column: &[u8]) -> Record {
    let mut bytes = Zeroizing::new(vec![0; layout.unit_bytes]);
    for (i, other) in column.chunks_exact(layout.unit_bytes).enumerate() {
        add_if(&mut bytes, other, i as u64, unit);
    }
    let bits = shape.record_bits();
    let mut record = vec![0; shape.record_bytes()];
    for other in 0..layout.unit_records {
        add_if(&mut record, &extract_bits(&bytes, other * bits, bits), other, slot);
    }
    record
}

/// `out |= bytes` if the positions are equal, without a branch.
fn add_if(out: &mut [u8], bytes: &[u8], position: u64, wanted: u64) {
    let mask = position.ct_eq(&wanted).unwrap_u8().wrapping_neg();
    out.iter_mut().zip(bytes).for_each(|(out, byte)| *out |= byte & mask);
}
