//! Changing records: new bytes in the matrix, and the hint's rows of them again, whatever the number of bytes
//! that changed in a row. Besides, matrix and hint are copied once, since the old version goes on answering.

use std::collections::BTreeSet;

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, UpdateEstimate, check_changes};
use papir_core::{Change, Progress, Result};
use papir_lattice::lwe32::matrix::transformed_bytes;

use super::Strength;
use super::server::{ZipServer, hint_rows};
use crate::simple::columns;
use crate::zip::compression::wire::Public;

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
    let rows = layout.changed_rows(changes);
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
    let (params, database) = (&server.params, &server.database);
    let changed = columns::change(params.shape(), &params.layout, database, changes)?;
    let Some((database, differences)) = changed else {
        return Ok(server.clone());
    };
    let rows: BTreeSet<usize> = differences.iter().map(|difference| difference.row).collect();
    let products = hint_rows(params, server.public.seed, &database);
    let hint = server.hint.changed(&params.compression, (&rows, products), progress)?;
    let public = Public { digest: hint.digest, ..server.public };
    Ok(ZipServer { public, database, hint, ..server.clone() })
}
