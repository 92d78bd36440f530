//! Search, checks and description of parameters.

use std::ops::RangeInclusive;

use papir_core::cost::Counts;
use papir_core::scheme::{Parameters, UpdateEstimate, check_changes};
use papir_core::{
    Change, Error, FailureBound, Goal, Limits, MAX_RECORDS, Result, Security, Sizes, UpdateCost,
    envelope,
};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::{Tails, squares_of_uniform, squares_of_uniform_within};
use papir_lattice::params::ParamsError;
use papir_lattice::security::{MINIMUM_BITS, Row};

/// Number of bits by which a failure probability may exceed its bound. It allows for floating-point
/// results that differ between machines and versions.
const FAILURE_TOLERANCE: f64 = 1e-4;
/// −log₂ of the share of a failure probability below 2⁻⁴⁰ that is left for whitened words whose sum
/// of squares exceeds its bound.
const WORDS_PART: f64 = 30.0;
/// Share of the decoding limit that noise and rounding may fill. The answer to another query falls
/// into the rest of the range, so it is detected.
pub(crate) const FILL: f64 = 0.9;
/// Rate of uplink and downlink that [`Goal::Balanced`] assumes: 10 Mbit/s, in bytes per second.
pub(crate) const BALANCED_LINE: f64 = 1.25e6;
/// Rate at which one core reads from a database or from packing matrices, in bytes per second.
pub(crate) const READ_RATE: f64 = 2e10;
/// Largest number of heights in [`heights_near`].
const HEIGHTS: u64 = 2048;

/// Returns the cost that a goal minimises: of messages of `bytes` bytes, and of `seconds` seconds
/// of one core for an answer.
pub(crate) fn score(goal: Goal, bytes: f64, seconds: f64) -> f64 {
    match goal {
        Goal::MinCommunication => bytes,
        Goal::Balanced => bytes / BALANCED_LINE + seconds,
        Goal::MinTime => seconds,
    }
}

/// Returns the candidate with the lowest score, the first of equal ones. Returns `None` if there
/// are no candidates.
pub(crate) fn best<T>(all: impl IntoIterator<Item = T>, score: impl Fn(&T) -> f64) -> Option<T> {
    all.into_iter().min_by(|a, b| score(a).total_cmp(&score(b)))
}

/// Returns the candidates that succeeded. If there are errors only, returns the last error.
pub(crate) fn successes<T>(all: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut successes = Vec::new();
    let mut last = None;
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

/// Returns heights from half the ideal one to twice the ideal one, within a range. If they are
/// many, they are evenly spaced.
pub(crate) fn heights_near(ideal: u64, range: RangeInclusive<u64>) -> impl Iterator<Item = u64> {
    let (least, most) = range.into_inner();
    let from = (ideal / 2).clamp(least, most);
    let to = (ideal * 2 + 1).clamp(least, most);
    (from..=to).step_by(((to - from) / HEIGHTS + 1) as usize)
}

/// Returns whole numbers from `least` to `most`, `per_octave` for each doubling.
pub(crate) fn scaled(least: u64, most: u64, per_octave: f64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..)
        .map(|i: i32| (least as f64 * 2f64.powf(f64::from(i) / per_octave)).round() as u64)
        .take_while(|&number| number <= most)
        .collect();
    numbers.dedup();
    numbers
}

/// Returns a function that maps errors of LWE and RLWE parameters to errors of a scheme.
pub(crate) fn unfit(scheme: &'static str) -> impl Fn(ParamsError) -> Error {
    move |error| match error {
        ParamsError::Insecure(error) => Error::Insecure {
            found: error
                .bits
                .map_or("no estimated".to_owned(), |bits| bits.to_string()),
            expected: MINIMUM_BITS as u32,
        },
        other => refused(scheme)(other),
    }
}

/// Returns a function that maps a reason, or the error of a gadget or a packing, to
/// [`Error::Parameters`].
pub(crate) fn refused<R: ToString>(scheme: &'static str) -> impl Fn(R) -> Error {
    move |reason| Error::Parameters {
        scheme,
        reason: reason.to_string(),
    }
}

/// Checks the failure probability of an answer, given as log₂, against the bound of the parameters.
/// NaN gives [`Error::Parameters`], too.
pub(crate) fn check_failure(
    scheme: &'static str,
    failure_log2: f64,
    bound: FailureBound,
) -> Result<()> {
    if failure_log2 <= bound.log2() + FAILURE_TOLERANCE {
        return Ok(());
    }
    Err(refused(scheme)(format!(
        "an answer fails with probability 2^{failure_log2:.1}, above {bound}"
    )))
}

