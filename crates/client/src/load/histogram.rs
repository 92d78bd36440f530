//! Histogram of durations with buckets of equal relative width.

use std::time::Duration;

/// log₂ of the number of buckets per octave. Percentiles are accurate to 1 part in 2⁹.
const BITS: u32 = 9;
/// Buckets for every 64-bit number of nanoseconds.
const BUCKETS: usize = ((64 - BITS as usize) + 1) << BITS;

/// Counts of durations. Uses about 230 KB, regardless of their number.
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    longest: u64,
}

/// Percentiles of durations.
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

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0, longest: 0 }
    }
}

impl Histogram {
    /// Counts a duration.
    pub(crate) fn record(&mut self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(nanoseconds)] += 1;
        self.total += 1;
        self.longest = self.longest.max(nanoseconds);
    }

    /// The number of durations counted.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The percentiles; all zero if nothing was counted.
    pub(crate) fn percentiles(&self) -> Percentiles {
        let at = |share| Duration::from_nanos(self.at(share));
        Percentiles {
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            longest: Duration::from_nanos(self.longest),
        }
    }

    /// The smallest duration that a `share` of all durations do not exceed, to a bucket's width.
    fn at(&self, share: f64) -> u64 {
        let wanted = (self.total as f64 * share).ceil() as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|&count| {
            seen += count;
            seen >= wanted && seen > 0
        });
        found.map_or(0, |bucket| end(bucket).min(self.longest))
    }
}

/// The bucket of a value. Each value below 2¹⁰ has its own bucket; each octave above has 2⁹
/// buckets.
fn bucket(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS + 1);
    ((shift as usize) << BITS) + (value >> shift) as usize
}

/// The largest value of a bucket.
fn end(bucket: usize) -> u64 {
    let shift = (bucket >> BITS).saturating_sub(1) as u32;
    let leading = (bucket - ((shift as usize) << BITS)) as u64;
    (leading << shift) | ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous_and_contain_their_values() {
        let values = (0..5000).chain((13..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        let mut last = 0;
        for value in values.chain([u64::MAX]) {
            let found = bucket(value);
            assert!(found == last || found == last + 1 || value > 5000, "{value}: {last} then {found}");
            assert!(end(found) >= value && found < BUCKETS, "{value}");
            assert!((end(found) - value) as f64 <= value as f64 / 512.0, "{value}: {}", end(found));
            last = found;
        }
        assert_eq!(end(bucket(u64::MAX)), u64::MAX);
        for bucket_index in 0..BUCKETS - 1 {
            assert_eq!(bucket(end(bucket_index)), bucket_index);
            assert_eq!(bucket(end(bucket_index) + 1), bucket_index + 1);
        }
    }

    #[test]
    fn percentiles_match_the_sorted_list() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentiles(), Percentiles::default());
        (1..=1000).rev().for_each(|i| histogram.record(Duration::from_micros(i)));
        let found = histogram.percentiles();
        for (found, exact) in [(found.p50, 500), (found.p95, 950), (found.p99, 990), (found.longest, 1000)] {
            let ratio = found.as_secs_f64() / (f64::from(exact) * 1e-6);
            assert!((1.0..=1.002).contains(&ratio), "{found:?} for {exact} µs");
        }
        assert_eq!(found.longest, Duration::from_micros(1000));
        assert_eq!(histogram.total(), 1000);
    }
}
