//! Load tests of a service with many concurrent clients.
//!
//! Every lookup is real, with fresh queries. Results are checked against known values.

mod histogram;
mod report;
mod tally;
mod workload;

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use papir_core::{Error as CoreError, Progress};

use crate::blocking::Connection;
use crate::error::{Error, Result};

pub use histogram::Percentiles;
pub use report::LoadReport;
pub use workload::{KnownKey, Workload};

use tally::{Sample, Tally};

/// Maximum number of clients in one load test.
pub const MAX_CLIENTS: usize = 1024;
/// Longest load test, in seconds.
pub const MAX_SECONDS: u64 = 3600;
/// Number of timed lookups before the load, which measure the unloaded service.
const UNLOADED_LOOKUPS: usize = 9;
/// A client's pause after a failed request, so that it does not flood a service that is down.
const PAUSE: Duration = Duration::from_millis(100);

/// The number of clients and the length of a load test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// Number of concurrent clients, 1 to [`MAX_CLIENTS`]. Each has its own thread and connections.
    pub clients: usize,
    /// Seconds during which clients start lookups: 1 to [`MAX_SECONDS`].
    pub seconds: u64,
}

impl Default for LoadOptions {
    /// The default: 16 clients for 10 s.
    fn default() -> Self {
        Self {
            clients: 16,
            seconds: 10,
        }
    }
}

impl LoadOptions {
    fn check(&self) -> Result<()> {
        let clients = self.clients as u64;
        check_within("the number of clients", clients, MAX_CLIENTS as u64)?;
        check_within("the length of a load in seconds", self.seconds, MAX_SECONDS)
    }
}

/// Checks that a number is from 1 to `most`.
fn check_within(what: &'static str, found: u64, most: u64) -> Result<()> {
    if (1..=most).contains(&found) {
        return Ok(());
    }
    Err(CoreError::out_of_bounds(what, found, format!("1 to {most}")).into())
}

/// Runs a load test with `workload` against the service of `connection`: first a few single
/// lookups, then many concurrent clients. Returns after the last lookup that started in time has
/// ended. The report counts failed lookups of the load.
///
/// # Errors
/// [`CoreError::OutOfBounds`] for options out of bounds; [`papir_lookup::Error::NotKeyed`] or
/// [`CoreError::Malformed`] for a workload that the database does not support; the error of a
/// lookup that fails before the load, or of options that have become unusable.
pub fn load(
    connection: &Connection,
    workload: &Workload,
    options: LoadOptions,
    progress: &dyn Progress,
) -> Result<LoadReport> {
    options.check()?;
    workload.check(connection)?;
    let unloaded = unloaded(connection, workload)?;

    // Made before the start: the reading of their certificates is no part of the load.
    let clients = (0..options.clients)
        .map(|_| connection.with_own_sockets())
        .collect::<Result<Vec<_>>>()?;

    progress.stage("load", options.seconds);
    let tally = Mutex::new(Tally::new()?);
    let start = Instant::now();
    let end = start + Duration::from_secs(options.seconds);
    thread::scope(|scope| {
        for client in clients {
            let tally = &tally;
            scope.spawn(move || look_up_until(end, client, workload, tally));
        }

        while Instant::now() < end {
            thread::sleep(Duration::from_secs(1).min(end - Instant::now().min(end)));
            progress.advance(1);
        }
    });

    Ok(LoadReport::new(
        options.clients,
        start.elapsed(),
        unloaded,
        tally,
    ))
}

/// The median time of [`UNLOADED_LOOKUPS`] single lookups. A lookup before them opens the socket
/// and does not count.
fn unloaded(connection: &Connection, workload: &Workload) -> Result<Duration> {
    let mut connection = connection.with_own_sockets()?;

    let mut times = Vec::new();
    for _ in 0..=UNLOADED_LOOKUPS {
        times.push(Sample::run(&mut connection, workload)?.whole);
    }

    let counted = &mut times[1..];
    counted.sort_unstable();
    Ok(counted[UNLOADED_LOOKUPS / 2])
}

/// Runs one client, which repeats lookups until `end`.
fn look_up_until(
    end: Instant,
    mut connection: Connection,
    workload: &Workload,
    tally: &Mutex<Tally>,
) {
    while Instant::now() < end {
        let outcome = Sample::run(&mut connection, workload);

        // Pause only after failures that the service notices itself: a pause must not reveal that
        // an answer did not decode.
        let failed = matches!(
            &outcome,
            Err(Error::Transport { .. }
                | Error::Relay { .. }
                | Error::TimedOut { .. }
                | Error::Http { .. })
        );
        Tally::add(tally, outcome);
        if failed {
            thread::sleep(PAUSE.min(end.saturating_duration_since(Instant::now())));
        }
    }
}
