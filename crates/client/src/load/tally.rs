//! Results of lookups, counted.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::histogram::Histogram;
use super::workload::Workload;
use crate::blocking::Connection;
use crate::error::Result;

/// The code under which wrong values are counted.
const WRONG: &str = "wrong_answer";

/// A lookup that was answered.
pub(super) struct Sample {
    /// From the call to the value.
    pub(super) whole: Duration,
    /// From sending the query to receiving the answer, advised waits included.
    round_trip: Duration,
    /// Making the query and opening the answer.
    client: Duration,
    /// Whether the database changed during the lookup.
    went_on: bool,
    right: bool,
}

impl Sample {
    /// Makes one lookup.
    pub(super) fn run(connection: &mut Connection, workload: &Workload) -> Result<Self> {
        let (before, version) = (connection.costs(), connection.lookup().version());
        let drawn = workload.draw(connection);
        let start = Instant::now();
        let right = drawn.run(connection)?;
        let (whole, after) = (start.elapsed(), connection.costs());
        Ok(Self {
            whole,
            round_trip: after.round_trip - before.round_trip,
            client: after.query + after.extract - before.query - before.extract,
            went_on: connection.lookup().version() != version,
            right,
        })
    }
}

/// All lookups of all clients.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) whole: Histogram,
    pub(super) round_trip: Histogram,
    pub(super) client: Histogram,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) went_on: u64,
}

impl Tally {
    /// Counts a lookup.
    pub(super) fn add(tally: &Mutex<Self>, outcome: Result<Sample>) {
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Err(error) => *tally.errors.entry(error.code().to_owned()).or_default() += 1,
            Ok(sample) if !sample.right => *tally.errors.entry(WRONG.to_owned()).or_default() += 1,
            Ok(sample) => {
                tally.whole.record(sample.whole);
                tally.round_trip.record(sample.round_trip);
                tally.client.record(sample.client);
                tally.went_on += u64::from(sample.went_on);
            }
        }
    }
}
