//! Noise variances and failure probabilities.
//!
//! Under the independence heuristic (InsPIRe, section 2) errors are sums of many independent
//! sub-Gaussian terms, so variances add and the tail is 2·exp(−t²/2V). A uniform error on an
//! interval of length w is sub-Gaussian with its own variance w²/12. Variances are in units of the
//! ciphertext modulus they are stated for; σ is a standard deviation.

use std::f64::consts::{LN_2, LOG2_E};

use papir_ring::sample::EXCESS;

use crate::gadget::GadgetParams;

/// Mean square of a digit, uniform in [−z/2, z/2): (z² + 2)/12.
pub fn digit(log_base: u32) -> f64 {
    (4f64.powi(log_base as i32) + 2.0) / 12.0
}

/// Variance of rounding to multiples of `step`: step²/12.
pub fn rounding(step: f64) -> f64 {
    step * step / 12.0
}

/// Variance of the part of a word that a gadget drops.
pub(crate) fn dropped(gadget: GadgetParams) -> f64 {
    rounding(2f64.powi(gadget.drop as i32))
}

/// Ring, error and key rounding that noise is computed for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// d.
    pub degree: usize,
    /// q.
    pub modulus: f64,
    /// Mean square of a coefficient of the secret.
    pub secret: f64,
    /// Standard deviation of the error.
    pub sigma: f64,
    /// Bits that key material is rounded to for the upload.
    pub key_bits: u32,
}

impl Setting {
    /// A setting whose secret is distributed like the error.
    pub fn error_like(degree: usize, modulus: f64, sigma: f64, key_bits: u32) -> Self {
        Self {
            degree,
            modulus,
            secret: sigma * sigma,
            sigma,
            key_bits,
        }
    }

    /// Variance of the error of one key element after rounding, as the server receives it.
    pub fn key_error(&self) -> f64 {
        self.sigma * self.sigma + rounding(self.modulus / 2f64.powi(self.key_bits as i32))
    }

    /// Variance of Σ digit·error over ℓ digits, for rows of the given energy: the sum of the
    /// variances of a row's coefficients.
    pub(crate) fn digits(&self, gadget: GadgetParams, energy: f64) -> f64 {
        gadget.levels as f64 * digit(gadget.log_base) * energy
    }

    /// Energy of one key element.
    pub(crate) fn key_energy(&self) -> f64 {
        self.degree as f64 * self.key_error()
    }

    /// Variance of a mask's dropped bits times the secret.
    pub(crate) fn dropped_mask(&self, gadget: GadgetParams) -> f64 {
        self.degree as f64 * self.secret * dropped(gadget)
    }

    /// Variance that one key switch adds to a coefficient: digits times errors, plus dropped bits.
    pub fn key_switch(&self, gadget: GadgetParams) -> f64 {
        self.digits(gadget, self.key_energy()) + self.dropped_mask(gadget)
    }

    /// Variance that InspiRING adds to a coefficient: d − 1 key switches (Theorem 2, with the
    /// dropped bits of appendix G.1).
    pub fn packing(&self, gadget: GadgetParams) -> f64 {
        (self.degree - 1) as f64 * self.key_switch(gadget)
    }

    /// Variance that PartialInspiRING of γ encryptions adds to a coefficient: γ − 1 key switches
    /// (Theorem 4, with the dropped bits of appendix G.1).
    pub fn partial_packing(&self, gadget: GadgetParams, capacity: usize) -> f64 {
        (capacity - 1) as f64 * self.key_switch(gadget)
    }

    /// Variance that CDKS packing of d encryptions adds to a coefficient. Each of log₂ d levels
    /// doubles the errors of the level below, which quadruples their variance, and adds a key
    /// switch: (4^{log₂ d} − 1)/3 = (d² − 1)/3 key switches in total.
    pub fn cdks_packing(&self, gadget: GadgetParams) -> f64 {
        let degree = self.degree as f64;
        (degree * degree - 1.0) / 3.0 * self.key_switch(gadget)
    }

