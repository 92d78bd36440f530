//! Changing records under the same public seed: byte for byte what a setup of the changed records gives.
//!
//! A changed record alters γ₀ words of one column, so the masks of one unit's pack: that pack is made again,
//! and its digits are one column of the second level's matrix. All packs of the second level follow, a fixed
//! cost. So the work grows with the number of distinct units, modulo t, that hold changes, from the packs of
//! one unit up to those of all.
//!
//! The seed stays. So the queries of all versions count together as queries under one reference string, and
//! the whitening stream is known before the changes are: the noise bound then assumes that changed records
//! do not depend on it. A new setup draws a new seed.

use std::collections::BTreeMap;

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, UpdateEstimate, check_changes};
use papir_core::{AlignedBytes, BlobSlice, Change, Progress, Result};
use papir_kernels::matvec_i16;
use papir_lattice::packing::{Preprocessed, RingPacking};

use super::encode::{read_unit, write_unit};
use super::params::{NAME, Params};
use super::second::digit_column;
use super::server::{FirstMasks, Parts, SecondMasks, Server};

/// What [`update`] with these changes would cost.
///
/// # Errors
/// As [`check_changes`].
pub(super) fn cost(server: &Server, changes: &[Change]) -> Result<UpdateEstimate> {
    let (params, layout) = (&server.params, server.params.layout());
    check_changes(&layout.shape(), changes)?;
    let mut touched = vec![false; layout.blocks];
    changes.iter().for_each(|change| touched[layout.locate(change.index).block as usize] = true);
    let setup = params.describe().work.setup;
    let update = match touched.iter().filter(|&&touched| touched).count() {
        0 => Counts::new(),
        packs => params.material_work(packs).with(Operation::Copy, params.snapshot_bytes() as f64, 1),
    };
    Ok(UpdateEstimate { update, setup })
}

/// The database with these changes, in order.
///
/// # Errors
/// As [`check_changes`].
pub(super) fn update(server: &Server, changes: &[Change], progress: &dyn Progress) -> Result<Server> {
    let params = &server.params;
    check_changes(&params.layout().shape(), changes)?;
    let mut tiles = None;
    let mut touched = vec![false; params.layout().blocks];
    for (unit, bytes) in changed_units(server, changes)? {
        let tiles: &mut AlignedBytes =
            tiles.get_or_insert_with(|| AlignedBytes::copy_of(server.tiles.bytes()));
        write_unit(params.layout(), &server.public.seed, tiles.slice_mut(), unit, bytes);
        touched[(unit % params.layout().blocks as u64) as usize] = true;
    }
    match tiles {
        None => Ok(server.clone()),
        Some(tiles) => repack(server, BlobSlice::new(tiles.into(), NAME)?, &touched, progress),
    }
}

/// The bytes of all units that differ after the changes.
fn changed_units(server: &Server, changes: &[Change]) -> Result<BTreeMap<u64, Vec<u8>>> {
    let layout = server.params.layout();
    let read = |unit| read_unit(layout, &server.public.seed, &server.tiles, unit);
    let mut units = BTreeMap::new();
    for change in changes {
        let (unit, _) = layout.bundle.locate(change.index);
        layout.bundle.set(units.entry(unit).or_insert_with(|| read(unit)), change)?;
    }
    units.retain(|&unit, bytes| *bytes != read(unit));
    Ok(units)
}

/// The packs of touched blocks made again, and the second level.
fn repack(
    server: &Server,
    tiles: BlobSlice<i16>,
    touched: &[bool],
    progress: &dyn Progress,
) -> Result<Server> {
    let (params, seed, packings) = (&server.params, &server.public.seed, &server.packings);
    let changed = touched.iter().filter(|&&touched| touched).count();
    progress.stage("pack", (changed + params.packs()[0]) as u64);
    let mut matrices = AlignedBytes::copy_of(server.matrices.bytes());
    let first = FirstMasks::new(params, seed, &tiles, progress);
    let prepared = packings.packing(0).prepare_where(
        touched.len(),
        |block| touched[block],
        |block| first.of_block(block),
        matrices.slice_mut(),
    );
    let prepared = prepared
        .map_err(|error| papir_core::Error::Parameters { scheme: NAME, reason: error.to_string() })?;
    let digits = BlobSlice::new(replaced_digits(params, &server.digits, &prepared).into(), NAME)?;
    let masks = SecondMasks::new(params, seed, &digits, progress);
    let second = server.second.refresh(packings.packing(1), |_| true, |pack| masks.of_pack(pack))?;
    let matrices = BlobSlice::new(matrices.into(), NAME)?;
    let parts = Parts { tiles, matrices, digits, second };
    Ok(Server::assemble(params.clone(), *seed, packings.clone(), parts))
}

/// The matrix of digits with the columns of packs that were made again.
fn replaced_digits(params: &Params, old: &BlobSlice<i16>, prepared: &[Option<Preprocessed>]) -> AlignedBytes {
    let mut tiles = AlignedBytes::copy_of(old.bytes());
    let (groups, pairs) = (params.digit_rows() / matvec_i16::ROWS, params.layout().blocks.div_ceil(2));
    for (block, pack) in prepared.iter().enumerate() {
        if let Some(pack) = pack {
            matvec_i16::scatter_column(
                tiles.slice_mut(),
                groups,
                pairs,
                block,
                &digit_column(params, &pack.a),
            );
        }
    }
    tiles
}
