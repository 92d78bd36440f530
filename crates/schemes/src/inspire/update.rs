//! Changing records under the same public seed: byte for byte what a setup of the changed records gives.
//!
//! A changed record alters all t coefficients of its column in the chunks in which its bytes differ. So:
//! decode, change and encode the columns that hold changes; then prepare the packs of the chunks that
//! changed again, their masks from the whole matrix. Each digit of a pack depends on every word of its
//! rows, so that part costs the same for one changed record as for thousands: batch changes.
//!
//! The seed stays. So the queries of all versions count together as queries under one reference string,
//! and the whitening stream is known before the changes are: the noise bound then assumes that changed
//! records do not depend on it. A new setup draws a new seed.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, UpdateEstimate, check_changes};
use papir_core::{AlignedBytes, Blob, BlobSlice, Change, Progress, Result};
use papir_lattice::packing::inspiring::Inspiring;
use rayon::prelude::*;

use super::decode::Columns;
use super::encode::{Column, replace};
use super::layout::Layout;
use super::server::{PackMasks, Server};
use crate::shared::packs::PreparedPacks;

/// Columns that are changed together, so that few are held beside the matrix.
const BLOCK_COLUMNS: usize = 64;

/// What [`update`] with these changes would cost: columns are decoded and encoded, and all packs prepared
/// again from the whole matrix. A setup is less from about half of the columns on.
///
/// # Errors
/// As [`check_changes`].
pub(super) fn cost(server: &Server, changes: &[Change]) -> Result<UpdateEstimate> {
    let params = &server.params;
    check_changes(&params.layout().shape, changes)?;
    let setup = params.describe().work.setup;
    let update = match by_column(params.layout(), changes).chunk_by(same_column).count() {
        0 => Counts::new(),
        columns => params.preparing(2 * columns).with(Operation::Copy, params.stored_bytes() as f64, 1),
    };
    Ok(UpdateEstimate { update, setup })
}

/// The database with these changes, in order.
///
/// # Errors
/// As [`check_changes`].
pub(super) fn update(server: &Server, changes: &[Change], progress: &dyn Progress) -> Result<Server> {
    let layout = server.params.layout();
    check_changes(&layout.shape, changes)?;
    let changes = by_column(layout, changes);
    let edits: Vec<&[Placed<'_>]> = changes.chunk_by(same_column).collect();
    let mut next = Draft::new(server);
    progress.stage("encode", edits.len() as u64);
    for block in edits.chunks(BLOCK_COLUMNS) {
        next.edit(block)?;
        progress.advance(block.len() as u64);
    }
    next.finish(progress)
}

/// A change, and the column that it falls into.
type Placed<'a> = (usize, &'a Change);

/// Changes by column; those of one column stay in order.
fn by_column<'a>(layout: &Layout, changes: &'a [Change]) -> Vec<Placed<'a>> {
    let place = |change: &'a Change| (layout.locate(change.index).column as usize, change);
    let mut placed: Vec<_> = changes.iter().map(place).collect();
    placed.sort_by_key(|(column, _)| *column);
    placed
}

fn same_column(a: &Placed<'_>, b: &Placed<'_>) -> bool {
    a.0 == b.0
}

/// The next version in the making.
struct Draft<'a> {
    old: &'a Server,
    columns: Columns<'a>,
    /// The new matrix; none as long as nothing differs.
    tiles: Option<AlignedBytes>,
    /// The columns that differ, ascending.
    changed: Vec<usize>,
    /// Their exceptions.
    exceptions: Vec<[u32; 2]>,
    /// For each chunk, whether any of its bytes differs.
    touched: Vec<bool>,
}

impl<'a> Draft<'a> {
    fn new(old: &'a Server) -> Self {
        let layout = old.params.layout();
        Self {
            old,
            columns: Columns::new(layout, &old.public.seed, &old.tiles, &old.exceptions),
            tiles: None,
            changed: Vec::new(),
            exceptions: Vec::new(),
            touched: vec![false; layout.chunks],
        }
    }

