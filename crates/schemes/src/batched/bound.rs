//! Bound on the probability that a batch finds no places.
//!
//! A batch has k records, and each has a place in one random bucket of each of w groups of g
//! buckets. By Hall's theorem they have no distinct places only if for some t there are t + 1 of
//! them whose places all lie in some t buckets, t₁ + … + t_w = t of the groups. The expected number
//! of these choices is
//!
//! ```text
//! Σ_t C(k, t+1) · Σ_{t₁+…+t_w=t} Π_j C(g, tⱼ) · (tⱼ/g)^(t+1)
//! ```
//!
//! and bounds the probability. The inner sum is the coefficient of z^t in F_t(z)^w, where F_t(z) =
//! Σ_x C(g, x)·(x/g)^(t+1)·z^x. It is at most F_t(z)^w/z^t at any z > 0.
//!
//! A permutation gives the records their buckets: x buckets have at most x·⌈N/g⌉ of the N places,
//! and all of t + 1 records fall into these with probability at most (x·⌈N/g⌉/N)^(t+1), which
//! replaces (x/g)^(t+1).

use papir_core::FailureBound;

use super::code::Buckets;

/// Largest width of a group that is considered, as a multiple of the capacity. In a wider group
/// most buckets would hold no wanted record.
const MAX_WIDTH_FACTOR: usize = 16;
/// Natural logarithm of a ratio to the largest term. Even 2^20 terms of this ratio change no digit
/// of the sum.
const NEGLIGIBLE: f64 = -60.0;
/// The least and the largest ln z of the search.
const LOG_Z: (f64, f64) = (-40.0, 120.0);
/// Largest number of steps of the search for ln z. It takes about three.
const MOST_STEPS: usize = 32;
/// Size of a step in ln z at which the search ends. It changes no digit of a bound, since near the
/// minimum a bound changes with the square of the step.
const LAST_STEP: f64 = 1e-6;

/// Computes log₂ of a bound on the probability that `capacity` of `records` records find no places.
/// The result is −∞ if they always find places.
pub(super) fn placement_log2(capacity: usize, buckets: Buckets, records: u64) -> f64 {
    // Equal indices share a place: a batch has at most as many different records as there are.
    let capacity = capacity.min(usize::try_from(records).unwrap_or(usize::MAX));
    let factorials = LogFactorials::new(capacity.max(buckets.width));
    let group = BucketGroup::new(&factorials, buckets, records);

    // The best z for t + 1 is close to the best for t.
    let mut log_z = 0.0;
    let mut terms = Vec::with_capacity(capacity);
    // Fewer than w buckets cannot hold all places of a record, which has one in each of w groups,
    // and more than w·g buckets do not exist.
    for t in buckets.functions..capacity.min(buckets.count() + 1) {
        let inner = group.least(t, log_z);
        log_z = inner.log_z;
        terms.push(factorials.choose(capacity, t + 1) + inner.value);
    }

    // An expected number may exceed 1, a probability does not.
    (log_sum(&terms) / std::f64::consts::LN_2).min(0.0)
}

/// Finds the least width at which `functions` groups keep a bound. Returns `None` if no considered
/// width keeps it.
pub(super) fn least_width(
    capacity: usize,
    functions: usize,
    records: u64,
    bound: FailureBound,
) -> Option<usize> {
    let holds =
        |width| placement_log2(capacity, Buckets { functions, width }, records) <= bound.log2();
    let most = most_width(capacity, records);

    // Doubles the width until the bound holds.
    let mut below = 0;
    let mut above = 1;
    while !holds(above) {
        // Doubling ends at `most` itself, which is the last width that is tried.
        if above == most {
            return None;
        }
        (below, above) = (above, (2 * above).min(most));
    }

    // Wider groups fail less, so the least width is between the last two.
    while above - below > 1 {
        let middle = below.midpoint(above);
        if holds(middle) {
            above = middle;
        } else {
            below = middle;
        }
    }

    Some(above)
}

/// Returns the largest width that is considered.
pub(super) fn most_width(capacity: usize, records: u64) -> usize {
    usize::try_from(records)
        .unwrap_or(usize::MAX)
        .clamp(1, MAX_WIDTH_FACTOR * capacity.max(1))
}

/// Natural logarithms of the parts of F_t(z): of C(g, x) and of the share of x buckets, each for x
/// from 1.
struct BucketGroup {
    functions: usize,
    choices: Vec<f64>,
    shares: Vec<f64>,
}

/// Natural logarithm of a bound on the inner sum, and the ln z at which it holds.
struct Bound {
    log_z: f64,
    value: f64,
}

/// ln F_t(z), and the mean and variance of x if the terms of F_t(z) are its weights.
struct SeriesSum {
    log: f64,
    mean: f64,
    variance: f64,
}

