//! Changing records: new bytes in D; for each changed row of D its row of D·A₁ again, and the digits of it;
//! then the packs of the bytes of a unit that changed in some record, which are all packs where records are
//! random. So they cost the same for one changed record as for thousands: batch changes. A₁ is transformed once.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, UpdateEstimate, check_changes};
use papir_core::{AlignedBytes, Change, Progress, Result};
use papir_lattice::lwe32::N;
use papir_lattice::lwe32::matrix::transformed_bytes;

use super::Variant;
use super::second::replace_column;
use super::server::Server;
use crate::double::update::{change_bytes, hint_rows, touched_units};

/// What [`update`] with these changes would cost.
///
/// # Errors
/// As [`check_changes`].
pub(super) fn cost<V: Variant>(server: &Server<V>, changes: &[Change]) -> Result<UpdateEstimate> {
    let (params, layout) = (&server.params, server.params.layout());
    check_changes(&params.shape(), changes)?;
    let description = params.describe();
    let setup = description.work.setup;
    let update = match touched_units(layout, changes) {
        0 => Counts::new(),
        units => {
            let rows = units * layout.unit_bytes;
            let bytes = transformed_bytes(rows, layout.columns) as f64;
            let stored = (description.sizes.database + description.sizes.material) as f64;
            let hint = Counts::new().with(Operation::HintProduct8, bytes, rows);
            params.selection().count_setup(hint).with(Operation::Copy, stored, 1)
        }
    };
    Ok(UpdateEstimate { update, setup })
}

/// The database with these changes, in order, under the same seed: byte for byte what a setup of the
/// changed records gives.
pub(super) fn update<V: Variant>(
    server: &Server<V>,
    changes: &[Change],
    progress: &dyn Progress,
) -> Result<Server<V>> {
    let (params, public) = (&server.params, server.public);
    check_changes(&params.shape(), changes)?;
    let (database, units) = change_bytes(params.layout(), &server.first.database, changes)?;
    if units.is_empty() {
        return Ok(server.clone());
    }
    progress.stage("update", units.len() as u64);
    let hint = hint_rows(params.lwe(), params.layout(), &database, &server.first.masks, &units);
    let mut tiles = AlignedBytes::copy_of(server.second.tiles().bytes());
    for (&unit, words) in units.iter().zip(hint.chunks_exact(params.layout().unit_bytes * N)) {
        replace_column(params, tiles.slice_mut(), unit, words);
        progress.advance(1);
    }
    let second = server.second.replace(params.selection(), &public.seed, tiles, progress)?;
    Ok(Server::assemble(params.clone(), public, database, second))
}
