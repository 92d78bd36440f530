//! What a load came to.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::histogram::Percentiles;
use super::tally::Tally;

/// What a load came to. Times are of lookups that were answered rightly.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadReport {
    /// Clients at once.
    pub clients: usize,
    /// From the first lookup's begin to the last one's end.
    pub elapsed: Duration,
    /// Lookups that were answered rightly.
    pub lookups: u64,
    /// Lookups that failed, by the code of the error; `wrong_answer` for values that are not the known
    /// ones.
    pub errors: BTreeMap<String, u64>,
    /// Lookups that were begun at one version of the database and answered from the next.
    pub went_on: u64,
    /// The median of single lookups before the load.
    pub unloaded: Duration,
    /// Whole lookups: query, round trip, extraction, and the fetch of a new public part where one was
    /// needed.
    pub lookup: Percentiles,
    /// From sending the query to having the answer.
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

    /// Lookups that failed.
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Lookups a second.
    pub fn throughput(&self) -> f64 {
        self.lookups as f64 / self.elapsed.as_secs_f64()
    }

    /// The 99th percentile over the unloaded lookup.
    pub fn slowdown(&self) -> f64 {
        self.lookup.p99.as_secs_f64() / self.unloaded.as_secs_f64()
    }
}
