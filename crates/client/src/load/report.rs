//! Report of a load test.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::histogram::Percentiles;
use super::tally::Tally;

/// The results of a load test. The times are times of correctly answered lookups.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadReport {
    /// Number of concurrent clients.
    pub clients: usize,
    /// Time from the start of the load to the end of its last lookup.
    pub elapsed: Duration,
    /// Number of correctly answered lookups.
    pub lookups: u64,
    /// Number of failed lookups by error code; `wrong_answer` counts values that differ from the
    /// known ones.
    pub errors: BTreeMap<String, u64>,
    /// Number of correctly answered lookups during which the database changed to another version.
    pub version_changes: u64,
    /// Median time of single lookups before the load.
    pub unloaded: Duration,
    /// Time of whole lookups: query, round trip, decoding and, after a version change, the fetch of
    /// the new public part.
    pub lookup: Percentiles,
    /// Time from sending the query to receiving the answer.
    pub round_trip: Percentiles,
    /// Time of the client's own work: making queries and decoding answers.
    pub client: Percentiles,
}

impl LoadReport {
    pub(super) fn new(
        clients: usize,
        elapsed: Duration,
        unloaded: Duration,
        tally: Mutex<Tally>,
    ) -> Self {
        let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);

        Self {
            clients,
            elapsed,
            lookups: tally.whole.total(),
            version_changes: tally.version_changes,
            unloaded,
            lookup: tally.whole.percentiles(),
            round_trip: tally.round_trip.percentiles(),
            client: tally.client.percentiles(),
            errors: tally.errors,
        }
    }

    /// Number of failed lookups.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Correctly answered lookups per second.
    pub fn throughput(&self) -> f64 {
        self.lookups as f64 / self.elapsed.as_secs_f64()
    }

    /// The 99th percentile of lookup times, divided by the time of a lookup without load.
    pub fn slowdown(&self) -> f64 {
        self.lookup.p99.as_secs_f64() / self.unloaded.as_secs_f64()
    }
}
