//! Probability that an honest answer does not decode.
//!
//! The bounds are Theorems 9 and 10 of InsPIRe, with the rounding of queries, keys and answers that
//! papir adds. For every interpolation, t packs and t − 1 external products add up in a result. In
//! one variable, Horner's rule takes one product fewer than points; nested, this is t·(1 − 1/t_0) +
//! t/t_0·(1 − 1/t_1) + … = t − 1. A product adds its noise to one ciphertext, and all later
//! products multiply this noise by unit monomials.

use papir_core::FailureBound;
use papir_lattice::noise::{Setting, rounding};

use super::layout::{Layout, PLAINTEXT};
use super::literal::{FILL, Literal};
use crate::shared::parameters::{either_log2, squares_of_whitened, tails, words_log2, words_nats};

/// x of the chi-square tail e⁻ˣ by default. The tail is 2⁻⁶⁵, which is negligible against 2⁻⁴⁰,
/// even over all coefficients.
const TAIL: f64 = 45.0;

/// Variances of an answer's error by source, in units of q.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Errors and rounding of the selector, times the database, with Horner's sum.
    pub selection: f64,
    /// Noise of t packs.
    pub packing: f64,
    /// Noise of t − 1 external products.
    pub evaluation: f64,
    /// Noise of switching the answer to few bits.
    pub response: f64,
}

impl Noise {
    /// Computes the variances for these parameters and q.
    pub(super) fn compute(literal: &Literal, layout: &Layout, modulus: f64) -> Self {
        let sigma = literal.rlwe.sigma;
        let key_bits = literal.key_bits.all();
        let [y_g, y_h, rgsw] =
            key_bits.map(|bits| Setting::error_like(layout.degree, modulus, sigma, bits));
        let points = layout.points as f64;

        // All but the last of a pack's d − 1 key switches are under y_g; a partial pack of n words
        // has n − 1 of them.
        let pack = y_g.partial_packing(literal.key_switch, layout.degree - 1)
            + y_h.partial_packing(literal.key_switch, 2);

        Self {
            selection: squared_sums(layout, literal.failure)
                * selector(sigma, modulus, literal.query_bits),
            packing: points * pack,
            evaluation: (points - 1.0) * rgsw.external_product(literal.rgsw),
            response: y_g.response_switch(literal.answer_bits.0, literal.answer_bits.1),
        }
    }

    /// Returns the sum of the variances before the answer is switched.
    pub fn before_switching(&self) -> f64 {
        self.selection + self.packing + self.evaluation
    }

    /// Returns log₂ of a bound on the probability that a record does not decode: that any
    /// coefficient of any chunk has too large an error.
    pub(super) fn failure_log2(&self, layout: &Layout, modulus: f64, literal: &Literal) -> f64 {
        let variance = self.before_switching() + self.response;
        let threshold = threshold(layout, modulus, literal.fill());
        let bound = literal.failure;
        let failure = tails(bound, layout.degree).failure_log2(
            threshold,
            variance,
            coefficients(layout) as f64,
        );

        if bound.is_default() {
            failure
        } else {
            either_log2(failure, words_log2(bound))
        }
    }
}

/// Returns the error at which a coefficient fails: the share `fill` of q/2p, less the error of Δ =
/// round(q/p). The error of Δ is at most 1/2 for each unit of a message of up to t·p/2.
fn threshold(layout: &Layout, modulus: f64, fill: f64) -> f64 {
    let p = f64::from(PLAINTEXT);
    fill * modulus / (2.0 * p) - layout.points as f64 * p / 4.0
}

/// Returns the number of coefficients of an answer.
fn coefficients(layout: &Layout) -> usize {
    layout.degree * layout.chunks
}

/// Returns the variance at which an answer fails with probability 2^failure_log2 if a part of the
/// range is reserved. Returns `None` if no variance is allowed.
pub(super) fn allowed(
    layout: &Layout,
    modulus: f64,
    bound: FailureBound,
    failure_log2: f64,
) -> Option<f64> {
    let threshold = threshold(layout, modulus, FILL);
    let tails = tails(bound, layout.degree);
    if threshold > 0.0 {
        Some(tails.variance_for(threshold, coefficients(layout) as f64, failure_log2))
    } else {
        None
    }
}

/// Returns the variance of a selector entry on the server.
pub(super) fn selector(sigma: f64, modulus: f64, query_bits: u32) -> f64 {
    sigma * sigma + rounding(modulus / 2f64.powi(query_bits as i32))
}

/// Returns a bound on Σ_c S_c², the factor of a selector entry's variance. S_c is the word of
/// column c in the answer's coefficient. After Horner's rule it is a sum of t words.
///
/// Whitened words are uniform and centred, with mean square m = 2³²/12. For one word (t = 1), the
/// bound is on a sum of squares of uniform words. For sums of t words, S_c counts as a Gaussian of
/// variance t·m, so the sum is t·m times a chi-square of C degrees of freedom. This exceeds C +
/// 2√(Cx) + 2x with probability at most e⁻ˣ (Laurent, Massart 2000, Lemma 1).
pub(super) fn squared_sums(layout: &Layout, bound: FailureBound) -> f64 {
    let rows = coefficients(layout);
    if layout.points == 1 {
        return squares_of_whitened(layout.columns, 2f64.powi(15), rows, bound);
    }

    let columns = layout.columns as f64;
    let points = layout.points as f64;
    let tail = if bound.is_default() {
        TAIL
    } else {
        words_nats(bound, rows)
    };
    let likely = columns + 2.0 * (columns * tail).sqrt() + 2.0 * tail;
    // A word is at most 2^15 in size, so Σ S_c² never exceeds C·(t·2^15)².
    (points * (2f64.powi(32) / 12.0) * likely).min(columns * points * points * 2f64.powi(30))
}
