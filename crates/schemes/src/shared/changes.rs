//! Changes grouped by the column that they fall into.

use papir_core::Change;

/// A change and its column.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub(crate) column: usize,
    pub(crate) change: &'a Change,
}

/// Sorts changes by column; those of one column keep their order.
pub(crate) fn by_column(changes: &[Change], column: impl Fn(u64) -> usize) -> Vec<Placed<'_>> {
    let place = |change: &Change| column(change.index);
    let mut placed: Vec<_> = changes.iter().map(|change| Placed { column: place(change), change }).collect();
    placed.sort_by_key(|placed| placed.column);
    placed
}

/// Splits sorted changes by column.
pub(crate) fn columns<'a, 'b>(placed: &'b [Placed<'a>]) -> impl Iterator<Item = &'b [Placed<'a>]> {
    placed.chunk_by(|a, b| a.column == b.column)
}
