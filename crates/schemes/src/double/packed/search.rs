//! The choice of parameters: layouts, digits and capacities are compared, the bits follow.

use papir_core::scheme::Goal;
use papir_core::{Error, Result, Shape};
use papir_lattice::lwe32::{LOG2_Q, matrix_bytes};
use papir_lattice::params::Literal as RlweLiteral;

use super::Variant;
use super::digits::DigitShape;
use super::noise::{first_bound, selection};
use super::params::Literal;
use crate::double::layout::{Layout, MAX_SIDE, units_of};
use crate::shared::selection::Family;

/// Digits that are compared. Narrow ones take fewer bits of a selector, wide ones fewer rows.
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
/// Bytes a second of one core reading the database, for comparing candidates.
const READ_RATE: f64 = 2e10;
/// Numbers of units that are compared for each doubling.
const PER_OCTAVE: f64 = 2.0;

/// The fewest bits for a layout, digits and a capacity; `None` when the noise is too much for any.
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
/// [`Error::OutOfBounds`] for a number of units that does not fit, [`Error::Parameters`] when the noise is
/// too much for all.
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
    best.map(|(_, literal)| literal).ok_or_else(|| {
        let reason = format!("{shape:?}: the noise exceeds the decoding limit");
        Error::Parameters { scheme: V::NAME, reason }
    })
}

/// Numbers of units of a column that are worth comparing.
///
/// # Errors
/// As [`units_of`]; [`Error::OutOfBounds`] when columns would be too many.
pub(super) fn units(shape: &Shape) -> Result<Vec<u64>> {
    let (all, _) = units_of(shape)?;
    let (least, most) = (all.div_ceil(MAX_SIDE), all.min(MAX_SIDE));
    Layout::new(shape, least)?;
    let scale = |i: i32| (least as f64 * 2f64.powf(f64::from(i) / PER_OCTAVE)).round() as u64;
    let mut units: Vec<u64> = (0..).map(scale).take_while(|&units| units < most).collect();
    units.push(most);
    units.dedup();
    Ok(units)
}

/// What a goal minimises: seconds of a line at 10 Mbit/s, and of a core that reads 20 GB/s. A byte of a
/// message that only has to be parsed takes about half a nanosecond.
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
