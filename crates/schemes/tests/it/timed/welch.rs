//! Welch's t-test of two classes of times.

/// Shares of the fastest times that are compared. Interrupts lengthen the others, and hide small
/// differences of all.
const SHARES: [f64; 4] = [0.5, 0.75, 0.9, 1.0];

/// Times of two classes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times([Vec<f64>; 2]);

impl Times {
    /// Adds a time of a class, 0 or 1.
    pub(crate) fn push(&mut self, class: usize, seconds: f64) {
        self.0[class].push(seconds);
    }

    /// Returns the times up to the largest of this share of the fastest, of both classes together.
    fn fastest(&self, share: f64) -> Self {
        let mut all = self.0.concat();
        all.sort_by(f64::total_cmp);
        let count = (share * all.len() as f64).ceil() as usize;
        let limit = all[count.clamp(1, all.len()) - 1];

        let classes = self.0.each_ref().map(|class| {
            let kept = class.iter().copied().filter(|&time| time <= limit);
            kept.collect()
        });
        Self(classes)
    }

    /// Returns Welch's t: the difference of the means in units of its standard error. It is infinite
    /// if a class has fewer than two times.
    fn t(&self) -> f64 {
        let [first, second] = self.0.each_ref().map(|class| Moments::of(class));
        if first.count < 2.0 || second.count < 2.0 {
            return f64::INFINITY;
        }

        let error = (first.variance / first.count + second.variance / second.count).sqrt();
        (first.mean - second.mean) / error
    }
}

/// Mean and sample variance.
struct Moments {
    count: f64,
    mean: f64,
    variance: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self {
            count,
            mean,
            variance: squares / (count - 1.0),
        }
    }
}

/// Returns the largest |t| of all shares of the fastest times.
///
/// A class that is slower throughout has hardly a time among the fastest: fewer than two count as a
/// difference without bound.
pub(crate) fn largest_t(times: &Times) -> f64 {
    let values = SHARES.map(|share| times.fastest(share).t().abs());
    values.into_iter().fold(0.0, f64::max)
}

fn times(classes: [&[f64]; 2]) -> Times {
    Times(classes.map(<[f64]>::to_vec))
}

#[test]
fn t_is_that_of_the_definition() {
    // Means 2 and 3, variances 1: −1/√(2/3).
    let t = times([&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0]]).t();
    assert!((t + 1.5f64.sqrt()).abs() < 1e-12, "{t}");

    // Means 2 and 5, variances 2 and 1, numbers 2 and 3: −3/√(1 + 1/3).
    let t = times([&[1.0, 3.0], &[4.0, 5.0, 6.0]]).t();
    assert!((t + 0.75f64.sqrt() * 3.0).abs() < 1e-12, "{t}");
}

#[test]
fn slow_times_are_left_out() {
    let times = times([&[1.0, 9.0], &[2.0, 3.0]]);
    assert_eq!(times.fastest(0.75).0, [vec![1.0], vec![2.0, 3.0]]);
    assert_eq!(times.fastest(1.0).0, times.0);
}

#[test]
fn a_class_that_is_slower_throughout_differs() {
    let fast = [1.0, 1.1, 1.2, 1.3];
    let slow = [2.0, 2.1, 2.2, 2.3];
    assert_eq!(largest_t(&times([&fast, &slow])), f64::INFINITY);
    assert!(largest_t(&times([&fast, &fast])) < 1e-12);
}
