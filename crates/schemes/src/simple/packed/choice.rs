//! Choice of parameters: the number of packs in a unit, and of words in an entry.
//!
//! Only who builds a database chooses. Clients check the parameters that they receive.

use papir_core::scheme::{Goal, Target};
use papir_core::{Error, FailureBound, Result, Shape};
use papir_lattice::selection::Stacking;

use super::layout::{Layout, MAX_PACKS, least_packs, pack_bytes};
use super::params::{DEGREE, Params};
use crate::shared::parameters::{BALANCED_LINE, best, scaled, successes};
use crate::shared::selection::PackedVariant;
use crate::shared::units::MAX_COLUMNS;

/// Candidates compared for each doubling of the number of packs in a unit.
const PER_OCTAVE: f64 = 4.0;

/// Number of answers that share the masks of a version, when parameters are compared.
const ANSWERS: u64 = 16;

/// Chooses the parameters that the goal prefers.
///
/// # Errors
/// The errors of [`Params::with_packs`].
pub(super) fn choose<V: PackedVariant>(shape: Shape, target: Target) -> Result<Params<V>> {
    let all = compared(shape, target.failure)?;

    best(all, |params| Cost::of(params).score(target.goal))
        .ok_or_else(|| Error::out_of_bounds("the number of packs in a unit", 0, "1 or more"))
}

/// Returns the parameters that no others beat in bytes, work, and what a client sees at once.
///
/// # Errors
/// The errors of [`Params::with_packs`].
pub(super) fn candidates<V: PackedVariant>(
    shape: Shape,
    failure: FailureBound,
) -> Result<Vec<Params<V>>> {
    let all = compared(shape, failure)?;
    let costs: Vec<Cost> = all.iter().map(Cost::of).collect();

    let front = all.into_iter().zip(&costs).filter(|(_, cost)| {
        let mut others = costs.iter();
        !others.any(|other| cost.loses_to(other))
    });
    Ok(front.map(|(params, _)| params).collect())
}

/// Creates the parameters of [`Params::with_packs`] with at most `columns` columns, and the
/// least number of packs that gives so few.
///
/// # Errors
/// The errors of [`Params::with_packs`].
pub(super) fn with_columns<V: PackedVariant>(shape: Shape, columns: u64) -> Result<Params<V>> {
    let least = least_packs(V::SIMPLE.storage, &shape, DEGREE);
    let bytes = pack_bytes(V::SIMPLE.storage, DEGREE) as u64;
    let ideal = (shape.total_bytes() / columns.max(1))
        .div_ceil(bytes)
        .max(least);

    // Unused slots take a little more.
    let packs = (ideal..=(2 * ideal + 1).min(MAX_PACKS))
        .find(|&packs| {
            Layout::new::<V>(shape, DEGREE, packs, Stacking::NONE)
                .is_ok_and(|layout| layout.columns as u64 <= columns.max(1))
        })
        .unwrap_or(ideal);

    Params::with_packs(shape, packs)
}

/// All numbers of packs and of words of an entry that are compared.
fn compared<V: PackedVariant>(shape: Shape, failure: FailureBound) -> Result<Vec<Params<V>>> {
    let all = pack_counts::<V>(&shape).into_iter().flat_map(|packs| {
        let stackings = V::SIMPLE.stackings.iter();
        stackings.map(move |&stacking| Params::stacked(shape, packs, stacking, failure))
    });
    successes(all)
}

/// Numbers of packs in a unit that are worth comparing, up to a single unit.
fn pack_counts<V: PackedVariant>(shape: &Shape) -> Vec<u64> {
    let bytes = pack_bytes(V::SIMPLE.storage, DEGREE) as u64;
    let total = shape.total_bytes();
    // With fewer packs in a column there would be more columns than a selector may have.
    let least = least_packs(V::SIMPLE.storage, shape, DEGREE).max(total / (MAX_COLUMNS * bytes));
    let most = total.div_ceil(bytes).clamp(least, MAX_PACKS.max(least));
    scaled(least, most, PER_OCTAVE)
}

/// What parameters are compared by.
#[derive(Clone, Copy)]
struct Cost {
    /// Seconds of the line.
    line: f64,
    /// Seconds of one core.
    work: f64,
    /// Bytes of records that an answer reveals.
    seen: u64,
}

impl Cost {
    /// Returns the costs of parameters.
    fn of<V: PackedVariant>(params: &Params<V>) -> Self {
        let sizes = params.sizes();
        let bytes = sizes.query + sizes.answer + sizes.hint / ANSWERS;
        let bits = params.selection.bits();

        Self {
            line: bytes as f64 / BALANCED_LINE,
            work: params.selection.counts.rough_seconds::<V>(bits),
            seen: params.seen_bytes(),
        }
    }

    /// Returns the seconds that the goal minimises.
    fn score(&self, goal: Goal) -> f64 {
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
