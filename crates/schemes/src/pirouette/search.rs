//! The choice of parameters for a shape.

use papir_core::cost::Rates;
use papir_core::scheme::{Goal, Parameters as _};
use papir_core::{Result, Shape};

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
/// seeds of 16 bytes, which repeat as little as those of 32 do: after some 2⁶⁴ queries of one client.
///
/// # Errors
/// Those of the last parameters that were tried, where none fit.
pub(super) fn choose<T: Lengths>(shape: Shape, goal: Goal) -> Result<PirouetteParams<T>> {
    let form = if goal == Goal::MinTime { Form::Fast } else { Form::Compact };
    let seed_bytes = if goal == Goal::MinCommunication { 16 } else { 32 };
    let least = shape.record_bytes().clamp(LEAST_SPAN, RESPONSE_DEGREE).next_power_of_two();
    let spans = (0..).map(|shift| least << shift).take_while(|&span| span <= RESPONSE_DEGREE);
    let mut best: Option<(f64, PirouetteParams<T>)> = None;
    let mut refusal = unfit(T::NAME, "no items");
    for (span, tau) in spans.flat_map(|span| (0..=4).map(move |tau| (span, tau))) {
        match closing(shape, Literal { span, tau, gate: GATES[0], seed_bytes, form }) {
            Ok(params) => {
                let cost = cost(&params, goal);
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, params));
                }
            }
            Err(error) => refusal = error,
        }
    }
    best.map(|(_, params)| params).ok_or(refusal)
}

/// The parameters with the fewest digits in gates.
fn closing<T: Lengths>(shape: Shape, literal: Literal) -> Result<PirouetteParams<T>> {
    let mut last = Err(unfit(T::NAME, "no gadgets"));
    for gate in GATES {
        last = PirouetteParams::new(shape, Literal { gate, ..literal });
        if last.is_ok() {
            break;
        }
    }
    last
}

/// What a goal minimises: bytes, seconds, or seconds on a line.
fn cost<T: Lengths>(params: &PirouetteParams<T>, goal: Goal) -> f64 {
    let description = params.describe();
    let bytes = (description.sizes.query + description.sizes.answer) as f64;
    let seconds = description.work.answer.core_seconds(&Rates::BUILT_IN);
    match goal {
        Goal::MinCommunication => bytes + seconds * 1e-3,
        Goal::Balanced => bytes / BALANCED_LINE + seconds,
        Goal::MinTime => seconds,
    }
}
