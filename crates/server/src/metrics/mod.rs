//! What an operator watches: counters that last, and the state at the moment of looking.
//!
//! Each service has a recorder of its own, so that several in one process do not mix. See `table`
//! for what there is.

mod recorder;
mod state;
mod table;
mod tally;

use std::time::Duration;

use crate::Error;
use crate::problem::Problem;

use recorder::Recorder;
pub(crate) use state::render;
pub(crate) use tally::Tally;

/// The label for every name that is none of the service's own.
const UNKNOWN: &str = "(unknown)";

/// The parts of the time that a request for answers takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The body arrives.
    Read,
    /// It waits for its turn.
    Wait,
    /// It is answered.
    Answer,
    /// All of it.
    Total,
}

/// The counters of one service.
pub(crate) struct Metrics(Recorder);

impl Metrics {
    /// Counters at 0 for databases of these names.
    ///
    /// # Errors
    /// [`Error::Io`] when the exporter refuses its settings.
    pub(crate) fn new<'a>(databases: impl Iterator<Item = &'a str>) -> Result<Self, Error> {
        let recorder = Recorder::new()?;
        for database in databases {
            recorder.count(table::QUERY_REQUESTS, &[("database", database), ("code", "ok")], 0);
            recorder.count(table::QUERIES, &[("database", database)], 0);
            recorder.count(table::GROUPS, &[("database", database)], 0);
            recorder.count(table::RECEIVED, &[("database", database)], 0);
            for part in ["answer", "public"] {
                recorder.count(table::SENT, &[("database", database), ("part", part)], 0);
            }
            for outcome in ["ok", "failed"] {
                recorder.count(table::LOADS, &[("database", database), ("outcome", outcome)], 0);
            }
        }
        Ok(Self(recorder))
    }

    /// A request for answers has ended; `database` is `None` for a name that does not exist.
    fn request(&self, database: Option<&str>, code: &'static str, time: Duration) {
        let labels = [("database", database.unwrap_or(UNKNOWN)), ("code", code)];
        self.0.count(table::QUERY_REQUESTS, &labels, 1);
        if let Some(database) = database {
            self.stage(database, Stage::Total, time);
        }
    }

    /// Part of a request has taken this long.
    pub(crate) fn stage(&self, database: &str, stage: Stage, time: Duration) {
        let stage = match stage {
            Stage::Read => "read",
            Stage::Wait => "wait",
            Stage::Answer => "answer",
            Stage::Total => "total",
        };
        self.0.time(table::STAGE, &[("database", database), ("stage", stage)], time);
    }

    /// A body of queries has arrived.
    pub(crate) fn received(&self, database: &str, bytes: usize) {
        self.0.count(table::RECEIVED, &[("database", database)], bytes as u64);
    }

    /// Requests are answered together.
    pub(crate) fn grouped(&self, database: &str) {
        self.0.count(table::GROUPS, &[("database", database)], 1);
    }

    /// Queries are answered.
    pub(crate) fn answered(&self, database: &str, queries: usize, bytes: usize) {
        self.0.count(table::QUERIES, &[("database", database)], queries as u64);
        self.0.count(table::SENT, &[("database", database), ("part", "answer")], bytes as u64);
    }

    /// A public part is sent.
    pub(crate) fn published(&self, database: &str, bytes: usize) {
        self.0.count(table::SENT, &[("database", database), ("part", "public")], bytes as u64);
    }

    /// A new version was put in place, or failed to be.
    pub(crate) fn loaded(&self, database: &str, ok: bool) {
        let outcome = if ok { "ok" } else { "failed" };
        self.0.count(table::LOADS, &[("database", database), ("outcome", outcome)], 1);
    }

    /// A response leaves; `route` is the address with the names of its parts in braces.
    pub(crate) fn response(&self, route: Option<&str>, status: u16) {
        let labels = [("route", route.unwrap_or(UNKNOWN)), ("status", &status.to_string())];
        self.0.count(table::RESPONSES, &labels, 1);
    }

    /// Sorts the times measured since the last call into their buckets; without it they pile up
    /// until somebody looks.
    pub(crate) fn tidy(&self) {
        self.0.tidy();
    }
}

/// The code of an outcome.
fn code<T>(outcome: &Result<T, Problem>) -> &'static str {
    outcome.as_ref().map_or_else(Problem::code, |_| "ok")
}
