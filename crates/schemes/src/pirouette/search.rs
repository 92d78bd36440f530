//! Candidate parameters and their cost.

use papir_core::cost::Rates;
use papir_core::scheme::{Goal, Parameters};
use papir_core::{Description, Result, Shape};

use super::chain::RESPONSE_DEGREE;
use super::layout::LEAST_SPAN;
use crate::shared::parameters::{self, refused, score, successes};

/// Digits of the gates' gadgets and log₂ of their bases, fewest digits first.
pub(crate) const GATES: [(usize, u32); 6] = [(3, 7), (4, 6), (4, 5), (5, 4), (6, 4), (7, 3)];

/// Bytes of items that records fit in, from the least on.
pub(crate) fn spans(shape: Shape) -> impl Iterator<Item = usize> {
    let least = shape.record_bytes().clamp(LEAST_SPAN, RESPONSE_DEGREE).next_power_of_two();
    (0..).map(move |shift| least << shift).take_while(|&span| span <= RESPONSE_DEGREE)
}

/// Returns the parameters with the first of the gates whose noise closes.
///
/// # Errors
/// That of the last gate.
pub(crate) fn closing<P>(gates: &[(usize, u32)], new: impl Fn((usize, u32)) -> Result<P>) -> Result<P> {
    let (last, all) = gates.split_last().map_or(((0, 0), gates), |(last, all)| (*last, all));
    all.iter().find_map(|&gate| new(gate).ok()).map_or_else(|| new(last), Ok)
}

/// Returns the parameters of least cost.
///
/// # Errors
/// The last error if there are errors only.
pub(crate) fn best<P: Parameters>(
    scheme: &'static str,
    goal: Goal,
    choices: impl Iterator<Item = Result<P>>,
) -> Result<P> {
    let best = parameters::best(successes(choices)?, |params| cost(&params.describe(), goal));
    best.ok_or_else(|| refused(scheme)("no items"))
}

/// Cost under a goal: bytes, seconds, or seconds with a line's.
fn cost(description: &Description, goal: Goal) -> f64 {
    let bytes = (description.sizes.query + description.sizes.answer) as f64;
    let seconds = description.work.answer.core_seconds(&Rates::BUILT_IN);
    // Of equally short messages the faster ones.
    let tie = if goal == Goal::MinCommunication { seconds * 1e-3 } else { 0.0 };
    score(goal, bytes, seconds) + tie
}
