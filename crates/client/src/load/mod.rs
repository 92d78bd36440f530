//! Many clients at once, for a bounded time: what a service holds.
//!
//! Every lookup is a real one, with queries of its own; answers are held against the truth where it is
//! known.

mod histogram;
mod report;
mod tally;
mod wanted;

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use papir_core::{Error as CoreError, Progress};

use crate::blocking::Connection;
use crate::error::{Error, Result};

pub use histogram::Percentiles;
pub use report::LoadReport;
pub use wanted::{KnownKey, Wanted};

use tally::{Lookup, Tally};

/// Most clients of one load.
pub const MAX_CLIENTS: usize = 1024;
/// Longest load, in seconds.
pub const MAX_SECONDS: u64 = 3600;
/// Single lookups before the load, which say what an unloaded service takes.
const UNLOADED: usize = 9;
/// A client's pause after a lookup that failed: a service that is gone is not asked in a tight loop.
const PAUSE: Duration = Duration::from_millis(100);

/// How many clients ask for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// Clients at once, each on a thread with connections of its own: 1 to [`MAX_CLIENTS`].
    pub clients: usize,
    /// How long lookups are begun: 1 to [`MAX_SECONDS`].
    pub seconds: u64,
}

impl Default for LoadOptions {
    /// 16 clients for 10 s.
    fn default() -> Self {
        Self { clients: 16, seconds: 10 }
    }
}

impl LoadOptions {
    fn check(&self) -> Result<()> {
        let within = |what, found: u64, most: u64| match found {
            1.. if found <= most => Ok(()),
            _ => Err(CoreError::out_of_bounds(what, found, format!("1 to {most}"))),
        };
        within("the number of clients", self.clients as u64, MAX_CLIENTS as u64)?;
        Ok(within("the length of a load in seconds", self.seconds, MAX_SECONDS)?)
    }
}

/// Asks the service of `connection` for `wanted`: first a few single lookups, then many clients at
/// once. Ends by itself when the last lookup that was begun in time has ended. The number of lookups
/// that fail is in the report.
///
/// # Errors
/// [`CoreError::OutOfBounds`] for options out of bounds, and the error of a single lookup that fails
/// before the load begins.
pub fn load(
    connection: &Connection,
    wanted: &Wanted,
    options: LoadOptions,
    progress: &dyn Progress,
) -> Result<LoadReport> {
    options.check()?;
    wanted.check(connection)?;
    let unloaded = unloaded(connection, wanted)?;
    let clients = (0..options.clients).map(|_| connection.with_own_sockets()).collect::<Result<Vec<_>>>()?;
    progress.stage("load", options.seconds);
    let tally = Mutex::new(Tally::default());
    let start = Instant::now();
    let end = start + Duration::from_secs(options.seconds);
    thread::scope(|scope| {
        for client in clients {
            let tally = &tally;
            scope.spawn(move || ask_until(end, client, wanted, tally));
        }
        while Instant::now() < end {
            thread::sleep(Duration::from_secs(1).min(end - Instant::now().min(end)));
            progress.advance(1);
        }
    });
    Ok(LoadReport::new(options.clients, start.elapsed(), unloaded, tally))
}

/// The median of single lookups, the first of which opens the socket and does not count.
fn unloaded(connection: &Connection, wanted: &Wanted) -> Result<Duration> {
    let mut connection = connection.with_own_sockets()?;
    let mut times = Vec::new();
    for _ in 0..=UNLOADED {
        times.push(Lookup::run(&mut connection, wanted)?.whole);
    }
    let counted = &mut times[1..];
    counted.sort_unstable();
    Ok(counted[UNLOADED / 2])
}

/// One client: lookup after lookup until the time is over.
fn ask_until(end: Instant, mut connection: Connection, wanted: &Wanted, tally: &Mutex<Tally>) {
    while Instant::now() < end {
        let outcome = Lookup::run(&mut connection, wanted);
        // Only what the service itself sees: a pause must not tell it that an answer did not decode.
        let failed = matches!(&outcome, Err(Error::Transport { .. } | Error::Http { .. }));
        Tally::add(tally, outcome);
        if failed {
            thread::sleep(PAUSE.min(end.saturating_duration_since(Instant::now())));
        }
    }
}
