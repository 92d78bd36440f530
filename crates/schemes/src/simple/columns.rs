//! Records into the columns of a matrix of bytes, and one record out of a column.

use papir_core::{
    AlignedBytes, Change, Progress, Record, RecordBuffer, Records, Result, Shape, extract_bits,
};
use papir_lattice::lwe32::{matrix_bytes, write_columns};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::ByteMatrix;
use super::layout::Layout;

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

/// Makes one change in tiles that become a matrix's next version, and lists the bytes that differ.
///
/// # Errors
/// Those of a record of the wrong length.
pub(crate) fn replace(
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

/// The record at a secret place, (unit, slot), of a column: reads the whole column.
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

/// `out |= bytes` where the two positions are equal, without a branch.
fn add_if(out: &mut [u8], bytes: &[u8], position: u64, wanted: u64) {
    let mask = position.ct_eq(&wanted).unwrap_u8().wrapping_neg();
    out.iter_mut().zip(bytes).for_each(|(out, byte)| *out |= byte & mask);
}
