//! Histogram of durations.

use std::time::Duration;

use papir_core::Error;

/// Number of significant decimal digits of a percentile.
const DIGITS: u8 = 3;

/// A histogram of durations in nanoseconds. It uses less than 500 KB for any number of durations.
pub(crate) struct Histogram {
    counts: hdrhistogram::Histogram<u64>,
    longest: Duration,
}

/// Percentiles and maximum of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    /// The median: at least half of the durations are at most this.
    pub p50: Duration,
    /// At least 95 % of the durations are at most this.
    pub p95: Duration,
    /// At least 99 % of the durations are at most this.
    pub p99: Duration,
    /// The longest duration.
    pub longest: Duration,
}

impl Histogram {
    /// An empty histogram.
    pub(crate) fn new() -> Result<Self, Error> {
        // The whole range: `saturating_record` clamps to the present one and does not extend it.
        let counts = hdrhistogram::Histogram::new_with_max(u64::MAX, DIGITS).map_err(|error| {
            Error::out_of_bounds("the digits of a histogram", DIGITS.into(), error)
        })?;
        Ok(Self {
            counts,
            longest: Duration::ZERO,
        })
    }

    /// Adds a duration.
    pub(crate) fn record(&mut self, duration: Duration) {
        self.counts
            .saturating_record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
        self.longest = self.longest.max(duration);
    }

    /// The number of durations.
    pub(crate) fn total(&self) -> u64 {
        self.counts.len()
    }

    /// The percentiles; all zero without durations.
    pub(crate) fn percentiles(&self) -> Percentiles {
        Percentiles {
            p50: self.at(0.5),
            p95: self.at(0.95),
            p99: self.at(0.99),
            longest: self.longest,
        }
    }

    /// The duration that the fraction `share` of the durations does not exceed.
    fn at(&self, share: f64) -> Duration {
        let rounded = Duration::from_nanos(self.counts.value_at_quantile(share));
        // The histogram rounds up, possibly beyond the longest duration.
        rounded.min(self.longest)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_match_the_sorted_list() {
        let mut histogram = Histogram::new().unwrap();
        assert_eq!(histogram.percentiles(), Percentiles::default());

        (1..=1000)
            .rev()
            .for_each(|i| histogram.record(Duration::from_micros(i)));

        let found = histogram.percentiles();
        for (found, exact) in [
            (found.p50, 500),
            (found.p95, 950),
            (found.p99, 990),
            (found.longest, 1000),
        ] {
            let ratio = found.as_secs_f64() / (f64::from(exact) * 1e-6);
            assert!((1.0..=1.002).contains(&ratio), "{found:?} for {exact} µs");
        }
        assert_eq!(found.longest, Duration::from_micros(1000));
        assert_eq!(histogram.total(), 1000);
    }

    #[test]
    fn durations_of_any_length_are_counted() {
        let mut histogram = Histogram::new().unwrap();
        [Duration::ZERO, Duration::MAX]
            .into_iter()
            .for_each(|duration| histogram.record(duration));

        let found = histogram.percentiles();
        assert_eq!((found.p50, found.longest), (Duration::ZERO, Duration::MAX));
        assert!(
            found.p99 >= Duration::from_secs(500 * 365 * 86_400),
            "{found:?}"
        );
    }
}
