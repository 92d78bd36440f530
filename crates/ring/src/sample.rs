//! Constant-time samplers of secrets and noise.
//!
//! σ is always the **standard deviation**. If a paper gives a *width* s, then σ = s/√(2π).

use rand_core::CryptoRng;
use zeroize::Zeroize;

/// The largest standard deviation of a [`Gaussian`].
pub const MAX_SIGMA: f64 = 64.0;
/// Relative excess of a sample's moments over a Gaussian's moments.
///
/// A sample Y of a [`Gaussian`] with one of [`SIGMAS`] satisfies, for every j ≥ 1,
/// E Y²ʲ ≤ (2j − 1)!!·(σ²·(1 + `EXCESS`))ʲ. The right side is the moment of a Gaussian, and odd
/// moments are zero, so E exp(tY) ≤ exp(t²·σ²·(1 + `EXCESS`)/2) for every t: samples are
/// sub-Gaussian. Both hold for the table itself, so a bound on sums of samples that uses them needs
/// no statistical distance. Decision 27 has the proof, which the tests carry out.
pub const EXCESS: f64 = 1.0 / (1u32 << 25) as f64;
/// log₂ of a bound on the statistical distance of a sample from the discrete Gaussian, for σ ≤ 11.
pub const DISTANCE_LOG2: f64 = -58.0;
/// The standard deviations of all schemes, for which [`EXCESS`] is proved.
pub const SIGMAS: [f64; 4] = [3.19, 3.2, 6.4, 11.0];
/// Random words drawn at a time.
const BATCH: usize = 256;
/// Samples that are compared with the table together, in vector registers.
const LANES: usize = 8;
/// Bits of a table entry; the remaining bit of a random word is the sign.
const BITS: u32 = 63;

/// Error from [`Gaussian::new`]: the standard deviation is out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("standard deviation {found}: expected more than 0 and at most {MAX_SIGMA}")]
pub struct SigmaError {
    /// The given value.
    pub found: f64,
}

/// The discrete Gaussian over the integers, P(x) ∝ exp(−x²/2σ²), by a cumulative table.
///
/// Entry k is ⌊2⁶³·P(|x| ≤ k)⌋, computed with 128-bit integers, up to the k at which the tail is
/// below 2⁻⁶³. So the error of every probability is less than 2⁻⁶³, and the statistical distance
/// from the discrete Gaussian, half the sum of the errors, is below (entries + 2)·2⁻⁶⁴: less than
/// 2⁻⁵⁴ for every allowed σ, and 2^[`DISTANCE_LOG2`] up to σ = 11. Tails are bounded by [`EXCESS`]
/// instead. The σ of that Gaussian differs from the given one by the rounding of `f64` (2⁻⁵¹ of
/// it).
///
/// From σ = 1 on, the standard deviation of the samples is σ to more than six digits. Below, it is
/// smaller, because the integers are too coarse.
#[derive(Clone, Debug)]
pub struct Gaussian {
    sigma: f64,
    table: Vec<u64>,
}

impl Gaussian {
    /// A sampler of standard deviation `sigma`.
    ///
    /// # Errors
    /// [`SigmaError`] unless 0 < σ ≤ [`MAX_SIGMA`].
    pub fn new(sigma: f64) -> Result<Self, SigmaError> {
        if !(sigma > 0.0 && sigma <= MAX_SIGMA) {
            return Err(SigmaError { found: sigma });
        }
        Ok(Self {
            sigma,
            table: cumulative_table(sigma),
        })
    }

    /// The standard deviation.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// The largest absolute value of a sample.
    pub fn bound(&self) -> i32 {
        self.table.len() as i32
    }

    /// Fills `out` with independent samples.
    ///
    /// Every sample reads the whole table; no branch and no address depends on a random value.
    pub fn fill(&self, rng: &mut dyn CryptoRng, out: &mut [i32]) {
        with_words(rng, out, |words, out| {
            for (words, out) in words
                .as_chunks::<LANES>()
                .0
                .iter()
                .zip(out.chunks_mut(LANES))
            {
                let samples = self.look_up(words);
                out.copy_from_slice(&samples[..out.len()]);
            }
        });
    }

