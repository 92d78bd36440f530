//! Noise of an answer.
//!
//! Decoding sees Δ·d + Σ wᶜ·eᶜ + r. Δ is 2²⁴ and d is the centred word. The words of the row have
//! |wᶜ| ≤ 128. The query's errors eᶜ are discrete Gaussian of standard deviation σ, and subgaussian
//! with the same parameter. |r| ≤ 2^(t−1) is the rounding of an answer that drops its low t bits.
//! The hint is not rounded, and the secret is not part of the noise. The sum is subgaussian with
//! deviation σ·√Σw² ≤ 128·σ·√columns, so |Σ| > x with probability below 2·exp(−x²/2·deviation²).

use papir_core::FailureBound;
use papir_lattice::lwe32::{LOG2_Q, SIGMA};
use papir_lattice::noise::Tails;

use crate::shared::parameters::FILL;

/// log₂ of the plaintext modulus p: a word is a byte.
pub(super) const LOG2_P: u32 = 8;
/// Half of the plaintext modulus p, which centring subtracts.
pub(super) const CENTRE: u8 = 128;
/// log₂ of Δ = q/p.
pub(super) const LOG2_DELTA: u32 = LOG2_Q - LOG2_P;
/// Largest absolute value of a centred word.
const MAX_WORD: f64 = CENTRE as f64;
/// log₂ of the probability that the errors of one answer's rows exceed their part of the bound, by
/// default.
pub(super) const TAIL_LOG2: f64 = -48.0;

/// Rounding of an answer and the bound of its decoding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Budget {
    /// Number of low bits that an answer drops.
    pub(super) dropped_bits: u32,
    /// Largest distance from a multiple of Δ that decoding accepts.
    pub(super) bound: u32,
    /// log₂ of a bound on the probability that an honest answer has a row beyond the bound.
    pub(super) failure_log2: f64,
}

/// Returns a bound on the deviation of one row's error sum.
pub(super) fn deviation(columns: usize) -> f64 {
    SIGMA * MAX_WORD * (columns as f64).sqrt()
}

/// Returns the budget of the shortest answer whose rows fail to decode with a probability within
/// the bound. Returns `None` if the errors alone are too large.
pub(super) fn budget(rows: usize, columns: usize, failure: FailureBound) -> Option<Budget> {
    let failure_log2 = TAIL_LOG2 - failure.beyond_default();
    let errors = deviation(columns) * Tails::Gaussian.deviations(rows as f64, failure_log2);
    let limit = FILL * f64::from(1 << (LOG2_DELTA - 1));

    let dropped_bits = (0..LOG2_DELTA)
        .rev()
        .find(|&bits| errors + rounding(bits) <= limit)?;
    let bound = (errors + rounding(dropped_bits)).ceil() as u32;

    Some(Budget {
        dropped_bits,
        bound,
        failure_log2,
    })
}

/// Returns the largest error of rounding to a multiple of 2^bits.
fn rounding(bits: u32) -> f64 {
    f64::from((1u32 << bits) / 2)
}