/// Refuses every failure bound but the default, for a scheme whose noise is proved only for that.
/// `found` is log₂ of the failure probability of its answers.
pub(crate) fn check_default_only(
    scheme: &'static str,
    found: f64,
    bound: FailureBound,
    reason: &str,
) -> Result<()> {
    if bound.is_default() {
        return Ok(());
    }

    let asked =
        format!("a failure probability of {bound} was asked for, and 2^{found:.1} is computed");
    Err(refused(scheme)(format!(
        "{asked}; no bound below 2^-40 is proved: {reason}"
    )))
}

/// Returns the model of tails for a bound. By default, products of digits and errors, or of
/// rounding and a secret, count as Gaussians. Below 2⁻⁴⁰ they do not; `terms` is the least number
/// of products in a sum of them.
pub(crate) fn tails(bound: FailureBound, terms: usize) -> Tails {
    if bound.is_default() {
        Tails::Gaussian
    } else {
        Tails::Products {
            terms: terms as f64,
        }
    }
}

/// Returns a bound on the sum of squares of `count` whitened words up to `largest`, which are
/// uniform and centred, in any of `rows` rows. Below 2⁻⁴⁰ it is exceeded with probability
/// 2^[`words_log2`].
pub(crate) fn squares_of_whitened(
    count: usize,
    largest: f64,
    rows: usize,
    bound: FailureBound,
) -> f64 {
    if bound.is_default() {
        return squares_of_uniform(count as f64, largest);
    }
    squares_of_uniform_within(count as f64, largest, words_nats(bound, rows))
}

/// Returns −ln of the part of the probability of [`words_log2`] that each of `rows` rows has.
pub(crate) fn words_nats(bound: FailureBound, rows: usize) -> f64 {
    // A union bound: each row has an equal share of the probability.
    (rows as f64).ln() - words_log2(bound) * std::f64::consts::LN_2
}

/// log₂ of the probability left for whitened words: that the squares of at least one row exceed
/// `squares_of_whitened`.
pub(crate) fn words_log2(bound: FailureBound) -> f64 {
    bound.log2() - WORDS_PART
}

/// Returns log₂ of the sum of two probabilities, given as log₂.
pub(crate) fn either_log2(one: f64, other: f64) -> f64 {
    // The larger factor is taken out: the powers of both would underflow to 0 below 2^-1074.
    let least = one.min(other);
    let most = one.max(other);
    most + (least - most).exp2().ln_1p() * std::f64::consts::LOG2_E
}

/// Returns the bytes of a message with a payload of this length, envelope included.
pub(crate) fn sealed(payload: usize) -> u64 {
    (envelope::OVERHEAD + payload) as u64
}

/// Returns the bytes of the public part, envelope included: the length of the encoded parameters,
/// these parameters, and the rest.
pub(crate) fn sealed_public(parameters: usize, rest: usize) -> u64 {
    sealed(8 + parameters + rest)
}

/// Returns the security that the table of estimates states.
pub(crate) fn security(row: &'static Row) -> Security {
    Security {
        bits: row.matzov,
        source: row.set,
    }
}

/// Returns a gadget's base, digits and dropped bits, for a description.
pub(crate) fn gadget(
    GadgetParams {
        levels,
        log_base,
        drop,
    }: GadgetParams,
) -> String {
    format!("z = 2^{log_base}, l = {levels}, {drop} low bits dropped")
}

/// Returns the limits of a scheme whose queries ask for one record and need no registration.
pub(crate) fn one_record(record_bits: u64, update: UpdateCost) -> Limits {
    Limits {
        records: MAX_RECORDS,
        record_bits,
        batch: 1,
        client_keys: false,
        tickets: false,
        owner_key: false,
        update,
    }
}

/// Estimates an update (no work without changes) beside a new setup; `update` counts its work.
pub(crate) fn estimate(
    params: &impl Parameters,
    changes: &[Change],
    update: impl FnOnce(&Sizes) -> Counts,
) -> Result<UpdateEstimate> {
    check_changes(&params.shape(), changes)?;

    let description = params.describe();
    let update = if changes.is_empty() {
        Counts::new()
    } else {
        update(&description.sizes)
    };

    Ok(UpdateEstimate {
        update,
        setup: description.work.setup,
    })
}
