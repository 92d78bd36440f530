//! Changing records: as in DoublePIR (`crate::double::update`), and the second level's hint compressed again,
//! all of whose rows hold something of each unit.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, UpdateEstimate, check_changes};
use papir_core::{Change, Progress, Result};
use papir_lattice::lwe32::matrix::transformed_bytes;

use super::second_masks;
use super::server::ZipDoubleServer;
use crate::double::first::first_masks;
use crate::double::second::digit_rows;
use crate::double::update::{change_bytes, change_digits, from_scratch, hint_rows, touched_units};
use crate::zip::compression::Strength;

/// What [`update`] with these changes would cost.
///
/// # Errors
/// As [`check_changes`].
pub(super) fn cost<T: Strength>(server: &ZipDoubleServer<T>, changes: &[Change]) -> Result<UpdateEstimate> {
    let (params, layout) = (&server.params, &server.params.layout);
    check_changes(&params.shape(), changes)?;
    let description = params.describe();
    let setup = description.work.setup;
    let units = touched_units(layout, changes);
    if units == 0 {
        return Ok(UpdateEstimate { update: Counts::new(), setup });
    }
    let hint = |rows, columns| (Operation::HintProduct8, transformed_bytes(rows, columns) as f64, rows);
    let changed = if from_scratch(layout, units) { layout.rows() } else { units * layout.unit_bytes };
    let stored = (description.sizes.database + description.sizes.material) as f64;
    let parts =
        [(Operation::Copy, stored, 1), hint(changed, layout.columns), hint(digit_rows(layout), layout.units)];
    let update = parts
        .into_iter()
        .fold(Counts::new(), |counts, (operation, amount, count)| counts.with(operation, amount, count));
    Ok(UpdateEstimate { update, setup })
}

/// The database with these changes, in order, under the same seed: byte for byte what a setup of the
/// changed records gives.
pub(super) fn update<T: Strength>(
    server: &ZipDoubleServer<T>,
    changes: &[Change],
    progress: &dyn Progress,
) -> Result<ZipDoubleServer<T>> {
    let (params, layout, seed) = (&server.params, &server.params.layout, server.public.seed);
    check_changes(&params.shape(), changes)?;
    let (database, units) = change_bytes(layout, &server.first.database, changes)?;
    if units.is_empty() {
        return Ok(server.clone());
    }
    if from_scratch(layout, units.len()) {
        return ZipDoubleServer::prepare(params.clone(), seed, database, progress);
    }
    progress.stage("update", units.len() as u64);
    let hint = hint_rows(&params.lwe, layout, &database, &first_masks(seed), &units);
    let lwe = (&params.compression.lwe, &second_masks(seed));
    let second = change_digits(lwe, layout, &server.second, (&units, &hint), progress)?;
    ZipDoubleServer::compress(params.clone(), seed, database, second, progress)
}