    /// Maps random words to samples. The magnitude is the number of table entries that are at most
    /// the low 63 bits; the top bit is the sign.
    fn look_up(&self, words: &[u64; LANES]) -> [i32; LANES] {
        let uniform = words.map(|word| word & (u64::MAX >> 1));

        let mut magnitude = [0u64; LANES];
        for &entry in &self.table {
            for (magnitude, uniform) in magnitude.iter_mut().zip(uniform) {
                // Both are below 2^63: the difference has the top bit set where uniform ≥ entry.
                *magnitude += entry.wrapping_sub(uniform).wrapping_sub(1) >> 63;
            }
        }

        std::array::from_fn(|lane| {
            // x ^ −sign + sign negates x if the sign is 1.
            let sign = (words[lane] >> 63) as i32;
            (magnitude[lane] as i32 ^ -sign) + sign
        })
    }
}

/// Fills `out` with independent samples, uniform in {−1, 0, 1} to within 2⁻⁶³.
pub fn ternary(rng: &mut dyn CryptoRng, out: &mut [i32]) {
    with_words(rng, out, |words, out| {
        for (out, &word) in out.iter_mut().zip(words) {
            // The high word of three times the word is 0, 1 or 2, without a division, whose time
            // may depend on the word.
            *out = ((u128::from(word) * 3) >> 64) as i32 - 1;
        }
    });
}

/// Fills `out` with independent samples, uniform in {0, 1}.
pub fn binary(rng: &mut dyn CryptoRng, out: &mut [i32]) {
    with_words(rng, out, |words, out| {
        for (out, &word) in out.iter_mut().zip(words) {
            *out = (word & 1) as i32;
        }
    });
}

/// Calls `make` on batches of `out` with one random word for each value, and erases the words.
fn with_words(rng: &mut dyn CryptoRng, out: &mut [i32], make: impl Fn(&[u64; BATCH], &mut [i32])) {
    let mut words = [0u64; BATCH];
    for out in out.chunks_mut(BATCH) {
        rng.fill_bytes(bytemuck::cast_slice_mut(&mut words[..out.len()]));
        words
            .iter_mut()
            .for_each(|word| *word = u64::from_le(*word));
        make(&words, out);
    }
    words.zeroize();
}

/// ⌊2⁶³·P(|x| ≤ k)⌋ for k = 0, 1, …, while it is below 2⁶³ − 1.
fn cumulative_table(sigma: f64) -> Vec<u64> {
    let weights = weights(sigma);
    // |x| = k covers two values except at k = 0. A table has at most √(160 ln 2)·σ + 1 < 676
    // weights: scaled to 2¹¹¹ and doubled, their sum stays below the 2¹²⁷ that `ratio` allows.
    let doubled: Vec<u128> = weights
        .iter()
        .enumerate()
        .map(|(k, &weight)| (weight >> 16) << u32::from(k > 0))
        .collect();
    let total: u128 = doubled.iter().sum();

    let mut sum = 0;
    let cumulative = doubled.iter().map(|&weight| {
        sum += weight;
        ratio(sum, total)
    });
    cumulative
        .take_while(|&entry| entry < (1 << BITS) - 1)
        .collect()
}

/// ⌊2⁶³·part/total⌋ by long division; both are below 2¹²⁷ and part ≤ total.
fn ratio(part: u128, total: u128) -> u64 {
    let mut quotient = (part / total) as u64;
    let mut rest = part % total;
    for _ in 0..BITS {
        rest <<= 1;
        quotient = quotient << 1 | u64::from(rest >= total);
        rest -= if rest >= total { total } else { 0 };
    }
    quotient
}

