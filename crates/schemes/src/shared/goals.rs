//! Goals, rates and candidates of the parameter searches.

use std::ops::RangeInclusive;

use papir_core::{Goal, Result};

/// log₂ of the largest failure probability of an answer.
pub(crate) const MAX_FAILURE_LOG2: f64 = -40.0;
/// Share of the decoding limit that noise and rounding may fill. The answer to another query falls
/// into the rest of the range and is detected.
pub(crate) const FILL: f64 = 0.9;
/// Uplink and downlink that [`Goal::Balanced`] assumes: bytes a second, 10 Mbit/s.
pub(crate) const BALANCED_LINE: f64 = 1.25e6;
/// Bytes a second that one core reads from a database or from packing matrices.
pub(crate) const READ_RATE: f64 = 2e10;
/// Largest number of heights in [`heights_near`].
const HEIGHTS: u64 = 2048;

/// Cost that a goal minimises, of messages and of one core's work for an answer.
pub(crate) fn score(goal: Goal, bytes: f64, seconds: f64) -> f64 {
    match goal {
        Goal::MinCommunication => bytes,
        Goal::Balanced => bytes / BALANCED_LINE + seconds,
        Goal::MinTime => seconds,
    }
}

/// Returns the candidate with the lowest score, the first of equal ones.
pub(crate) fn best<T>(all: impl IntoIterator<Item = T>, score: impl Fn(&T) -> f64) -> Option<T> {
    all.into_iter().min_by(|a, b| score(a).total_cmp(&score(b)))
}

/// Returns the candidates that succeeded.
///
/// # Errors
/// The last error if there are errors only.
pub(crate) fn successes<T>(all: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let (mut successes, mut last) = (Vec::new(), None);
    for candidate in all {
        match candidate {
            Ok(candidate) => successes.push(candidate),
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) if successes.is_empty() => Err(error),
        _ => Ok(successes),
    }
}

/// Heights from half the ideal one to twice, within a range; evenly spaced where there are many.
pub(crate) fn heights_near(ideal: u64, range: RangeInclusive<u64>) -> impl Iterator<Item = u64> {
    let (least, most) = range.into_inner();
    let (from, to) = ((ideal / 2).clamp(least, most), (ideal * 2 + 1).clamp(least, most));
    (from..=to).step_by(((to - from) / HEIGHTS + 1) as usize)
}

/// Whole numbers from `least` to `most`, `per_octave` for each doubling.
pub(crate) fn scaled(least: u64, most: u64, per_octave: f64) -> Vec<u64> {
    let scale = |i: i32| (least as f64 * 2f64.powf(f64::from(i) / per_octave)).round() as u64;
    let mut numbers: Vec<u64> = (0..).map(scale).take_while(|&number| number <= most).collect();
    numbers.dedup();
    numbers
}
