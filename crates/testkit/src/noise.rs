//! Statistics of measured noise, to compare with computed bounds.

/// Mean, variance and maximum of measured values.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// Number of values.
    pub count: usize,
    /// Mean.
    pub mean: f64,
    /// Variance (mean of squares minus squared mean).
    pub variance: f64,
    /// log₂ of the largest absolute value; −∞ if all are zero.
    pub log2_max: f64,
}

impl Moments {
    /// Computes the moments of at least one value.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut count = 0usize;
        let mut sum = 0f64;
        let mut squares = 0f64;
        let mut max = 0f64;

        for value in values {
            count += 1;
            sum += value;
            squares += value * value;
            max = max.max(value.abs());
        }

        assert!(count > 0, "no values measured");

        let mean = sum / count as f64;
        let variance = squares / count as f64 - mean * mean;

        Self {
            count,
            mean,
            variance,
            log2_max: max.log2(),
        }
    }

    /// The standard deviation.
    pub fn deviation(&self) -> f64 {
        self.variance.sqrt()
    }

    /// log₂ of the expected maximum of `count` independent Gaussians' absolute values with this
    /// standard deviation: σ·√(2·ln 2count).
    pub fn expected_log2_max(&self, deviation: f64) -> f64 {
        (deviation * (2.0 * (2.0 * self.count as f64).ln()).sqrt()).log2()
    }

    /// Asserts that the variance is at most the bound, with a tolerance of `slack` (0.1 = 10 %) for
    /// sampling, and that the bound is at most `looseness` times the variance: a looser bound is
    /// useless.
    #[track_caller]
    pub fn assert_within(&self, bound: f64, slack: f64, looseness: f64) {
        let ratio = self.variance / bound;
        assert!(
            ratio <= 1.0 + slack,
            "measured variance {} exceeds the bound {bound}",
            self.variance
        );
        let least = 1.0 / looseness;
        assert!(
            ratio >= least,
            "measured variance {} is absurdly below the bound {bound}",
            self.variance
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_a_known_list() {
        let moments = Moments::of([-3.0, 1.0, 1.0, 1.0]);
        assert_eq!(
            (moments.count, moments.mean, moments.variance),
            (4, 0.0, 3.0)
        );
        assert_eq!(moments.log2_max, 3f64.log2());
        moments.assert_within(3.0, 0.0, 1.0);
        assert!((moments.expected_log2_max(1.0) - (2.0 * 8f64.ln()).sqrt().log2()).abs() < 1e-12);
    }

    #[test]
    #[should_panic(expected = "exceeds the bound")]
    fn noise_beyond_the_bound_is_detected() {
        Moments::of([2.0, -2.0]).assert_within(3.0, 0.1, 10.0);
    }

    #[test]
    #[should_panic(expected = "absurdly below")]
    fn a_useless_bound_is_detected() {
        Moments::of([2.0, -2.0]).assert_within(100.0, 0.1, 10.0);
    }
}
