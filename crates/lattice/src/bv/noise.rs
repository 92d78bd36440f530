//! Bounds on the phases of BV ciphertexts, slot by slot.
//!
//! Under the canonical embedding a product's value in a slot is the product of the values there,
//! and a coefficient is at most the mean of the absolute values over all slots. In a slot, a
//! polynomial with independent coefficients of mean zero and variance V is a sum of n such terms:
//! complex Gaussian with mean square n·V, independent for different pairs of conjugate slots.
//! Its powers have heavy tails that a single slot dominates: a bound of a few standard deviations
//! would be wrong by 2¹⁵ at degree 18. Instead, the mean over the slots is bounded by Markov's
//! inequality for its p-th power, at the best p.

use papir_ring::sample::EXCESS;

use super::params::{PLAINTEXT, SIGMA};

/// The highest moment p that is tried.
const MOST: usize = 16;

/// Returns log₂ of a bound on the coefficients of f(z₁, …, z_m), which fails with probability
/// 2^`failure_log2`.
///
/// f has total degree `degree` and coefficients up to `largest`; the zᵢ are phases of encryptions
/// in a ring of degree n.
pub fn evaluation(
    n: usize,
    variables: usize,
    degree: usize,
    largest: f64,
    failure_log2: f64,
) -> f64 {
    // The phase is t·e + m′, with m′ of mean zero in an interval of length t.
    let variance = (SIGMA * SIGMA * (1.0 + EXCESS) + 0.25) * f64::from(PLAINTEXT).powi(2);
    let scale = (n as f64 * variance).ln() / 2.0;

    let mean = mean_bound(n, failure_log2, |p| {
        ln_moment_of_value(p, variables, degree, scale)
    });
    let bound = degree as f64 * scale + largest.ln() + mean;
    bound / std::f64::consts::LN_2
}

/// Returns ln of a bound on E|f|^p in one slot, in units of (n·V)^(p·degree/2), for a polynomial f
/// with coefficients up to 1 of n-dimensional phases with variance V; `scale` is ln(n·V)/2.
fn ln_moment_of_value(p: usize, variables: usize, degree: usize, scale: f64) -> f64 {
    // E|z|^(p·i) = Γ(1 + p·i/2)·(n·V)^(p·i/2) for a complex Gaussian z. By Minkowski's
    // inequality the p-norm of f is at most the sum of its monomials' p-norms; `all[d]` is the sum
    // over the monomials of degree d, in units of (n·V)^(d/2).
    let row: Vec<f64> = (0..=degree)
        .map(|i| (ln_gamma(p * i) / p as f64).exp())
        .collect();
    let mut all = vec![0f64; degree + 1];
    all[0] = 1.0;

    for _ in 0..variables {
        all = (0..=degree)
            .map(|d| (0..=d).map(|i| all[d - i] * row[i]).sum())
            .collect();
    }

    let norms = (0..=degree).map(|d| all[d] * (scale * (d as f64 - degree as f64)).exp());
    norms.sum::<f64>().ln() * p as f64
}

/// Returns log₂ of a bound on the coefficients of t·Σ ε_l·s^l, l up to `degree`, which fails with
/// probability 2^`failure_log2`.
///
/// This is what modulus switching adds to a phase; ε is uniform up to ½.
pub fn switching(n: usize, degree: usize, failure_log2: f64) -> f64 {
    let secret = (n as f64 * 2.0 / 3.0).ln() / 2.0;
    let rounding = (n as f64 / 12.0).ln() / 2.0 + f64::from(PLAINTEXT).ln();
    let mean = mean_bound(n, failure_log2, |p| {
        ln_moment_of_rounding(p, degree, secret)
    });
    let bound = rounding + degree as f64 * secret + mean;
    bound / std::f64::consts::LN_2
}

