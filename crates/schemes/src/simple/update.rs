//! Changing records: new bytes in the matrix; for each changed byte a rank-one update of the hint, or where
//! many bytes changed the hint's rows of them again. Besides, database and hint are copied once, since the
//! old version goes on answering.

use std::collections::BTreeSet;

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, UpdateEstimate, check_changes};
use papir_core::{AlignedBytes, Change, Progress, Result};
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{MaskProducts, N, add_multiple};
use rayon::prelude::*;

use super::columns::{self, Difference};
use super::noise::CENTRE;
use super::server::SimpleServer;
use super::wire::SimplePublic;
use super::{ByteMatrix, masks};

/// Bytes of a row's product with all masks that take as long as one rank-one update of it.
const RANK_ONE: u64 = 48;

/// What [`update`] with these changes would cost.
///
/// # Errors
/// As [`check_changes`].
pub(super) fn cost(server: &SimpleServer, changes: &[Change]) -> Result<UpdateEstimate> {
    let (params, layout) = (&server.params, &server.params.layout);
    check_changes(&params.shape(), changes)?;
    let description = params.describe();
    let setup = description.work.setup;
    if changes.is_empty() {
        return Ok(UpdateEstimate { update: Counts::new(), setup });
    }
    let (bytes, rows) = (changes.len() * layout.unit_bytes, layout.changed_rows(changes));
    let stored = (description.sizes.database + description.sizes.hint) as f64;
    let copy = Counts::new().with(Operation::Copy, stored, 1);
    let update = if few(bytes, rows, layout.columns) {
        // A row of n words is added to, instead of multiplied with a key.
        copy.with(Operation::DecryptRow, bytes as f64, 1)
    } else {
        copy.with(Operation::HintProduct8, transformed_bytes(rows, layout.columns) as f64, rows)
    };
    Ok(UpdateEstimate { update, setup })
}

/// Whether rank-one updates for so many bytes are faster than the products of the rows in which they lie.
fn few(bytes: usize, rows: usize, columns: usize) -> bool {
    bytes as u64 * RANK_ONE <= transformed_bytes(rows, columns)
}

/// The database with these changes, in order, under the same seed: byte for byte what a setup of
/// the changed records gives.
pub(super) fn update(
    server: &SimpleServer,
    changes: &[Change],
    progress: &dyn Progress,
) -> Result<SimpleServer> {
    let (params, seed) = (&server.params, server.public.seed);
    let changed = columns::change(params.shape(), &params.layout, &server.database, changes)?;
    let Some((database, differences)) = changed else {
        return Ok(server.clone());
    };
    let mut hint = AlignedBytes::copy_of(&server.public.hint);
    let rows: BTreeSet<usize> = differences.iter().map(|difference| difference.row).collect();
    if few(differences.len(), rows.len(), database.columns()) {
        add_differences(server, differences, hint.slice_mut(), progress);
    } else {
        multiply_rows(server, &database, &rows, hint.slice_mut(), progress);
    }
    let public = SimplePublic { seed, hint: hint.into() };
    Ok(SimpleServer { params: params.clone(), public, database })
}

/// H + ΔD·A, a byte of ΔD at a time.
fn add_differences(
    server: &SimpleServer,
    mut differences: Vec<Difference>,
    hint: &mut [u32],
    progress: &dyn Progress,
) {
    differences.sort_by_key(|difference| difference.column);
    progress.stage("update", differences.len() as u64);
    let (masks, mut mask) = (masks(server.public.seed), vec![0; N]);
    for of_column in differences.chunk_by(|a, b| a.column == b.column) {
        masks.row(of_column[0].column, &mut mask);
        for difference in of_column {
            add_multiple(&mut hint[difference.row * N..][..N], &mask, difference.by);
        }
        progress.advance(of_column.len() as u64);
    }
}

/// The rows of D·A in which bytes changed.
fn multiply_rows(
    server: &SimpleServer,
    database: &ByteMatrix,
    rows: &BTreeSet<usize>,
    hint: &mut [u32],
    progress: &dyn Progress,
) {
    progress.stage("hint", rows.len() as u64);
    let lwe = &server.params.lwe;
    let products = MaskProducts::new(lwe, &masks(server.public.seed), database.columns(), CENTRE);
    let changed = hint.par_chunks_exact_mut(N).enumerate().filter(|(row, _)| rows.contains(row));
    changed.for_each(|(row, words)| {
        let mut bytes = vec![0; database.columns()];
        database.read_row(row, &mut bytes);
        words.copy_from_slice(&products.of_row(lwe, &bytes));
        progress.advance(1);
    });
}
