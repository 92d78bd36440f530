//! Search for parameters: compares layouts, digits and capacities.

use papir_core::scheme::Goal;
use papir_core::{Result, Shape};
use papir_lattice::lwe32::{LOG2_Q, matrix_bytes};
use papir_lattice::params::Literal as RlweLiteral;

use super::literal::{DigitShape, Literal, Variant, first_bound, selection};
use crate::double::layout::{Layout, MAX_SIDE, units_of};
use crate::shared::parameters::{READ_RATE, refused, scaled};
use crate::shared::selection::Family;

/// Digits that are compared. Narrow digits take fewer bits of a selector, wide ones fewer rows.
const DIGITS: [DigitShape; 8] = [
    DigitShape { bits: 3, mask: 7, body: 4 },
    DigitShape { bits: 3, mask: 8, body: 3 },
    DigitShape { bits: 4, mask: 5, body: 3 },
    DigitShape { bits: 4, mask: 6, body: 3 },
    DigitShape { bits: 5, mask: 4, body: 3 },
    DigitShape { bits: 6, mask: 4, body: 2 },
    DigitShape { bits: 7, mask: 3, body: 2 },
    DigitShape { bits: 11, mask: 2, body: 1 },
];
/// Numbers of units that are compared for each doubling.
const PER_OCTAVE: f64 = 2.0;

/// The fewest bits for a layout, digits and a capacity; `None` if the noise is too large for any.
pub(super) fn literal<V: Variant>(
    shape: Shape,
    units: u64,
    digits: DigitShape,
    capacity: usize,
) -> Result<Option<Literal>> {
    let layout = Layout::new(&shape, units)?;
    let first = (1..=LOG2_Q).find(|&bits| first_bound(&layout, digits, bits).is_some());
    let bits =
        first.and_then(|first| Some((first, selection(&layout, digits, capacity).choose::<V::Family>()?)));
    Ok(bits.map(|(first_bits, bits)| Literal { shape, units, digits, capacity, first_bits, bits }))
}

/// The best of all digits and capacities with these numbers of units.
///
/// # Errors
/// [`papir_core::Error::OutOfBounds`] for a number of units that does not fit,
/// [`papir_core::Error::Parameters`] if the noise is too large for all.
pub(super) fn best<V: Variant>(shape: Shape, units: &[u64], goal: Goal) -> Result<Literal> {
    let capacities = V::Family::capacities(RlweLiteral::DEFAULT.degree);
    let mut best: Option<(f64, Literal)> = None;
    for &units in units {
        for (&capacity, digits) in
            capacities.iter().flat_map(|capacity| DIGITS.map(|digits| (capacity, digits)))
        {
            let Some(literal) = literal::<V>(shape, units, digits, capacity)? else { continue };
            let cost = cost::<V>(&Layout::new(&shape, units)?, &literal, goal);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, literal));
            }
        }
    }
    let too_noisy = || refused(V::NAME)(format!("{shape:?}: the noise exceeds the decoding limit"));
    best.map(|(_, literal)| literal).ok_or_else(too_noisy)
}

/// Numbers of units of a column that are worth comparing.
///
/// # Errors
/// As [`units_of`]; [`papir_core::Error::OutOfBounds`] if there would be too many columns.
pub(super) fn units(shape: &Shape) -> Result<Vec<u64>> {
    let (all, _) = units_of(shape)?;
    let (least, most) = (all.div_ceil(MAX_SIDE), all.min(MAX_SIDE));
    Layout::new(shape, least)?;
    let mut units = scaled(least, most, PER_OCTAVE);
    units.push(most);
    units.dedup();
    Ok(units)
}

/// Seconds that a goal minimises: of a line at 10 Mbit/s and of one core. Parsing a byte of a
/// message takes about half a nanosecond.
fn cost<V: Variant>(layout: &Layout, literal: &Literal, goal: Goal) -> f64 {
    let (byte, work) = match goal {
        Goal::MinCommunication => (8e-7, 0.0),
        Goal::Balanced => (8e-7, 1.0),
        Goal::MinTime => (5e-10, 1.0),
    };
    let selection = selection(layout, literal.digits, literal.capacity);
    let first = layout.columns * literal.first_bits as usize;
    let sent = (first + selection.message_bits::<V::Family>(&literal.bits)) as f64 / 8.0;
    let database = matrix_bytes(layout.rows(), layout.columns) as f64;
    let second = selection.rough_seconds::<V::Family>(literal.bits.gadget);
    byte * sent + work * (database / READ_RATE + second)
}
