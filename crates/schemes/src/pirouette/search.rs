//! The choice of parameters for a shape.

use papir_core::cost::Rates;
use papir_core::scheme::{Goal, Parameters};
use papir_core::{Description, Result, Shape};

use super::Lengths;
use super::chain::{RESPONSE_DEGREE, unfit};
use super::layout::LEAST_SPAN;
use super::params::{Form, Literal, PirouetteParams};

/// Digits and bases of the gates' gadgets, fewest digits first.
pub(crate) const GATES: [(usize, u32); 6] = [(3, 7), (4, 6), (4, 5), (5, 4), (6, 4), (7, 3)];
/// Uplink and downlink that [`Goal::Balanced`] assumes, bytes a second (10 Mbit/s).
const BALANCED_LINE: f64 = 1.25e6;

/// The best parameters for a goal: spans from the record's length on, all numbers of boxes, and of the gates'
/// gadgets the first whose noise closes. Least time takes eight times the memory, and the least communication
/// seeds of 16 bytes, which repeat as little as those of 32 do: after some 2⁶⁴ queries under one key.
///
/// # Errors
/// Those of the last parameters that were tried, where none fit.
pub(super) fn choose<T: Lengths>(shape: Shape, goal: Goal) -> Result<PirouetteParams<T>> {
    let form = if goal == Goal::MinTime { Form::Fast } else { Form::Compact };
    let seed_bytes = if goal == Goal::MinCommunication { 16 } else { 32 };
    let choices = spans(shape).flat_map(|span| (0..=4).map(move |tau| (span, tau)));
    let made = choices.map(|(span, tau)| {
        closing(&GATES, |gate| PirouetteParams::new(shape, Literal { span, tau, gate, seed_bytes, form }))
    });
    best(T::NAME, goal, made)
}

/// Bytes of items that records fit in, from the least on.
pub(crate) fn spans(shape: Shape) -> impl Iterator<Item = usize> {
    let least = shape.record_bytes().clamp(LEAST_SPAN, RESPONSE_DEGREE).next_power_of_two();
    (0..).map(move |shift| least << shift).take_while(|&span| span <= RESPONSE_DEGREE)
}

/// The parameters with the first of the gates whose noise closes.
///
/// # Errors
/// Those of the last.
pub(crate) fn closing<P>(gates: &[(usize, u32)], new: impl Fn((usize, u32)) -> Result<P>) -> Result<P> {
    let (last, all) = gates.split_last().map_or(((0, 0), gates), |(last, all)| (*last, all));
    all.iter().find_map(|&gate| new(gate).ok()).map_or_else(|| new(last), Ok)
}

/// The parameters that cost the least.
///
/// # Errors
/// The last refusal, where all are refused.
pub(crate) fn best<P: Parameters>(
    scheme: &'static str,
    goal: Goal,
    choices: impl Iterator<Item = Result<P>>,
) -> Result<P> {
    let mut best: Option<(f64, P)> = None;
    let mut refusal = unfit(scheme, "no items");
    for choice in choices {
        match choice {
            Ok(params) => {
                let cost = cost(&params.describe(), goal);
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, params));
                }
            }
            Err(error) => refusal = error,
        }
    }
    best.map(|(_, params)| params).ok_or(refusal)
}

/// What a goal minimises: bytes, seconds, or seconds on a line.
fn cost(description: &Description, goal: Goal) -> f64 {
    let bytes = (description.sizes.query + description.sizes.answer) as f64;
    let seconds = description.work.answer.core_seconds(&Rates::BUILT_IN);
    match goal {
        Goal::MinCommunication => bytes + seconds * 1e-3,
        Goal::Balanced => bytes / BALANCED_LINE + seconds,
        Goal::MinTime => seconds,
    }
}
