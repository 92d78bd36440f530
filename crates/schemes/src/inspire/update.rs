//! Updates of prepared parts under the same public seeds.
//!
//! The result has the same bytes as a setup of the changed records. A changed record alters all t
//! coefficients of its column in the chunks in which its bytes differ. So the columns that hold
//! changes are decoded, changed and encoded. Then the packs of the changed chunks are prepared
//! again, with masks from the whole matrix. Each digit of a pack depends on every word of its rows,
//! so one changed record costs as much as thousands of them. Changes should be batched.
//!
//! Since the seeds stay, the queries of all versions count together as queries under one reference
//! string. The whitening stream is known before the changes, and the noise bound assumes that
//! changed records do not depend on it. A new setup draws new seeds.

use papir_core::{AlignedBytes, BlobSlice, Change, Progress, Result, parallel};

use super::encode::{Columns, EncodedColumn, replace};
use super::params::Params;
use super::prepared::{Copies, Exceptions, PartsLayout, PreparedParts, pack_masks, part_words};
use crate::shared::units::{Placed, by_column, columns};

/// Number of columns that are changed together. It bounds the memory beside the matrix.
const BLOCK_COLUMNS: usize = 64;

impl PreparedParts {
    /// Returns the number of columns that hold changes.
    pub(crate) fn changed_columns(&self, changes: &[Change]) -> usize {
        columns(&self.by_column(changes)).count()
    }

    /// Returns the parts after changes, which apply in order.
    pub(crate) fn update(
        &self,
        params: &Params,
        changes: &[Change],
        progress: &dyn Progress,
    ) -> Result<Self> {
        let changes = self.by_column(changes);
        let edits: Vec<&[Placed<'_>]> = columns(&changes).collect();

        let mut next = PartsDraft::new(self);
        progress.stage("encode", edits.len() as u64);
        for block in edits.chunks(BLOCK_COLUMNS) {
            next.edit(block)?;
            progress.advance(block.len() as u64);
        }
        next.finish(params, progress)
    }

    /// Sorts changes by column. The columns of part i start at i times the columns of a part.
    fn by_column<'a>(&self, changes: &'a [Change]) -> Vec<Placed<'a>> {
        by_column(changes, |index| {
            let (part, within) = self.place(index);
            part * self.layout.columns + self.layout.locate(within).column as usize
        })
    }
}

/// A column that differs after its changes.
struct Recoded {
    part: usize,
    column: EncodedColumn,
    /// True for each chunk that differs.
    touched: Vec<bool>,
}

/// The next version under construction.
struct PartsDraft<'a> {
    old: &'a PreparedParts,
    before: Vec<Columns<'a>>,
    /// New matrices, or `None` while nothing differs.
    tiles: Option<AlignedBytes>,
    /// Changed columns of each part.
    changed: Vec<Changed>,
    /// True for each chunk of which any byte differs.
    touched: Vec<bool>,
}

/// The columns of a part that differ.
#[derive(Clone, Default)]
struct Changed {
    /// Indices of the columns, ascending.
    columns: Vec<usize>,
    /// Exceptions of these columns.
    exceptions: Vec<[u32; 2]>,
}

impl<'a> PartsDraft<'a> {
    fn new(old: &'a PreparedParts) -> Self {
        let parts = old.seeds.len();
        Self {
            old,
            before: (0..parts)
                .map(|part| old.columns(part, old.exceptions.of_part(part)))
                .collect(),
            tiles: None,
            changed: vec![Changed::default(); parts],
            touched: vec![false; old.layout.chunks],
        }
    }

