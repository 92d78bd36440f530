//! What became of each lookup.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::histogram::Histogram;
use super::wanted::Wanted;
use crate::blocking::Connection;
use crate::error::Result;

/// The kind under which answers that decode to something wrong are counted.
const WRONG: &str = "wrong_answer";

/// A lookup that was answered.
pub(super) struct Lookup {
    /// From the draw of what is wanted to its value.
    pub(super) whole: Duration,
    /// From sending to having the answer, advised waits included.
    round_trip: Duration,
    /// Making the query and opening the answer.
    client: Duration,
    /// Whether the database changed meanwhile, and the lookup went on.
    went_on: bool,
    right: bool,
}

impl Lookup {
    /// Makes one lookup.
    pub(super) fn run(connection: &mut Connection, wanted: &Wanted) -> Result<Self> {
        let (before, version) = (connection.costs(), connection.lookup().version());
        let one = wanted.draw(connection);
        let start = Instant::now();
        let right = one.ask(connection)?;
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
    pub(super) fn add(tally: &Mutex<Self>, outcome: Result<Lookup>) {
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Err(error) => *tally.errors.entry(error.code().to_owned()).or_default() += 1,
            Ok(lookup) if !lookup.right => *tally.errors.entry(WRONG.to_owned()).or_default() += 1,
            Ok(lookup) => {
                tally.whole.record(lookup.whole);
                tally.round_trip.record(lookup.round_trip);
                tally.client.record(lookup.client);
                tally.went_on += u64::from(lookup.went_on);
            }
        }
    }
}
