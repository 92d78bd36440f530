//! What parameters are compared by: the number of packs in a unit, and of words in an entry.
//!
//! Only who builds a database compares. Clients check the parameters that they receive.

use papir_core::Shape;
use papir_core::scheme::Goal;

use super::layout::{MAX_PACKS, least_packs, pack_bytes};
use crate::shared::parameters::scaled;
use crate::shared::selection::SimpleVariant;
use crate::shared::units::MAX_COLUMNS;

/// Candidates compared for each doubling of the number of packs in a unit.
const PER_OCTAVE: f64 = 4.0;

/// Numbers of packs in a unit that are worth comparing, up to a single unit.
pub(super) fn pack_counts(variant: &SimpleVariant, shape: &Shape, degree: usize) -> Vec<u64> {
    let bytes = pack_bytes(variant.storage, degree) as u64;
    let total = shape.total_bytes();

    // With fewer packs in a unit there would be more columns than a selector may have.
    let least = least_packs(variant.storage, shape, degree).max(total / (MAX_COLUMNS * bytes));
    let most = total.div_ceil(bytes).clamp(least, MAX_PACKS.max(least));
    scaled(least, most, PER_OCTAVE)
}

/// Parameters with what they are compared by.
pub(super) struct Weighed<T> {
    pub(super) parameters: T,
    /// Seconds of the line.
    pub(super) line: f64,
    /// Seconds of one core.
    pub(super) work: f64,
    /// Bytes of records that an answer reveals.
    pub(super) seen: u64,
}

impl<T> Weighed<T> {
    /// Returns the seconds that the goal minimises.
    pub(super) fn score(&self, goal: Goal) -> f64 {
        match goal {
            Goal::MinCommunication => self.line,
            Goal::Balanced => self.line + self.work,
            Goal::MinTime => self.line / 1000.0 + self.work,
        }
    }

    /// Returns true if the other parameters are better in one respect, and worse in none.
    fn loses_to(&self, other: &Self) -> bool {
        let no_worse =
            other.line <= self.line && other.work <= self.work && other.seen <= self.seen;
        no_worse && (other.line < self.line || other.work < self.work || other.seen < self.seen)
    }
}

/// Returns the parameters that no others beat.
pub(super) fn unbeaten<T>(all: Vec<Weighed<T>>) -> Vec<T> {
    let kept: Vec<bool> = all
        .iter()
        .map(|one| !all.iter().any(|other| one.loses_to(other)))
        .collect();

    let unbeaten = all.into_iter().zip(kept).filter(|(_, kept)| *kept);
    unbeaten.map(|(one, _)| one.parameters).collect()
}
