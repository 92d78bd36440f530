//! Changing records: new bytes in the matrix, and the hint's rows of them again, whatever the number of bytes
//! that changed in a row. Besides, matrix and hint are copied once, since the old version goes on answering.

use std::collections::BTreeSet;

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, UpdateEstimate, check_changes};
use papir_core::{AlignedBytes, Change, Progress, Result};
use papir_lattice::lwe32::MaskProducts;
use papir_lattice::lwe32::matrix::transformed_bytes;

use super::noise::CENTRE;
use super::server::{SlottedHint, ZipServer, write_row};
use super::{ByteMatrix, Strength, masks};
use crate::simple::columns::{self, Difference};

/// What [`update`] with these changes would cost.
///
/// # Errors
/// As [`check_changes`].
pub(super) fn cost<T: Strength>(server: &ZipServer<T>, changes: &[Change]) -> Result<UpdateEstimate> {
    let (params, layout) = (&server.params, &server.params.layout);
    check_changes(&params.shape(), changes)?;
    let description = params.describe();
    let setup = description.work.setup;
    if changes.is_empty() {
        return Ok(UpdateEstimate { update: Counts::new(), setup });
    }
    let units: BTreeSet<u64> = changes.iter().map(|change| layout.place(change.index).unit).collect();
    let rows = units.len() * layout.unit_bytes;
    let stored = (description.sizes.database + description.sizes.material) as f64;
    let products = transformed_bytes(rows, layout.columns) as f64;
    let update = Counts::new().with(Operation::Copy, stored, 1).with(Operation::HintProduct8, products, rows);
    Ok(UpdateEstimate { update, setup })
}

/// The database with these changes, in order, under the same seed: byte for byte what a setup of the
/// changed records gives.
pub(super) fn update<T: Strength>(
    server: &ZipServer<T>,
    changes: &[Change],
    progress: &dyn Progress,
) -> Result<ZipServer<T>> {
    let params = &server.params;
    check_changes(&params.shape(), changes)?;
    let mut tiles = AlignedBytes::copy_of(server.database.tiles());
    let mut differences: Vec<Difference> = Vec::new();
    for change in changes {
        let place = (params.shape(), &params.layout);
        columns::replace(place, change, (&server.database, tiles.bytes_mut()), &mut differences)?;
    }
    if differences.is_empty() {
        return Ok(server.clone());
    }
    let database = ByteMatrix::new(server.database.rows(), server.database.columns(), tiles.into());
    let rows: BTreeSet<usize> = differences.iter().map(|difference| difference.row).collect();
    let hint = changed_rows(server, &database, &rows, progress)?;
    Ok(ZipServer { database, hint, ..server.clone() })
}

/// The hint with some rows of D·A again.
fn changed_rows<T: Strength>(
    server: &ZipServer<T>,
    database: &ByteMatrix,
    rows: &BTreeSet<usize>,
    progress: &dyn Progress,
) -> Result<SlottedHint> {
    let params = &server.params;
    let mut exponents = AlignedBytes::copy_of(server.hint.exponents.bytes());
    let mut sums = AlignedBytes::copy_of(server.hint.sums.bytes());
    let residues = AlignedBytes::copy_of(server.hint.residues.bytes());
    progress.stage("hint", rows.len() as u64);
    let products = MaskProducts::new(&params.lwe, &masks(server.public.seed), database.columns(), CENTRE);
    let per_ciphertext = params.n() * params.exponent_digits();
    for &row in rows {
        let first = row / params.slots * per_ciphertext;
        let exponents = &mut exponents.slice_mut::<u16>()[first..][..per_ciphertext];
        sums.slice_mut::<[i32; 2]>()[row] = write_row(params, &products, database, row, exponents);
        progress.advance(1);
    }
    let changed: BTreeSet<usize> = rows.iter().map(|row| row / params.slots).collect();
    let changed: Vec<usize> = changed.into_iter().collect();
    SlottedHint::with_residues((params, &server.system), (exponents, sums, residues), &changed, progress)
}