/// exp(−k²/2σ²)·2¹²⁷ for k = 0, 1, …, while it is at least 2⁴⁷ (2⁻⁸⁰ of the first).
fn weights(sigma: f64) -> Vec<u128> {
    let mut weights = vec![1 << 127];
    // exp(−(k+1)²/2σ²) = exp(−k²/2σ²)·r^(2k+1) with r = exp(−1/2σ²).
    let step = exp_of_minus(0.5 / (sigma * sigma));
    let square = multiply(step, step);
    let mut weight = multiply(1 << 127, step);
    let mut factor = multiply(step, square);

    while weight >= 1 << 47 {
        weights.push(weight);
        weight = multiply(weight, factor);
        factor = multiply(factor, square);
    }

    weights
}

/// exp(−x)·2¹²⁷ for x ≥ 0, from the power series at x/2^m < 1/16 and m squarings.
fn exp_of_minus(x: f64) -> u128 {
    // exp(−128) is already less than one unit.
    let x = x.min(128.0);
    let halvings = (x * 16.0).log2().ceil().max(0.0);
    let small = (x / halvings.exp2() * 127f64.exp2()) as u128;

    // The terms of the series alternate in sign, so the even and the odd ones are summed apart,
    // as unsigned numbers.
    let mut even = 0u128;
    let mut odd = 0u128;
    let mut term = 1u128 << 127;
    // A term is at most a sixteenth of the one before, so the loop ends within 33 rounds.
    for i in 0u128.. {
        if term == 0 {
            break;
        }
        *if i % 2 == 0 { &mut even } else { &mut odd } += term;
        term = multiply(term, small) / (i + 1);
    }

    (0..halvings as u32).fold(even - odd, |power, _| multiply(power, power))
}

/// ⌊a·b/2¹²⁷⌋, for a, b ≤ 2¹²⁷.
fn multiply(a: u128, b: u128) -> u128 {
    let (a1, a0) = split(a);
    let (b1, b0) = split(b);
    let (left1, left0) = split(a1 * b0);
    let (right1, right0) = split(a0 * b1);

    let (carry, middle) = split(split(a0 * b0).0 + left0 + right0);
    // The product is at most 2²⁵⁴, so the high word has a free bit for the shift.
    let high = a1 * b1 + left1 + right1 + carry;
    (high << 1) | (middle >> 63)
}