    /// Variance that an external product with a unit monomial adds (Lemma 2).
    pub fn external_product(&self, gadget: GadgetParams) -> f64 {
        2.0 * self.digits(gadget, self.key_energy()) + self.dropped_mask(gadget) + dropped(gadget)
    }

    /// Variance, in units of q, of switching an answer's mask to 2^a_bits and its body to 2^b_bits
    /// (Lemma 9, one modulus each).
    pub fn response_switch(&self, a_bits: u32, b_bits: u32) -> f64 {
        self.degree as f64 * self.secret * self.rounding_to(a_bits) + self.rounding_to(b_bits)
    }

    /// Variance, in units of q, of rounding a word to its leading `bits` bits.
    fn rounding_to(&self, bits: u32) -> f64 {
        rounding(self.modulus / 2f64.powi(bits as i32))
    }
}

/// Returns a bound on the sum of squares of `count` uniform integers of −`largest` to
/// `largest` − 1: the mean plus ten standard deviations, and never more than count·largest².
/// Exceeded with probability below 2⁻⁵¹.
pub fn squares_of_uniform(count: f64, largest: f64) -> f64 {
    let [mean, variance] = square_of_uniform(largest);
    (mean * count + 10.0 * (variance * count).sqrt()).min(count * largest * largest)
}

/// [`squares_of_uniform`] exceeded with probability at most e^−`nats`, by Bernstein's inequality.
pub fn squares_of_uniform_within(count: f64, largest: f64, nats: f64) -> f64 {
    let [mean, variance] = square_of_uniform(largest);
    let largest = largest * largest;
    let more = (2.0 * variance * count * nats).sqrt() + (largest - mean) / 3.0 * nats;
    (mean * count + more).min(count * largest)
}

/// Mean and variance, 11/180 too large, of the square of a uniform integer of −L to L − 1.
/// Continuous words would have L²/3 and 4L⁴/45; for words of 4 bits the mean is 0.8 % more.
fn square_of_uniform(largest: f64) -> [f64; 2] {
    let square = largest * largest;
    [
        square / 3.0 + 1.0 / 6.0,
        square * (4.0 * square / 45.0 + 2.0 / 9.0),
    ]
}

/// Returns the fewest bits to which rounding adds at most this variance, in units of the modulus;
/// `None` if the variance is not positive.
pub fn bits_for_rounding(modulus: f64, variance: f64) -> Option<u32> {
    (variance > 0.0).then(|| (modulus / (12.0 * variance).sqrt()).log2().ceil().max(1.0) as u32)
}

/// Model of the tail of a sum of errors, for the union bound over coefficients.
///
/// Both include the excess of the sampler's moments over a Gaussian's ([`EXCESS`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tails {
    /// A Gaussian's tail: 2·exp(−t²/2V).
    Gaussian,
    /// The tail of a sum of `terms` products of independent sub-Gaussian factors, one of each pair
    /// shared by all coefficients: digits times errors of keys, or rounding errors times a secret.
    ///
    /// It bounds every sum of independent parts that are sub-Gaussian or sums of at least as many
    /// products: E exp(λx) of a part of variance V is at most (1 − λ²V/T)^(−T/2), and −ln(1 − x) is
    /// superadditive.
    Products {
        /// T.
        terms: f64,
    },
}

impl Tails {
    /// Returns log₂ of a bound on the probability that any of `coefficients` errors of this
    /// variance exceeds `threshold` in absolute value.
    pub fn failure_log2(self, threshold: f64, variance: f64, coefficients: f64) -> f64 {
        if threshold <= 0.0 {
            return 0.0;
        }
        let nats = self.nats(threshold / (variance * (1.0 + EXCESS)).sqrt());
        (1.0 + coefficients.log2() - nats * LOG2_E).min(0.0)
    }

