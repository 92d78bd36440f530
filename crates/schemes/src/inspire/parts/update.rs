//! Changing records under the same seeds, as InsPIRe does: changed columns are decoded, changed and encoded,
//! then the packs of chunks that differ are prepared again: their digits depend on every word of their rows.

use std::collections::BTreeMap;

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, UpdateEstimate};
use papir_core::{AlignedBytes, BlobSlice, Change, Result};
use papir_ring::prg::Seed;
use rayon::prelude::*;

use super::server::PartsServer;
use crate::inspire::decode::Columns;
use crate::inspire::encode::{Column, replace};
use crate::inspire::layout::Layout;

/// Changes by part and column; those of one column in their order.
type Edits = BTreeMap<usize, BTreeMap<usize, Vec<Change>>>;

/// What [`update`] with these changes would cost, at most.
pub(super) fn cost(server: &PartsServer, changes: &[Change]) -> UpdateEstimate {
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
pub(super) fn update(server: &PartsServer, changes: &[Change]) -> Result<PartsServer> {
    let edits = edits(server, changes);
    if edits.is_empty() {
        return Ok(server.clone());
    }
    let layout = server.params.part();
    let mut tiles = AlignedBytes::copy_of(server.tiles.bytes());
    let mut exceptions = server.exceptions.clone();
    let mut touched = vec![false; layout.chunks];
    let words = layout.matrix_bytes() / size_of::<i16>();
    for (part, edits) in edits {
        let seed = &server.public.seeds[part];
        let before = Columns::new(layout, seed, server.tiles_of(part), &server.exceptions[part]);
        let recode = |(column, changes)| recode(layout, seed, (&before, column), changes);
        let columns = edits.into_par_iter().map(recode).collect::<Result<Vec<_>>>()?;
        let (columns, chunks): (Vec<Column>, Vec<Vec<bool>>) = columns.into_iter().flatten().unzip();
        chunks.iter().for_each(|chunks| touched.iter_mut().zip(chunks).for_each(|(all, one)| *all |= one));
        replace(layout, &mut tiles.slice_mut()[part * words..][..words], &columns);
        let changed =
            |column: u32| columns.binary_search_by_key(&(column as usize), |column| column.index).is_ok();
        exceptions[part].retain(|[_, column]| !changed(*column));
        exceptions[part].extend(columns.iter().flat_map(|column| &column.exceptions));
        exceptions[part].sort_unstable();
    }
    if !touched.contains(&true) {
        return Ok(server.clone());
    }
    server.changed(BlobSlice::new(tiles.into(), "stacked/database")?, exceptions, &touched)
}

/// A column after its changes, and the chunks in which it differs; none when it is the same.
fn recode(
    layout: &Layout,
    seed: &Seed,
    (columns, index): (&Columns<'_>, usize),
    changes: Vec<Change>,
) -> Result<Option<(Column, Vec<bool>)>> {
    let before = columns.decode(index);
    let mut after = before.clone();
    changes.iter().try_for_each(|change| layout.bundle.set(&mut after, change))?;
    if after == before {
        return Ok(None);
    }
    let chunks = before.chunks_exact(layout.element_bytes()).zip(after.chunks_exact(layout.element_bytes()));
    let differing = chunks.map(|(before, after)| before != after).collect();
    Ok(Some((Column::encode(layout, seed, index, &after), differing)))
}

fn edits(server: &PartsServer, changes: &[Change]) -> Edits {
    let mut edits = Edits::new();
    for change in changes {
        let (part, index) = server.place(change.index);
        let column = server.params.part().locate(index).column as usize;
        let of_column = edits.entry(part).or_default().entry(column).or_default();
        of_column.push(Change { index, record: change.record.clone() });
    }
    edits
}