impl BucketGroup {
    fn new(factorials: &LogFactorials, buckets: Buckets, records: u64) -> Self {
        // ⌈N/g⌉ rounds up, so that x buckets may count for more places than there are.
        let share = buckets.records(records) as f64 / records as f64;
        let sizes = 1..=buckets.width;

        Self {
            functions: buckets.functions,
            choices: sizes
                .clone()
                .map(|x| factorials.choose(buckets.width, x))
                .collect(),
            shares: sizes.map(|x| (x as f64 * share).min(1.0).ln()).collect(),
        }
    }

    /// Finds the least w·ln F_t(z) − t·ln z, up to [`LAST_STEP`]. Every value of this expression is
    /// a valid bound.
    ///
    /// The expression is convex in ln z, so Newton's steps lead to its minimum, where w·E(x) = t. A
    /// step out of the range in which the minimum lies is replaced by the middle of the range.
    fn least(&self, t: usize, start: f64) -> Bound {
        let functions = self.functions as f64;
        let wanted = t as f64;
        let (mut from, mut to) = LOG_Z;
        let mut log_z = start;

        for _ in 0..MOST_STEPS {
            let sum = self.sum(t, log_z);
            let slope = functions * sum.mean - wanted;
            if slope > 0.0 {
                to = log_z;
            } else {
                from = log_z;
            }

            // A variance of 0 makes this step infinite or NaN. Neither is inside the range, so the
            // middle is taken.
            let newton = log_z - slope / (functions * sum.variance);
            let next = if newton > from && newton < to {
                newton
            } else {
                from.midpoint(to)
            };
            let step = (next - log_z).abs();
            // One x alone makes the bound the same everywhere.
            if slope == 0.0 || step < LAST_STEP {
                break;
            }
            log_z = next;
        }

        Bound {
            log_z,
            // Any z gives a valid bound: a search that ends early loses tightness only.
            value: functions * self.sum(t, log_z).log - wanted * log_z,
        }
    }

    /// Sums the terms of F_t(z) at a given ln z. The terms are log-concave in x, as binomials and
    /// powers are: they fall on both sides of the largest one, and the sum leaves out all terms
    /// beyond a negligible one.
    fn sum(&self, t: usize, log_z: f64) -> SeriesSum {
        // Each group has at least one of the t buckets.
        let most = self.choices.len().min(t + 1 - self.functions);
        let power = (t + 1) as f64;
        let term = |i: usize| self.choices[i] + power * self.shares[i] + (i + 1) as f64 * log_z;

        // Index i is of x = i + 1 buckets.
        let largest = partition_point(most - 1, |i| term(i + 1) > term(i));
        let peak = term(largest);

        let weight = |i: usize| {
            let below = term(i) - peak;
            (below > NEGLIGIBLE).then(|| (i as f64 - largest as f64, below.exp()))
        };
        let left = (0..largest).rev().map_while(weight);
        let right = (largest..most).map_while(weight);

        // Moments about the largest term. About 0, the variance would be the difference of two
        // large squares and lose its digits.
        let mut total = 0.0;
        let mut first = 0.0;
        let mut second = 0.0;
        for (distance, weight) in left.chain(right) {
            total += weight;
            first += weight * distance;
            second += weight * distance * distance;
        }

        let shift = first / total;
        SeriesSum {
            log: peak + f64::ln(total),
            mean: (largest + 1) as f64 + shift,
            variance: second / total - shift * shift,
        }
    }
}

/// Finds the first number below `count` for which `holds` is false. Returns `count` if it is true
/// for all of them.
fn partition_point(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut from = 0;
    let mut to = count;
    while from < to {
        let middle = from.midpoint(to);
        if holds(middle) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}

/// Computes ln Σ eˣ over the terms x.
fn log_sum(terms: &[f64]) -> f64 {
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }

    // Most terms are far below the largest, and their powers took most of the time of a plan.
    let below = terms.iter().map(|term| term - largest);
    largest
        + below
            .filter(|below| *below > NEGLIGIBLE)
            .map(f64::exp)
            .sum::<f64>()
            .ln()
}

/// Table of ln n! for n from 0.
struct LogFactorials(Vec<f64>);

impl LogFactorials {
    fn new(most: usize) -> Self {
        let mut logs = vec![0.0];
        logs.extend((1..=most).scan(0.0, |sum, n| {
            *sum += (n as f64).ln();
            Some(*sum)
        }));
        Self(logs)
    }

    /// Returns ln C(n, k) for k ≤ n.
    fn choose(&self, n: usize, k: usize) -> f64 {
        self.0[n] - self.0[k] - self.0[n - k]
    }
}