    /// Makes the changes of some columns, each with all of its changes.
    fn edit(&mut self, edits: &[&[Placed<'_>]]) -> Result<()> {
        let layout = self.old.params.layout();
        let recoded: Result<Vec<_>> = edits.par_iter().map(|edit| self.recode(edit)).collect();
        let (columns, touched): (Vec<Column>, Vec<Vec<bool>>) = recoded?.into_iter().flatten().unzip();
        if columns.is_empty() {
            return Ok(());
        }
        for (chunk, all) in self.touched.iter_mut().enumerate() {
            *all |= touched.iter().any(|one| one[chunk]);
        }
        let tiles = self.tiles.get_or_insert_with(|| AlignedBytes::copy_of(self.old.tiles.bytes()));
        replace(layout, tiles.slice_mut(), &columns);
        for column in columns {
            self.changed.push(column.index);
            self.exceptions.extend(column.exceptions);
        }
        Ok(())
    }

    /// A column after its changes, and the chunks in which it differs; none when it is the same.
    fn recode(&self, edit: &[Placed<'_>]) -> Result<Option<(Column, Vec<bool>)>> {
        let Some(&(index, _)) = edit.first() else {
            return Ok(None);
        };
        let layout = self.old.params.layout();
        let before = self.columns.decode(index);
        let mut after = before.clone();
        edit.iter().try_for_each(|(_, change)| set(layout, &mut after, change))?;
        if after == before {
            return Ok(None);
        }
        let column = Column::encode(layout, &self.old.public.seed, index, &after);
        Ok(Some((column, differing_chunks(layout, &before, &after))))
    }

    /// Prepares the packs whose rows differ, and takes over the others.
    fn finish(mut self, progress: &dyn Progress) -> Result<Server> {
        let Some(tiles) = self.tiles.take() else {
            return Ok(self.old.clone());
        };
        let tiles = BlobSlice::new(tiles.into(), "inspire/database")?;
        let exceptions = self.all_exceptions();
        let packs = self.packs(&tiles, &exceptions, progress)?;
        let exceptions = Blob::copy_of(bytemuck::cast_slice(&exceptions));
        Ok(Server {
            tiles,
            exceptions: BlobSlice::new(exceptions, "inspire/exceptions")?,
            packs,
            ..self.old.clone()
        })
    }

    /// The packs of chunks that differ, made again, and the others as they are.
    fn packs(
        &self,
        tiles: &[i16],
        exceptions: &[[u32; 2]],
        progress: &dyn Progress,
    ) -> Result<PreparedPacks<Inspiring>> {
        let (params, seed) = (&self.old.params, &self.old.public.seed);
        let points = params.layout().points;
        progress.stage("pack", (self.touched.iter().filter(|&&touched| touched).count() * points) as u64);
        let masks = PackMasks::new(params, seed, tiles, exceptions, progress);
        let touched = |pack: usize| self.touched[pack / points];
        self.old.packs.refresh(&self.old.packing, touched, |pack| masks.of_pack(pack))
    }

    /// Those of columns that are the same, and the new ones of the others, sorted.
    fn all_exceptions(&self) -> Vec<[u32; 2]> {
        let same = |[_, column]: &&[u32; 2]| self.changed.binary_search(&(*column as usize)).is_err();
        let mut all = self.exceptions.clone();
        all.extend(self.old.exceptions.iter().filter(same));
        all.sort_unstable();
        all
    }
}

/// Writes one changed record to its place in a column's bytes.
fn set(layout: &Layout, column: &mut [u8], change: &Change) -> Result<()> {
    let bytes = layout.bundle.unit_bytes;
    let start = layout.locate(change.index).point as usize * bytes;
    layout.bundle.set(&mut column[start..start + bytes], change)
}

/// For each chunk, whether its bytes differ in any element of a column.
fn differing_chunks(layout: &Layout, before: &[u8], after: &[u8]) -> Vec<bool> {
    let bytes = layout.element_bytes();
    let mut differing = vec![false; layout.chunks];
    for (i, (before, after)) in before.chunks_exact(bytes).zip(after.chunks_exact(bytes)).enumerate() {
        differing[i % layout.chunks] |= before != after;
    }
    differing
}