/// Returns the high and the low 64 bits.
fn split(x: u128) -> (u128, u128) {
    (x >> 64, x & u128::from(u64::MAX))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    const SAMPLES: usize = 1 << 20;
    const WIDE_AND_NARROW: [f64; 6] = [1.0, 2.55, 3.19, 6.4, 11.0, 64.0];

    fn samples(sigma: f64, count: usize) -> Vec<i32> {
        let mut rng = chacha20::ChaCha20Rng::seed_from_u64(sigma.to_bits());
        let mut out = vec![0; count];
        Gaussian::new(sigma).unwrap().fill(&mut rng, &mut out);
        out
    }

    fn moment(values: &[i32], power: i32) -> f64 {
        values
            .iter()
            .map(|&x| f64::from(x).powi(power))
            .sum::<f64>()
            / values.len() as f64
    }

    /// P(x) of the discrete Gaussian, by its definition.
    fn probability(sigma: f64, x: i32) -> f64 {
        let weight = |x: i32| (-f64::from(x).powi(2) / (2.0 * sigma * sigma)).exp();
        weight(x) / (-800..=800).map(weight).sum::<f64>()
    }

    #[test]
    fn moments_match_the_standard_deviation() {
        for sigma in WIDE_AND_NARROW {
            let values = samples(sigma, SAMPLES);
            let n = (SAMPLES as f64).sqrt();
            let mean = moment(&values, 1);
            let variance = moment(&values, 2);
            assert!(mean.abs() < 5.0 * sigma / n, "σ {sigma}: mean {mean}");
            // The variance of x² is 2σ⁴. A width mistaken for a deviation is off by a factor of 2π.
            let relative = variance / (sigma * sigma) - 1.0;
            assert!(
                relative.abs() < 5.0 * 2f64.sqrt() / n,
                "σ {sigma}: variance {variance}"
            );
            let kurtosis = moment(&values, 4) / (variance * variance);
            assert!(
                (kurtosis - 3.0).abs() < 5.0 * 24f64.sqrt() / n,
                "σ {sigma}: kurtosis {kurtosis}"
            );
            let skewness = moment(&values, 3) / variance.powf(1.5);
            assert!(
                skewness.abs() < 5.0 * 15f64.sqrt() / n,
                "σ {sigma}: skewness {skewness}"
            );
        }
    }

    #[test]
    fn frequencies_fit_by_chi_square() {
        for sigma in WIDE_AND_NARROW {
            let values = samples(sigma, SAMPLES);
            let reach = (2.5 * sigma) as i32;
            let chi2: f64 = (-reach..=reach)
                .map(|x| {
                    let expected = probability(sigma, x) * SAMPLES as f64;
                    let count = values.iter().filter(|&&value| value == x).count() as f64;
                    (count - expected).powi(2) / expected
                })
                .sum();
            let freedom = f64::from(2 * reach + 1);
            let limit = freedom + 5.0 * (2.0 * freedom).sqrt();
            assert!(
                chi2 < limit,
                "σ {sigma}: chi-square {chi2}, {freedom} degrees of freedom"
            );
        }
    }

    #[test]
    fn the_tail_has_the_expected_weight_and_ends() {
        let sigma = 6.4;
        let values = samples(sigma, SAMPLES);
        let count = values.iter().filter(|x| x.abs() > 25).count() as f64;
        let expected: f64 = (26..100)
            .map(|x| 2.0 * probability(sigma, x) * SAMPLES as f64)
            .sum();

        assert!(
            (count - expected).abs() < 6.0 * expected.sqrt(),
            "{count} of {expected} beyond 4σ"
        );
        let bound = Gaussian::new(sigma).unwrap().bound();
        assert!(values.iter().all(|x| x.abs() <= bound));
        assert!((55..=65).contains(&bound), "bound {bound}: 9.3 σ expected");
    }

    #[test]
    fn table_entries_are_the_cumulative_probabilities() {
        for sigma in [0.3, 1.0, 6.4, 64.0] {
            let table = cumulative_table(sigma);
            let mut sum = probability(sigma, 0);
            for (k, &entry) in table.iter().enumerate() {
                let found = entry as f64 / 63f64.exp2();
                assert!(
                    (found - sum).abs() < 1e-14,
                    "σ {sigma}, entry {k}: {found}, expected {sum}"
                );
                sum += 2.0 * probability(sigma, k as i32 + 1);
            }
            assert!(table.is_sorted() && table.last().is_some_and(|&last| last < (1 << 63) - 1));
        }
    }

    /// The probabilities of the magnitudes 0, 1, … of samples, in units of 2⁻⁶³.
    fn magnitudes(table: &[u64]) -> Vec<u64> {
        let entries = table.iter().copied().chain([1 << BITS]);
        entries
            .scan(0, |last, entry| {
                Some(entry - std::mem::replace(last, entry))
            })
            .collect()
    }

    /// The largest relative excess of even moments, each as a mean square: computed up to the order
    /// from which on it only falls, since the next moment is at most bound² times as large, and a
    /// Gaussian's (2j + 1)·σ² times. All terms are positive: the result is exact to 10⁻¹².
    fn excess(sigma: f64, table: &[u64]) -> f64 {
        let probabilities = magnitudes(table);
        let moment = |j: i32| {
            let term = |(k, &p): (usize, &u64)| {
                let power = (1..=j).map(|i| (k as f64 / sigma).powi(2) / f64::from(2 * i - 1));
                p as f64 * 2f64.powi(-63) * power.product::<f64>()
            };
            probabilities.iter().enumerate().map(term).sum::<f64>()
        };
        let last = (table.len() as f64 / sigma).powi(2) / 2.0;
        let orders = 1..=last.ceil() as i32 + 1;
        orders
            .map(|j| moment(j).powf(1.0 / f64::from(j)) - 1.0)
            .fold(0.0, f64::max)
    }

    #[test]
    fn moments_stay_below_those_of_a_gaussian() {
        for sigma in SIGMAS {
            let table = cumulative_table(sigma);
            let found = excess(sigma, &table);
            assert!(found < 0.9 * EXCESS, "σ {sigma}: {found:e}");
            // A table of 30 bits exceeds it.
            let coarse: Vec<u64> = table.iter().map(|entry| entry >> 33 << 33).collect();
            assert!(excess(sigma, &coarse) > EXCESS, "σ {sigma}");
        }
    }

    /// Against probabilities with 100 bits.
    #[test]
    fn the_statistical_distance_is_below_its_bound() {
        for sigma in [1.0, 2.55, 3.19, 3.2, 6.4, 11.0] {
            let weights: Vec<u128> = (0..)
                .zip(weights(sigma))
                .map(|(k, weight)| (weight >> 16) << u32::from(k > 0))
                .collect();
            let total: u128 = weights.iter().sum();
            let exact = |weight: &u128| {
                let next = |(quotient, rest): (u128, u128), _| {
                    let rest = rest << 1;
                    (quotient << 1 | u128::from(rest >= total), rest % total)
                };
                (0..100).fold((0, *weight), next).0
            };
            let table = magnitudes(&cumulative_table(sigma));
            let found = table
                .iter()
                .map(|&p| u128::from(p) << 37)
                .chain(std::iter::repeat(0));
            let sum: u128 = weights
                .iter()
                .map(exact)
                .zip(found)
                .map(|(a, b)| a.abs_diff(b))
                .sum();
            let distance = (sum as f64).log2() - 101.0;
            assert!(
                (-70.0..DISTANCE_LOG2).contains(&distance),
                "σ {sigma}: 2^{distance}"
            );
        }
    }

    #[test]
    fn fixed_point_is_exact_beyond_floats() {
        // exp(−1) to 36 digits, times 2^127.
        let expected: u128 = 62591443491685266058625363149075414150;
        assert!(exp_of_minus(1.0).abs_diff(expected) < 1 << 10);
        assert_eq!(multiply(1 << 127, u128::MAX >> 1), u128::MAX >> 1);
        assert_eq!(multiply(3 << 125, 3 << 125), 9 << 123);
        assert_eq!(exp_of_minus(0.0), 1 << 127);
    }

    #[test]
    fn small_secrets_are_uniform() {
        let mut rng = chacha20::ChaCha20Rng::seed_from_u64(5);
        for (least, most, fill) in [
            (-1, 1, ternary as fn(&mut dyn CryptoRng, &mut [i32])),
            (0, 1, binary),
        ] {
            let mut values = vec![7; SAMPLES];
            fill(&mut rng, &mut values);
            let share = SAMPLES as f64 / f64::from(most - least + 1);
            for value in least..=most {
                let count = values.iter().filter(|&&found| found == value).count() as f64;
                assert!(
                    (count - share).abs() < 5.0 * share.sqrt(),
                    "{value}: {count} of {share}"
                );
            }
            assert!(values.iter().all(|value| (least..=most).contains(value)));
        }
    }

    #[test]
    fn sigmas_out_of_range_are_refused() {
        for sigma in [0.0, -1.0, 64.001, f64::NAN, f64::INFINITY] {
            assert!(Gaussian::new(sigma).is_err(), "{sigma}");
        }
        for sigma in [1e-3, f64::MIN_POSITIVE] {
            assert_eq!(Gaussian::new(sigma).unwrap().bound(), 0);
        }
    }
}
