//! Matrices of bytes, prepared and stored.

use papir_core::sections::SectionSource;
use papir_core::{Blob, Error, Result};
use papir_lattice::lwe32::{self, LweParams, MaskProducts, matrix_bytes};

/// A matrix of bytes and the blob that holds it.
pub(crate) type ByteMatrix = lwe32::ByteMatrix<Blob>;

/// A matrix from the bytes of its section.
///
/// # Errors
/// [`Error::Length`].
pub(crate) fn stored(what: &'static str, tiles: Blob, rows: usize, columns: usize) -> Result<ByteMatrix> {
    Error::check_length(what, tiles.len(), matrix_bytes(rows, columns) as usize)?;
    Ok(ByteMatrix::new(rows, columns, tiles))
}

/// Reads a matrix from its section.
///
/// # Errors
/// [`Error::MissingSection`] or [`Error::Length`].
pub(crate) fn load_matrix(
    source: &dyn SectionSource,
    section: &'static str,
    rows: usize,
    columns: usize,
) -> Result<ByteMatrix> {
    stored(section, source.get(section)?, rows, columns)
}

/// Products of one row of a matrix with all masks, n words.
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
