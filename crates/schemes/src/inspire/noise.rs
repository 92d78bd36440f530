//! The computed probability that an honest answer does not decode (InsPIRe, Theorems 9 and 10, with
//! the rounding of queries, keys and answers that papir adds).
//!
//! Whatever the interpolation, t packs and t − 1 external products add up in a result: Horner's rule in one
//! variable takes its points less one, which nested is t·(1 − 1/t_0) + t/t_0·(1 − 1/t_1) + … = t − 1. A
//! product adds its noise to one ciphertext, and all later ones multiply that by unit monomials.

use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::{Setting, failure_log2, rounding};

use super::layout::{Layout, PLAINTEXT};
use super::params::KeyBits;

/// x of the chi-square tail e⁻ˣ = 2⁻⁶⁵: small beside 2⁻⁴⁰ also over all coefficients.
const TAIL: f64 = 45.0;

/// What the noise depends on.
#[derive(Clone, Copy, Debug)]
pub struct NoiseInput<'a> {
    /// Records, columns, t.
    pub layout: &'a Layout,
    /// q.
    pub modulus: f64,
    /// Standard deviation of secret and error.
    pub sigma: f64,
    /// Bits to which the selector is rounded.
    pub query_bits: u32,
    /// Bits to which key material is rounded.
    pub key_bits: KeyBits,
    /// Gadget of the packing keys.
    pub key_switch: GadgetParams,
    /// Gadget of the RGSW encryptions.
    pub rgsw: GadgetParams,
    /// Bits of an answer's mask and body.
    pub answer_bits: (u32, u32),
}

impl NoiseInput<'_> {
    /// The setting of keys that are rounded to so many bits.
    fn setting(&self, key_bits: u32) -> Setting {
        Setting::error_like(self.layout.degree, self.modulus, self.sigma, key_bits)
    }
}

/// Variances of an answer's error, in units of q, by where they come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Errors and rounding of the selector, times the database (Horner sum included).
    pub selection: f64,
    /// t packs.
    pub packing: f64,
    /// t − 1 external products.
    pub evaluation: f64,
    /// Switching the answer to few bits.
    pub response: f64,
}

impl Noise {
    /// The variances for these parameters.
    pub fn compute(input: &NoiseInput<'_>) -> Self {
        let points = input.layout.points as f64;
        let [y_g, y_h, rgsw] = input.key_bits.all().map(|bits| input.setting(bits));
        let pack = packing(&y_g, &y_h, input.key_switch);
        Self {
            selection: squared_sums(input.layout) * selector(input.sigma, input.modulus, input.query_bits),
            packing: points * pack,
            evaluation: (points - 1.0) * rgsw.external_product(input.rgsw),
            response: y_g.response_switch(input.answer_bits.0, input.answer_bits.1),
        }
    }

    /// Their sum before the answer is switched.
    pub fn before_switching(&self) -> f64 {
        self.selection + self.packing + self.evaluation
    }

    /// log₂ of the probability that a record does not decode: any coefficient of any chunk.
    pub fn failure_log2(&self, input: &NoiseInput<'_>) -> f64 {
        let variance = self.before_switching() + self.response;
        failure_log2(threshold(input.layout, input.modulus), variance, coefficients(input.layout))
    }
}

/// The error at which a coefficient fails: Δ = round(q/p) is off by at most 1/2, once for each unit of a
/// message of up to t·p/2.
fn threshold(layout: &Layout, modulus: f64) -> f64 {
    let p = f64::from(PLAINTEXT);
    modulus / (2.0 * p) - layout.points as f64 * p / 4.0
}

/// Coefficients of an answer.
fn coefficients(layout: &Layout) -> f64 {
    (layout.degree * layout.chunks) as f64
}

/// The variance with which an answer fails with probability 2^failure_log2; none where none does.
pub(super) fn allowed(layout: &Layout, modulus: f64, failure_log2: f64) -> Option<f64> {
    let threshold = threshold(layout, modulus);
    let nats = (1.0 + coefficients(layout).log2() - failure_log2) * std::f64::consts::LN_2;
    (threshold > 0.0).then(|| threshold * threshold / (2.0 * nats))
}

/// Variance of a selector entry as the server has it.
pub(super) fn selector(sigma: f64, modulus: f64, query_bits: u32) -> f64 {
    sigma * sigma + rounding(modulus / 2f64.powi(query_bits as i32))
}

/// Variance that one pack adds: of its d − 1 key switches all but the last are under y_g.
fn packing(y_g: &Setting, y_h: &Setting, gadget: GadgetParams) -> f64 {
    // A partial pack of n takes n − 1 switches.
    y_g.partial_packing(gadget, y_g.degree - 1) + y_h.partial_packing(gadget, 2)
}

/// A bound on Σ_c S_c², which the variance of a selector entry is multiplied by: S_c is the word that
/// the answer's coefficient takes from column c, after Horner's rule a sum of t words.
///
/// Whitened words are uniform and centred, of mean square m = 2³²/12. One word (t = 1): the sum of
/// squares is C·m up to a deviation, of which ten standard ones are added (Var(x²) is (4/5)·m²). Sums of t
/// words: S_c is as a Gaussian of variance t·m, so the sum is t·m times a chi-square of C degrees of
/// freedom; beyond C + 2√(Cx) + 2x with probability e⁻ˣ (Laurent, Massart 2000, Lemma 1).
pub(super) fn squared_sums(layout: &Layout) -> f64 {
    let (columns, points) = (layout.columns as f64, layout.points as f64);
    let mean = 2f64.powi(32) / 12.0;
    let likely = if layout.points == 1 {
        columns + 10.0 * (0.8 * columns).sqrt()
    } else {
        columns + 2.0 * (columns * TAIL).sqrt() + 2.0 * TAIL
    };
    (points * mean * likely).min(columns * points * points * 2f64.powi(30))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::Shape;

    use super::super::interpolation::Interpolation;
    use super::*;

    fn bound(columns: u64, points: usize) -> f64 {
        let shape = Shape::of_bytes(columns * points as u64, 4096).unwrap();
        let interpolation = Interpolation::of_points(points, 2048).unwrap();
        squared_sums(&Layout::new(shape, 2048, interpolation).unwrap())
    }

    /// One column under many points is a single square: its largest value counts, not its mean.
    #[test]
    fn few_columns_are_bounded_by_their_tail() {
        let mean = 2f64.powi(32) / 12.0;
        assert!(bound(1, 64) > 80.0 * 64.0 * mean, "{}", bound(1, 64) / mean);
        assert!(bound(1 << 16, 4) < 1.06 * 4.0 * 65536.0 * mean);
        assert_eq!(bound(1, 1), 2f64.powi(30));
    }
}
