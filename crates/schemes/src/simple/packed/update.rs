//! Changing records under the same public seed: byte for byte what a setup of the changed records gives.
//!
//! A changed record alters words of one column, so rows of the packs in which these lie: those packs are
//! prepared again, their masks from the whole matrix, and the others taken over. So it costs the same for one
//! changed record as for thousands in the same packs: batch changes.
//!
//! The seed stays: the whitening stream is known before the changes are, and the noise bound assumes that
//! changed records do not depend on it. A new setup draws a new seed.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, UpdateEstimate, check_changes};
use papir_core::{AlignedBytes, Change, Progress, Result};

use super::encode::{read_column, write_column};
use super::params::{DEGREE, Params};
use super::server::Server;

/// What [`update`] with these changes would cost.
///
/// # Errors
/// As [`check_changes`].
pub(super) fn cost(server: &Server, changes: &[Change]) -> Result<UpdateEstimate> {
    let params = &server.params;
    let layout = params.layout();
    check_changes(&layout.shape(), changes)?;
    let description = params.describe();
    let columns = by_column(params, changes).chunk_by(|a, b| a.0 == b.0).count();
    let update = match touched_packs(params, changes) {
        0 => Counts::new(),
        packs => {
            let words = (2 * columns * layout.rows) as f64;
            let stored = (description.sizes.database + description.sizes.material) as f64;
            let columns = Counts::new().with(Operation::Encode16, words, 1);
            params.selection().count_packs(columns, packs).with(Operation::Copy, stored, 1)
        }
    };
    Ok(UpdateEstimate { update, setup: description.work.setup })
}

/// Packs in which words of changed records lie.
fn touched_packs(params: &Params, changes: &[Change]) -> usize {
    let layout = params.layout();
    let mut touched = vec![false; layout.rows / DEGREE];
    for change in changes {
        let (bundle, slot) = (&layout.bundle, layout.locate(change.index).slot);
        let pack = |bit: u64| (bit / (16 * DEGREE as u64)) as usize;
        let start = slot * bundle.stored_bits;
        touched[pack(start)..=pack(start + bundle.stored_bits - 1)].fill(true);
    }
    touched.into_iter().filter(|&touched| touched).count()
}

/// Changes by column; those of one column stay in order.
fn by_column<'a>(params: &Params, changes: &'a [Change]) -> Vec<(u32, &'a Change)> {
    let place = |change: &'a Change| (params.layout().locate(change.index).column, change);
    let mut placed: Vec<_> = changes.iter().map(place).collect();
    placed.sort_by_key(|(column, _)| *column);
    placed
}

/// The database with these changes, in order.
///
/// # Errors
/// As [`check_changes`].
pub(super) fn update(server: &Server, changes: &[Change], progress: &dyn Progress) -> Result<Server> {
    let (params, seed) = (&server.params, &server.public.seed);
    let layout = params.layout();
    check_changes(&layout.shape(), changes)?;
    let mut tiles = AlignedBytes::copy_of(server.matrix.tiles().bytes());
    for changes in by_column(params, changes).chunk_by(|a, b| a.0 == b.0) {
        let column = changes[0].0;
        let mut bytes = read_column(layout, seed, tiles.slice_mut(), column);
        changes.iter().try_for_each(|(_, change)| layout.bundle.set(&mut bytes, change))?;
        write_column(layout, seed, tiles.slice_mut(), column, bytes);
    }
    let matrix = server.matrix.replace(params.selection(), seed, tiles, progress)?;
    Ok(Server { params: params.clone(), public: server.public, matrix })
}
