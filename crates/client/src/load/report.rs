//! Report of a load test.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::histogram::Percentiles;
use super::tally::Tally;

/// The results of a load test. Times are of correctly answered lookups.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadReport {
    /// Clients at once.
    pub clients: usize,
    /// From the start of the first lookup to the end of the last.
    pub elapsed: Duration,
    /// Correctly answered lookups.
    pub lookups: u64,
    /// Failed lookups by error code; `wrong_answer` for a value other than the known one.
    pub errors: BTreeMap<String, u64>,
    /// Lookups that began with one version of the database and were answered from another.
    pub went_on: u64,
    /// The median of single lookups before the load.
    pub unloaded: Duration,
    /// Whole lookups: query, round trip, extraction and, after a change of version, the fetch of
    /// the new public part.
    pub lookup: Percentiles,
    /// From sending the query to receiving the answer.
    pub round_trip: Percentiles,
    /// The client's own work: making queries and opening answers.
    pub client: Percentiles,
}

impl LoadReport {
    pub(super) fn new(clients: usize, elapsed: Duration, unloaded: Duration, tally: Mutex<Tally>) -> Self {
        let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        Self {
            clients,
            elapsed,
            lookups: tally.whole.total(),
            went_on: tally.went_on,
            unloaded,
            lookup: tally.whole.percentiles(),
            round_trip: tally.round_trip.percentiles(),
            client: tally.client.percentiles(),
            errors: tally.errors,
        }
    }

    /// Failed lookups.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Lookups per second.
    pub fn throughput(&self) -> f64 {
        self.lookups as f64 / self.elapsed.as_secs_f64()
    }

    /// The 99th percentile of lookups, divided by the time of an unloaded one.
    pub fn slowdown(&self) -> f64 {
        self.lookup.p99.as_secs_f64() / self.unloaded.as_secs_f64()
    }
}
