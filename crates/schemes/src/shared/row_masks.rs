//! Masks of the LWE encryptions in a pack, made from rows of a matrix.

use papir_core::Progress;
use papir_lattice::packing::LweMasks;
use papir_lattice::selection::{SelectorMasks, WordMatrix};
use papir_ring::Ring;

/// Rows of one matrix and the masks of its selector, both split into packs.
pub(crate) struct RowMasks<'a> {
    pub(crate) ring: &'a Ring,
    pub(crate) matrix: WordMatrix<'a>,
    pub(crate) masks: SelectorMasks,
    /// Rows in a pack.
    pub(crate) rows: usize,
    pub(crate) progress: &'a dyn Progress,
}

impl RowMasks<'_> {
    /// Masks of the rows of one pack.
    pub(crate) fn of_pack(&self, pack: usize) -> LweMasks {
        self.progress.advance(1);
        self.masks.of_rows(self.ring, &self.matrix, pack * self.rows..(pack + 1) * self.rows)
    }
}