/// Returns ln of a bound on E|Σ ε_l·s^l|^p in one slot, in units of exp(p·degree·`secret`), for ε
/// of mean square 1; `secret` is ln of the root mean square of s.
fn ln_moment_of_rounding(p: usize, degree: usize, secret: f64) -> f64 {
    let terms = (0..=degree).map(|l| {
        let moment = (ln_gamma(p) + ln_gamma(p * l)) / p as f64;
        (moment + secret * (l as f64 - degree as f64)).exp()
    });
    terms.sum::<f64>().ln() * p as f64
}

/// Returns ln of a bound on the mean of n/2 independent positive numbers, which fails with
/// probability at most 2^`failure_log2`, from ln of the p-th moment of each.
fn mean_bound(n: usize, failure_log2: f64, ln_moment: impl Fn(usize) -> f64) -> f64 {
    let slots = (n / 2) as f64;
    let moments: Vec<f64> = (0..=MOST)
        .map(|p| if p == 0 { 0.0 } else { ln_moment(p) })
        .collect();

    (1..=MOST)
        .map(|p| {
            let sum = ln_moment_of_sum(slots, &moments[..=p]);
            (sum - failure_log2 * std::f64::consts::LN_2) / p as f64 - slots.ln()
        })
        .fold(f64::INFINITY, f64::min)
}

/// Returns ln of the p-th moment of a sum of `slots` independent numbers, from ln of their moments
/// up to the p-th: p! times the coefficient of u^p in (Σ E(x^k)·u^k/k!)^slots.
fn ln_moment_of_sum(slots: f64, ln_moments: &[f64]) -> f64 {
    let p = ln_moments.len() - 1;
    // Moments are in units of E(x^p)^(1/p), so that no lower one exceeds 1 and exp cannot overflow.
    let unit = ln_moments[p] / p as f64;

    let mut factorial = 1.0;
    let mut series = vec![1.0];
    for (k, moment) in ln_moments.iter().enumerate().skip(1) {
        factorial *= k as f64;
        series.push((moment - k as f64 * unit).exp() / factorial);
    }

    // Power of a series that begins with 1, by Euler's recurrence.
    let mut power = vec![1.0];
    for k in 1..=p {
        let terms = (1..=k).map(|i| (slots * i as f64 - (k - i) as f64) * series[i] * power[k - i]);
        let sum = terms.sum::<f64>();
        power.push(sum / k as f64);
    }

    (power[p] * factorial).ln() + p as f64 * unit
}

/// ln Γ(1 + s/2).
fn ln_gamma(s: usize) -> f64 {
    let start = if s % 2 == 1 {
        std::f64::consts::PI.sqrt().ln()
    } else {
        0.0
    };
    (1..=s)
        .rev()
        .step_by(2)
        .map(|s| (s as f64 / 2.0).ln())
        .sum::<f64>()
        + start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_matches_the_factorial() {
        for (s, expected) in [
            (0, 1.0),
            (2, 1.0),
            (4, 2.0),
            (10, 120.0),
            (1, 0.886_226_925),
            (3, 1.329_340_388),
        ] {
            assert!((ln_gamma(s).exp() / expected - 1.0f64).abs() < 1e-8, "{s}");
        }
    }

    /// A sum of k exponential variables has moments (k + p − 1)!/(k − 1)!.
    #[test]
    fn moments_of_sums_are_exact() {
        let moments: Vec<f64> = (0..=5).map(|p| ln_gamma(2 * p)).collect();
        let found = ln_moment_of_sum(4.0, &moments).exp();
        assert!(
            (found / (4.0 * 5.0 * 6.0 * 7.0 * 8.0) - 1.0).abs() < 1e-9,
            "{found}"
        );
    }

    /// The set tiny of the paper's Table 3 fits its 518 bits; small does not fit its 804.
    #[test]
    fn bounds_of_the_published_sets() {
        let bits = |degree| evaluation(1 << 15, 4, degree, 32_768.0, -41.0) + 1.0;
        assert!((500.0..512.0).contains(&bits(18)), "{}", bits(18));
        assert!((830.0..850.0).contains(&bits(30)), "{}", bits(30));
        let reply = |degree| switching(1 << 15, degree, -41.0) + 1.0;
        assert!((180.0..200.0).contains(&reply(18)), "{}", reply(18));
    }
}