    /// Returns the number of standard deviations that any of `coefficients` errors exceeds with
    /// probability at most 2^`failure_log2`.
    pub fn deviations(self, coefficients: f64, failure_log2: f64) -> f64 {
        let nats = (1.0 + coefficients.log2() - failure_log2) * LN_2;
        self.deviations_for(nats) * (1.0 + EXCESS).sqrt()
    }

    /// Returns the variance for which [`Tails::failure_log2`] is `failure_log2`.
    pub fn variance_for(self, threshold: f64, coefficients: f64, failure_log2: f64) -> f64 {
        (threshold / self.deviations(coefficients, failure_log2)).powi(2)
    }

    /// −ln of half the probability of an error beyond `deviations` standard deviations.
    fn nats(self, deviations: f64) -> f64 {
        match self {
            Self::Gaussian => deviations * deviations / 2.0,
            Self::Products { terms } => {
                // Chernoff's bound at the best λ² = y²·T/V.
                let c = deviations / terms.sqrt();
                let y = 2.0 * c / (1.0 + (1.0 + 4.0 * c * c).sqrt());
                terms * (y * c + (-y * y).ln_1p() / 2.0)
            }
        }
    }

    /// Inverse of [`Tails::nats`], rounded up.
    fn deviations_for(self, nats: f64) -> f64 {
        let gaussian = (2.0 * nats).sqrt();

        match self {
            Self::Gaussian => gaussian,
            Self::Products { .. } => {
                // The tail is longer than a Gaussian's, whose deviations are therefore too few.
                let mut few = gaussian;
                let mut enough = 2.0 * gaussian;
                while self.nats(enough) < nats {
                    enough *= 2.0;
                }

                // Until nothing lies between them.
                while few < few.midpoint(enough) && few.midpoint(enough) < enough {
                    let middle = few.midpoint(enough);
                    if self.nats(middle) < nats {
                        few = middle;
                    } else {
                        enough = middle;
                    }
                }

                // The upper end: rounding down would promise less than `nats`.
                enough
            }
        }
    }
}

/// A sum of products of independent pairs, one of each pair an error that many coefficients share.
///
/// Its tails are longer than a Gaussian's of the same variance. It stands for every sum of
/// xᵢ·eᵢ with independent sub-Gaussian xᵢ of variance u and Gaussian eᵢ, correlated or not. Given
/// the errors, the sum is sub-Gaussian of variance u·|e|², and E exp(λ²·u·|e|²/2) is the product of
/// (1 − λ²·u·v)^(−1/2) over the eigenvalues v of the errors' covariance. For a given sum T of the
/// eigenvalues and a bound V on each, that is at most (1 − λ²·u·V)^(−T/2V), since −ln(1 − x)/x
/// grows with x: T/V products of variance u·V.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Products {
    /// Number of products in a sum; it need not be whole.
    pub terms: f64,
    /// Variance of each product.
    pub variance: f64,
}

impl Products {
    /// The products of independent factors of variance `factor` with errors whose variances sum to
    /// `energy`, and of which no combination with squares of weights summing to 1 has a variance
    /// above `largest`.
    pub fn of_errors(factor: f64, energy: f64, largest: f64) -> Self {
        Self {
            terms: energy / largest,
            variance: factor * largest,
        }
    }

    /// Variance of the sum.
    pub fn total(self) -> f64 {
        self.terms * self.variance
    }
}

/// [`Tails::failure_log2`] for a sub-Gaussian error plus independent sums of products.
///
/// Chernoff's bound with E exp(λ·x·y) = (1 − λ²·σ²)^(−1/2) for two Gaussians whose product has the
/// variance σ², at the best λ.
pub fn failure_log2_with_products(
    threshold: f64,
    variance: f64,
    products: &[Products],
    coefficients: f64,
) -> f64 {
    let widest = products
        .iter()
        .map(|products| products.variance)
        .fold(0.0, f64::max);
    if widest <= 0.0 || threshold <= 0.0 {
        return Tails::Gaussian.failure_log2(threshold, variance, coefficients);
    }

    // All errors scale with the sampler's, so the threshold may instead.
    let threshold = threshold / (1.0 + EXCESS).sqrt();
    let bound = Chernoff {
        threshold,
        variance,
        products,
    };
    let exponent = bound.exponent(bound.best(widest));

    (1.0 + coefficients.log2() + exponent * LOG2_E).min(0.0)
}

