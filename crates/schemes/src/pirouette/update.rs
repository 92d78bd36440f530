//! Changing records: new bytes in a copy of the database.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, UpdateEstimate, check_changes};
use papir_core::{AlignedBytes, Blob, Change, Progress, Result};

use super::Lengths;
use super::server::PirouetteServer;

/// What [`update`] with these changes would cost.
///
/// # Errors
/// As [`check_changes`].
pub(super) fn cost<T: Lengths>(server: &PirouetteServer<T>, changes: &[Change]) -> Result<UpdateEstimate> {
    let params = &server.params;
    check_changes(&params.shape(), changes)?;
    let setup = params.describe().work.setup;
    let copied = if changes.is_empty() { 0.0 } else { params.layout.bytes() as f64 };
    Ok(UpdateEstimate { update: Counts::new().with(Operation::Copy, copied, 1), setup })
}

/// The database with these changes, in order: byte for byte what a setup of the changed records gives.
///
/// # Errors
/// As [`check_changes`].
pub(super) fn update<T: Lengths>(
    server: &PirouetteServer<T>,
    changes: &[Change],
    progress: &dyn Progress,
) -> Result<PirouetteServer<T>> {
    check_changes(&server.params.shape(), changes)?;
    let mut database = AlignedBytes::copy_of(&server.database);
    progress.stage("changing records", changes.len() as u64);
    for change in changes {
        server.params.layout.set(database.bytes_mut(), change)?;
        progress.advance(1);
    }
    Ok(PirouetteServer::with_database(server.params.clone(), Blob::from(database)))
}
