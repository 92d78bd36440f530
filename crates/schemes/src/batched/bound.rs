//! Bound on the probability that a batch finds no places.
//!
//! k records, each with a place in one random bucket of each of w groups of g. By Hall's theorem
//! they have no distinct places only if for some t there are t + 1 of them whose places all lie in
//! some t buckets, t₁ + … + t_w = t of the groups. The expected number of such choices is
//!
//! ```text
//! Σ_t C(k, t+1) · Σ_{t₁+…+t_w=t} Π_j C(g, tⱼ) · (tⱼ/g)^(t+1)
//! ```
//!
//! and bounds the probability. The inner sum is the coefficient of z^t in F_t(z)^w with F_t(z) =
//! Σ_x C(g, x)·(x/g)^(t+1)·z^x, and no larger than F_t(z)^w/z^t at any z > 0.
//!
//! The buckets of records are those of a permutation: x buckets have at most x·⌈N/g⌉ of the N
//! places, and all of t + 1 records fall into these with probability at most (x·⌈N/g⌉/N)^(t+1),
//! which takes the place of (x/g)^(t+1).

use papir_core::FailureBound;

use super::code::Buckets;

/// Widest groups considered, relative to the capacity. In wider ones most buckets would hold no
/// wanted record.
const MAX_WIDTH_FACTOR: usize = 16;
/// Steps of the search for z; each narrows log z by 0.62.
const STEPS: usize = 32;
/// Logarithm of a part of the largest term so small that 2^20 of them change no digit of the sum.
const NEGLIGIBLE: f64 = -60.0;
/// Range of the search for log z.
const LOG_Z: (f64, f64) = (-40.0, 120.0);

/// log₂ of a bound on the probability that `capacity` of `records` records find no places; −∞ if
/// they always do.
pub(super) fn placement_log2(capacity: usize, buckets: Buckets, records: u64) -> f64 {
    let capacity = capacity.min(usize::try_from(records).unwrap_or(usize::MAX));
    let factorials = LogFactorials::new(capacity.max(buckets.width));
    let term = |t| factorials.choose(capacity, t + 1) + within(&factorials, buckets, records, t);
    let terms: Vec<f64> = (buckets.functions..capacity.min(buckets.count() + 1)).map(term).collect();
    (log_sum(&terms) / std::f64::consts::LN_2).min(0.0)
}

/// The least width with this many groups that keeps a bound; `None` if there is none.
pub(super) fn least_width(
    capacity: usize,
    functions: usize,
    records: u64,
    bound: FailureBound,
) -> Option<usize> {
    let holds = |width| placement_log2(capacity, Buckets { functions, width }, records) <= bound.log2();
    let most = most_width(capacity, records);
    let (mut below, mut above) = (0, 1);
    while !holds(above) {
        if above == most {
            return None;
        }
        (below, above) = (above, (2 * above).min(most));
    }
    while above - below > 1 {
        let middle = below.midpoint(above);
        *(if holds(middle) { &mut above } else { &mut below }) = middle;
    }
    Some(above)
}

/// The widest groups considered.
pub(super) fn most_width(capacity: usize, records: u64) -> usize {
    usize::try_from(records).unwrap_or(usize::MAX).clamp(1, MAX_WIDTH_FACTOR * capacity.max(1))
}

/// ln of a bound on the inner sum.
fn within(factorials: &LogFactorials, buckets: Buckets, records: u64, t: usize) -> f64 {
    let width = buckets.width;
    // Each group has at least one of the t buckets.
    let most = width.min(t + 1 - buckets.functions);
    let share = buckets.records(records) as f64 / records as f64;
    let log_share = |x: usize| (x as f64 * share).min(1.0).ln();
    let coefficient = |x: usize| factorials.choose(width, x) + (t + 1) as f64 * log_share(x);
    let coefficients: Vec<f64> = (1..=most).map(coefficient).collect();
    let at = |log_z: f64| {
        let terms: Vec<f64> =
            (1u32..).zip(&coefficients).map(|(x, value)| value + f64::from(x) * log_z).collect();
        buckets.functions as f64 * log_sum(&terms) - t as f64 * log_z
    };
    least(at, LOG_Z)
}

/// Approximate minimum of a convex function. Any value of it is a valid bound.
fn least(f: impl Fn(f64) -> f64, (mut from, mut to): (f64, f64)) -> f64 {
    const GOLDEN: f64 = 0.618;
    for _ in 0..STEPS {
        let (left, right) = (to - GOLDEN * (to - from), from + GOLDEN * (to - from));
        if f(left) < f(right) {
            to = right;
        } else {
            from = left;
        }
    }
    f(from.midpoint(to))
}

/// ln Σ eˣ.
fn log_sum(terms: &[f64]) -> f64 {
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    let below = terms.iter().map(|term| term - largest);
    // Most terms are far below the largest, and their powers took most of the time of a plan.
    largest + below.filter(|below| *below > NEGLIGIBLE).map(f64::exp).sum::<f64>().ln()
}

/// ln n! for n from 0.
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

    /// ln C(n, k) for k ≤ n.
    fn choose(&self, n: usize, k: usize) -> f64 {
        self.0[n] - self.0[k] - self.0[n - k]
    }
}