/// Chernoff's bound for a sub-Gaussian error plus independent sums of products.
struct Chernoff<'a> {
    threshold: f64,
    variance: f64,
    products: &'a [Products],
}

impl Chernoff<'_> {
    /// ln of the bound at λ.
    fn exponent(&self, lambda: f64) -> f64 {
        let gaussian = lambda * lambda * self.variance / 2.0;
        let products = self
            .products
            .iter()
            .map(|products| products.terms / 2.0 * (-lambda * lambda * products.variance).ln_1p());
        gaussian - products.sum::<f64>() - lambda * self.threshold
    }

    /// Derivative of [`Chernoff::exponent`].
    fn slope(&self, lambda: f64) -> f64 {
        let products = self
            .products
            .iter()
            .map(|products| products.total() / (1.0 - lambda * lambda * products.variance));
        lambda * (self.variance + products.sum::<f64>()) - self.threshold
    }

    /// Returns the λ of the least exponent; `widest` is the largest variance of a product.
    fn best(&self, widest: f64) -> f64 {
        let products = self.products.iter().map(|products| products.total());
        let most = self.threshold / (self.variance + products.sum::<f64>());
        let mut low = 0.0;
        // The slope is not negative at `most`, and the exponent grows without bound towards
        // 1/√widest: the zero of the slope lies below both.
        let mut high = most.min((1.0 - 1e-12) / widest.sqrt());

        // The exponent is convex in λ: its slope has one zero. Any λ gives a bound, and the zero
        // the best.
        for _ in 0..50 {
            let middle = (low + high) / 2.0;
            if self.slope(middle) > 0.0 {
                high = middle
            } else {
                low = middle
            }
        }

        low
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_excess_is_proved_for_all_deviations_in_use() {
        use papir_ring::sample::SIGMAS;
        let sigmas = [
            crate::lwe32::SIGMA,
            crate::lwe32::MODULE_SIGMA,
            crate::bv::params::SIGMA,
        ];
        let all = sigmas
            .into_iter()
            .chain([crate::params::Literal::DEFAULT.sigma]);
        all.for_each(|sigma| assert!(SIGMAS.contains(&sigma), "σ {sigma}"));
    }

    const MODELS: [Tails; 3] = [
        Tails::Gaussian,
        Tails::Products { terms: 1024.0 },
        Tails::Products { terms: 12.0 },
    ];

    #[test]
    fn deviations_and_failures_are_inverse() {
        for tails in MODELS {
            for failure in [-1.0, -40.0, -128.0, -300.0] {
                let deviations = tails.deviations(2048.0, failure);
                let found = tails.failure_log2(deviations, 1.0, 2048.0);
                assert!(
                    (found - failure).abs() < 1e-9,
                    "{tails:?}: {found}, expected {failure}"
                );
                let variance = tails.variance_for(9.0, 2048.0, failure);
                assert!((tails.failure_log2(9.0, variance, 2048.0) - failure).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn one_sum_of_products_bounds_parts_with_as_many() {
        // Half the variance in 512 products, half Gaussian; and two sums of 512.
        let part = Products {
            terms: 512.0,
            variance: 0.5 / 512.0,
        };
        for threshold in [5.0, 9.0, 14.0, 20.0] {
            let bound = Tails::Products { terms: 512.0 }.failure_log2(threshold, 1.0, 64.0);
            for (variance, products) in [(0.5, &[part][..]), (0.0, &[part, part])] {
                let found = failure_log2_with_products(threshold, variance, products, 64.0);
                assert!(found < bound + 1e-6, "{threshold}: {found}, bound {bound}");
            }
            let gaussian = Tails::Gaussian.failure_log2(threshold, 1.0, 64.0);
            assert!(gaussian < bound);
            let same = Products {
                terms: 512.0,
                variance: 1.0 / 512.0,
            };
            let found = failure_log2_with_products(threshold, 0.0, &[same], 64.0);
            assert!(
                (found - bound).abs() < 1e-6,
                "{threshold}: {found}, expected {bound}"
            );
        }
    }

    /// −ln of Chernoff's bound on the probability that the sum of squares of `count` uniform
    /// integers of −L to L − 1 exceeds `sum`.
    fn chernoff_of_squares(count: f64, l: i32, sum: f64) -> f64 {
        let largest = f64::from(l).powi(2);
        let moment = |lambda: f64| {
            let term = |word: i32| (lambda * (f64::from(word).powi(2) / largest)).exp_m1();
            1.0 + (-l..l).map(term).sum::<f64>() / f64::from(2 * l)
        };
        let exponents = (0..300).map(|i| 40.0 * 0.95f64.powi(i));
        let nats = exponents.map(|lambda| lambda * sum / largest - count * moment(lambda).ln());
        nats.fold(0.0, f64::max)
    }

    #[test]
    fn sums_of_squares_stay_within_their_bounds() {
        for l in [8, 128] {
            for count in [
                1.0, 16.0, 40.0, 200.0, 1024.0, 4096.0, 65536.0, 1048576.0, 16777216.0,
            ] {
                let largest = f64::from(l);
                let below = |bound: f64, nats: f64| {
                    bound >= count * largest * largest
                        || chernoff_of_squares(count, l, bound) >= nats
                };
                assert!(
                    below(squares_of_uniform(count, largest), 51.0 * LN_2),
                    "{count} words of {l}"
                );
                for nats in [28.0, 90.0, 120.0] {
                    let bound = squares_of_uniform_within(count, largest, nats);
                    assert!(below(bound, nats), "{count} words of {l}, {nats}");
                }
            }
        }
    }

    #[test]
    fn tails_of_products_approach_the_gaussian_tail() {
        let gaussian = Tails::Gaussian.failure_log2(9.0, 1.0, 256.0);
        let mut last = 0.0;
        for terms in [2.0, 12.0, 48.0, 1000.0, 1e6] {
            let products = Products {
                terms,
                variance: 1.0 / terms,
            };
            let found = failure_log2_with_products(9.0, 0.0, &[products], 256.0);
            assert!(
                found > gaussian && found < last,
                "{terms}: {found} after {last}, Gaussian {gaussian}"
            );
            last = found;
        }

        assert!(last < gaussian + 0.1, "{last}, Gaussian {gaussian}");
        // Without products, or with negligible ones, the bound is the Gaussian one.
        assert_eq!(
            failure_log2_with_products(9.0, 1.0, &[Products::default()], 256.0),
            gaussian
        );
        let few = Products {
            terms: 12.0,
            variance: 1e-6,
        };
        assert!((failure_log2_with_products(9.0, 1.0, &[few], 256.0) - gaussian).abs() < 0.01);
    }

    #[test]
    fn sampled_sums_of_products_stay_below_the_bound() {
        // Sums of twelve products of Gaussians; a sum of twelve uniform numbers stands for a
        // Gaussian.
        let mut state = 1u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let mut gaussian = || (0..12).map(|_| uniform()).sum::<f64>();
        let count = 200_000;
        let sums = (0..count)
            .map(|_| (0..12).map(|_| gaussian() * gaussian()).sum::<f64>() / 12f64.sqrt());
        let beyond = sums.filter(|sum| sum.abs() > 4.0).count() as f64 / f64::from(count);
        let products = Products {
            terms: 12.0,
            variance: 1.0 / 12.0,
        };
        let bound = failure_log2_with_products(4.0, 0.0, &[products], 1.0).exp2();

        // A Gaussian exceeds 4 deviations with probability 6.3e-5.
        assert!(
            beyond > 1e-4 && beyond < bound,
            "{beyond} beyond 4 deviations, bounded by {bound}"
        );
    }
}
