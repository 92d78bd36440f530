//! The first level on the server: SimplePIR over the matrix D of bytes.

use papir_core::{AlignedBytes, Progress, Records, Result, Shape};
use papir_lattice::lwe32::{LOG2_Q, LweParams, MaskProducts, Masks, N, matrix_bytes, write_columns};
use papir_ring::prg::Seed;

use super::layout::Layout;
pub(crate) use crate::shared::matrices::ByteMatrix;
use crate::shared::stored_records::read_columns;

/// Half of the plaintext modulus p = 256, which centring subtracts.
pub(crate) const CENTRE: u8 = 128;

/// A₁, with a row for each column of D.
pub(crate) fn first_masks(seed: Seed) -> Masks {
    Masks::new(seed, "double/first")
}

/// D, and A₁ as the seed of its blocks.
#[derive(Clone)]
pub(crate) struct FirstLevel {
    pub(crate) database: ByteMatrix,
    pub(crate) masks: Masks,
}

impl FirstLevel {
    /// D·A₁: a row of n words for each row of D.
    pub(crate) fn hint(&self, lwe: &LweParams, progress: &dyn Progress) -> AlignedBytes {
        let mut hint = AlignedBytes::zeroed(self.database.rows() * N * 4);
        progress.stage("masks", self.database.rows() as u64);
        let products = MaskProducts::new(lwe, &self.masks, self.database.columns(), CENTRE);
        products.add_matrix(lwe, &self.database, hint.slice_mut(), |rows| progress.advance(rows as u64));
        hint
    }

    /// D times each query modulo q, in one pass over D. Queries hold the leading `bits` of their
    /// words.
    pub(crate) fn answers(&self, queries: &[&[u32]], bits: u32) -> Vec<Vec<u32>> {
        let mut answers = self.database.products(queries, bits, CENTRE);
        answers.iter_mut().flatten().for_each(|sum| *sum <<= LOG2_Q - bits);
        answers
    }
}

/// Reads all records, column by column.
///
/// # Errors
/// Those of the source.
pub(crate) fn encode(layout: &Layout, records: &dyn Records, progress: &dyn Progress) -> Result<ByteMatrix> {
    progress.stage("encode", layout.columns as u64);
    let (rows, columns) = (layout.rows(), layout.columns);
    let mut tiles = AlignedBytes::zeroed(matrix_bytes(rows, columns) as usize);
    write_columns(tiles.bytes_mut(), rows, columns, |column, out| {
        progress.advance(1);
        read_column(layout, records, column as u64, out)
    })?;
    Ok(ByteMatrix::new(rows, columns, tiles.into()))
}

/// Reads records back from D.
///
/// # Errors
/// As [`Records::read_packed`].
pub(crate) fn read_packed(
    layout: &Layout,
    shape: Shape,
    database: &ByteMatrix,
    range: (u64, u64),
    out: &mut [u8],
) -> Result<()> {
    let (bundle, units) = (layout.bundle(shape), layout.units as u64);
    read_columns(&bundle, units, range, out, |column| database.column(column))
}

/// Reads one column into the front of `out`.
fn read_column(layout: &Layout, records: &dyn Records, column: u64, out: &mut [u8]) -> Result<()> {
    let bits = layout.record_bits;
    let first = column * layout.column_records();
    let end = (first + layout.column_records()).min(records.shape().records());
    // A read starts on a whole byte: at the record, or at the last eighth record before it.
    let from = if (first * bits).is_multiple_of(8) { first } else { first - first % 8 };
    let bytes = ((end - from) * bits).div_ceil(8) as usize;
    if (layout.unit_records * bits).is_multiple_of(8) {
        return records.read_packed(from, end - from, &mut out[..bytes]);
    }
    let mut packed = vec![0; bytes];
    records.read_packed(from, end - from, &mut packed)?;
    let units = layout.units_in(&packed, (first - from) * bits);
    for (unit, bytes) in units.zip(out.chunks_exact_mut(layout.unit_bytes)) {
        bytes.copy_from_slice(&unit.to_le_bytes()[..layout.unit_bytes]);
    }
    Ok(())
}
