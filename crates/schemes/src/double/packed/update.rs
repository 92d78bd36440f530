//! Changing records: new bytes in D; for each changed row of D its row of D·A₁ again, and the digits of it;
//! then all packs, as each depends on every unit. So the packs cost the same for one changed record as for
//! thousands: batch changes. A₁ is transformed once.

use papir_core::scheme::{Parameters, check_changes};
use papir_core::{AlignedBytes, Change, Progress, Result};
use papir_lattice::lwe32::N;

use super::Variant;
use super::second::replace_column;
use super::server::Server;
use crate::double::update::{change_bytes, hint_rows};
use crate::selection::PackedMatrix;

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
    progress.stage("update", units.len() as u64);
    let hint = hint_rows(params.lwe(), params.layout(), &database, &server.first.masks, &units);
    let mut tiles = AlignedBytes::copy_of(server.second.tiles().bytes());
    for (&unit, words) in units.iter().zip(hint.chunks_exact(params.layout().unit_bytes * N)) {
        replace_column(params, tiles.slice_mut(), unit, words);
        progress.advance(1);
    }
    let second = if tiles.as_ref() == server.second.tiles().bytes() {
        server.second.clone()
    } else {
        PackedMatrix::prepare(params.selection(), &public.seed, tiles, progress)?
    };
    Ok(Server::assemble(params.clone(), public, database, second))
}
