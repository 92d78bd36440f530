//! Counts and times of a load test's lookups.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::histogram::Histogram;
use super::workload::Workload;
use crate::blocking::Connection;
use crate::error::Result;

/// The error code that stands for wrong values.
const WRONG_ANSWER: &str = "wrong_answer";

/// The times and the outcome of an answered lookup.
pub(super) struct Sample {
    /// Time from the call to the value.
    pub(super) whole: Duration,
    /// Time from sending the query to receiving the answer, including advised waits.
    round_trip: Duration,
    /// Time to make the query and to decode the answer.
    client: Duration,
    /// Set if the database changed to another version during the lookup.
    version_changed: bool,
    /// Set unless the value differs from the known one.
    correct: bool,
}

impl Sample {
    /// Makes one lookup.
    pub(super) fn run(connection: &mut Connection, workload: &Workload) -> Result<Self> {
        let before = connection.costs();
        let version = connection.lookup().version();
        let drawn = workload.draw(connection);

        // Only the lookup is timed, without the drawing of its key.
        let start = Instant::now();
        let correct = drawn.run(connection)?;
        let whole = start.elapsed();

        let after = connection.costs();
        Ok(Self {
            whole,
            round_trip: after.round_trip - before.round_trip,
            client: after.query + after.extract - before.query - before.extract,
            version_changed: connection.lookup().version() != version,
            correct,
        })
    }
}

/// The counts and times of all lookups of all clients.
pub(super) struct Tally {
    pub(super) whole: Histogram,
    pub(super) round_trip: Histogram,
    pub(super) client: Histogram,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) version_changes: u64,
}

impl Tally {
    /// A tally without lookups.
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            whole: Histogram::new()?,
            round_trip: Histogram::new()?,
            client: Histogram::new()?,
            errors: BTreeMap::new(),
            version_changes: 0,
        })
    }

    /// Adds the outcome of a lookup.
    pub(super) fn add(tally: &Mutex<Self>, outcome: Result<Sample>) {
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);

        match outcome {
            Err(error) => *tally.errors.entry(error.code().to_owned()).or_default() += 1,
            Ok(sample) if !sample.correct => {
                *tally.errors.entry(WRONG_ANSWER.to_owned()).or_default() += 1
            }
            Ok(sample) => {
                tally.whole.record(sample.whole);
                tally.round_trip.record(sample.round_trip);
                tally.client.record(sample.client);
                tally.version_changes += u64::from(sample.version_changed);
            }
        }
    }
}
