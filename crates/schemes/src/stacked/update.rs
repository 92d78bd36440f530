//! Changing records under the same seeds, as InsPIRe does: changed columns are decoded, changed and encoded,
//! then all packs of the stack are prepared again, whose digits depend on every word of their rows.

use std::collections::BTreeMap;

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, UpdateEstimate};
use papir_core::{AlignedBytes, BlobSlice, Change, Result};

use super::server::StackedServer;
use crate::inspire::decode::Columns;
use crate::inspire::encode::{Column, replace};

/// Changes by part and column; those of one column in their order.
type Edits = BTreeMap<usize, BTreeMap<usize, Vec<Change>>>;

/// What [`update`] with these changes would cost, at most.
pub(super) fn cost(server: &StackedServer, changes: &[Change]) -> UpdateEstimate {
    let description = server.params.describe();
    let setup = description.work.setup;
    let columns: usize = edits(server, changes).values().map(BTreeMap::len).sum();
    let update = if columns == 0 {
        Counts::new()
    } else {
        // A setup encodes each column once, an update decodes and encodes those that change.
        let all = (server.params.parts() * server.params.part().columns) as f64;
        let share = (2.0 * columns as f64 / all).min(2.0);
        let counts = setup.iter().fold(Counts::new(), |counts, one| {
            let encodes = matches!(one.operation, Operation::Encode16 | Operation::Interpolate);
            counts.with(one.operation, one.times * if encodes { share } else { 1.0 }, one.parts)
        });
        counts.with(Operation::Copy, description.sizes.database as f64, 1)
    };
    UpdateEstimate { update, setup }
}

/// The database with these changes, in order.
///
/// # Errors
/// Those of the layout.
pub(super) fn update(server: &StackedServer, changes: &[Change]) -> Result<StackedServer> {
    let edits = edits(server, changes);
    if edits.is_empty() {
        return Ok(server.clone());
    }
    let layout = server.params.part();
    let mut tiles = AlignedBytes::copy_of(server.tiles.bytes());
    let mut exceptions = server.exceptions.clone();
    let words = layout.matrix_bytes() / size_of::<i16>();
    for (part, edits) in edits {
        let seed = &server.public.seeds[part];
        let before = Columns::new(layout, seed, server.tiles_of(part), &server.exceptions[part]);
        let mut columns = Vec::with_capacity(edits.len());
        for (column, changes) in edits {
            let mut bytes = before.decode(column);
            changes.iter().try_for_each(|change| layout.bundle.set(&mut bytes, change))?;
            columns.push(Column::encode(layout, seed, column, &bytes));
        }
        replace(layout, &mut tiles.slice_mut()[part * words..][..words], &columns);
        let changed = |column: u32| columns.iter().any(|one| one.index == column as usize);
        exceptions[part].retain(|[_, column]| !changed(*column));
        exceptions[part].extend(columns.iter().flat_map(|column| &column.exceptions));
        exceptions[part].sort_unstable();
    }
    server.changed(BlobSlice::new(tiles.into(), "stacked/database")?, exceptions)
}

fn edits(server: &StackedServer, changes: &[Change]) -> Edits {
    let mut edits = Edits::new();
    for change in changes {
        let (part, index) = server.place(change.index);
        let column = server.params.part().locate(index).column as usize;
        let of_column = edits.entry(part).or_default().entry(column).or_default();
        of_column.push(Change { index, record: change.record.clone() });
    }
    edits
}