    /// Applies all changes of these columns.
    fn edit(&mut self, edits: &[&[Placed<'_>]]) -> Result<()> {
        let recoded = parallel::try_map(edits, |edit| self.recode(edit))?;
        let recoded: Vec<Recoded> = recoded.into_iter().flatten().collect();

        for Recoded {
            part,
            column,
            touched,
        } in &recoded
        {
            for (all, one) in self.touched.iter_mut().zip(touched) {
                *all |= one;
            }
            let changed = &mut self.changed[*part];
            changed.columns.push(column.index);
            changed.exceptions.extend(&column.exceptions);
        }

        // The matrices are copied at the first difference: without one the version keeps them.
        for of_part in recoded.chunk_by(|a, b| a.part == b.part) {
            let tiles = self
                .tiles
                .get_or_insert_with(|| AlignedBytes::copy_of(self.old.tiles.bytes()));
            let part = of_part[0].part;
            let words = part_words(&self.old.layout);
            let tiles: &mut [i16] = &mut tiles.slice_mut()[part * words..][..words];
            let columns: Vec<&EncodedColumn> = of_part.iter().map(|one| &one.column).collect();
            replace(&self.old.layout, tiles, &columns);
        }
        Ok(())
    }

    /// Encodes a column after its changes. Returns `None` if it stays the same.
    fn recode(&self, edit: &[Placed<'_>]) -> Result<Option<Recoded>> {
        let layout = &self.old.layout;
        let part = edit[0].column / layout.columns;
        let index = edit[0].column % layout.columns;

        let before = self.before[part].decode(index);
        let mut after = before.clone();
        for placed in edit {
            let location = layout.locate(self.old.place(placed.change.index).1);
            let unit = location.block as usize * layout.unit_layout.unit_bytes;
            let unit = &mut after[unit..][..layout.unit_layout.unit_bytes];
            layout
                .unit_layout
                .set_slot(unit, location.slot, &placed.change.record)?;
        }
        if after == before {
            return Ok(None);
        }

        let mut touched = vec![false; layout.chunks];
        let [before, elements] =
            [&before, &after].map(|bytes| bytes.chunks_exact(layout.element_bytes()));
        for (i, (before, after)) in before.zip(elements).enumerate() {
            // Elements follow each other point by point, each with all its chunks.
            touched[i % layout.chunks] |= before != after;
        }

        let column = EncodedColumn::encode(layout, &self.old.seeds[part], index, &after);
        Ok(Some(Recoded {
            part,
            column,
            touched,
        }))
    }

    /// Prepares the packs whose rows differ again and copies the others.
    fn finish(mut self, params: &Params, progress: &dyn Progress) -> Result<PreparedParts> {
        let Some(tiles) = self.tiles.take() else {
            return Ok(self.old.clone());
        };

        let PreparedParts {
            sections,
            layout,
            seeds,
            packing,
            ..
        } = self.old;

        let tiles = BlobSlice::new(tiles.into(), sections.database)?;
        let parts: Vec<_> = (0..seeds.len())
            .map(|part| self.exceptions_of(part))
            .collect();
        let exceptions = Exceptions::new(&parts, sections.exceptions)?;

        let chunks = self.touched.iter().filter(|&&touched| touched).count();
        progress.stage("pack", (chunks * layout.points) as u64);
        let of_parts = PartsLayout { params, layout };
        let masks = pack_masks(of_parts, seeds, &tiles, &exceptions, progress);
        let packs =
            self.old
                .packs
                .refresh(packing, |pack| self.touched[pack / layout.points], masks)?;

        // A device's copies are of the old matrices.
        Ok(PreparedParts {
            tiles,
            exceptions,
            packs,
            copies: Copies::default(),
            ..self.old.clone()
        })
    }

    /// Returns the exceptions of a part, sorted: the old exceptions of unchanged columns, and the
    /// new exceptions of the other columns.
    fn exceptions_of(&self, part: usize) -> Vec<[u32; 2]> {
        let changed = &self.changed[part];
        let old = self.old.exceptions.of_part(part).iter();
        let same = old.filter(|[_, column]| {
            // Changes are sorted by column, so that the changed columns are ascending.
            let column = *column as usize;
            changed.columns.binary_search(&column).is_err()
        });

        let mut all = changed.exceptions.clone();
        all.extend(same);
        all.sort_unstable();
        all
    }
}
