//! Changes of records: their cost, and their order by column.

use papir_core::cost::Counts;
use papir_core::scheme::{Parameters, UpdateEstimate, check_changes};
use papir_core::{Change, Result, Sizes};

/// Predicts the cost of an update, which is nothing without changes.
///
/// # Errors
/// As [`check_changes`].
pub(crate) fn estimate(
    params: &impl Parameters,
    changes: &[Change],
    update: impl FnOnce(&Sizes) -> Counts,
) -> Result<UpdateEstimate> {
    check_changes(&params.shape(), changes)?;
    let description = params.describe();
    let update = if changes.is_empty() { Counts::new() } else { update(&description.sizes) };
    Ok(UpdateEstimate { update, setup: description.work.setup })
}

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
