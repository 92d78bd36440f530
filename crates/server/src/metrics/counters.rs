//! Counters and times of one service.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::recorder::Recorder;
use super::table;
use crate::error::Error;

/// Label for all names that the service does not know. Keeps the number of labels bounded.
const UNKNOWN: &str = "(unknown)";

/// Stages of a query request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Receiving the body.
    Read,
    /// Waiting in the queue.
    Wait,
    /// Computing the answers.
    Answer,
    /// The whole request.
    Total,
}

impl Stage {
    /// Its label.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Wait => "wait",
            Self::Answer => "answer",
            Self::Total => "total",
        }
    }
}

/// The counters of one service.
pub(crate) struct Metrics(Recorder);

impl Metrics {
    /// Counters for these databases, starting at 0. Fails if the exporter rejects its settings.
    pub(crate) fn new<'a>(databases: impl Iterator<Item = &'a str>) -> Result<Self, Error> {
        let recorder = Recorder::new()?;
        for name in databases {
            let database = ("database", name);
            recorder.count(table::QUERY_REQUESTS, &[database, ("code", "ok")], 0);
            recorder.count(table::QUERIES, &[database], 0);
            recorder.count(table::GROUPS, &[database], 0);
            recorder.count(table::RECEIVED, &[database], 0);

            for part in ["answer", "public"] {
                recorder.count(table::SENT, &[database, ("part", part)], 0);
            }

            for outcome in ["ok", "failed"] {
                recorder.count(table::LOADS, &[database, ("outcome", outcome)], 0);
            }
            recorder.gauge(table::LOAD_FAILING, &[database], 0.0);
        }
        Ok(Self(recorder))
    }

    /// Counts a finished query request. `database` is `None` if its name is unknown.
    fn request(&self, database: Option<&str>, code: &'static str, time: Duration) {
        self.outcome(database, code);
        if let Some(database) = database {
            self.stage(database, Stage::Total, time);
        }
    }

    /// Counts a query request by its outcome, without its time. `database` is `None` if its name is
    /// unknown.
    pub(crate) fn outcome(&self, database: Option<&str>, code: &'static str) {
        let labels = [("database", database.unwrap_or(UNKNOWN)), ("code", code)];
        self.0.count(table::QUERY_REQUESTS, &labels, 1);
    }

    /// Records the time of one stage.
    pub(crate) fn stage(&self, database: &str, stage: Stage, time: Duration) {
        self.0.time(
            table::STAGE,
            &[("database", database), ("stage", stage.name())],
            time,
        );
    }

    /// Counts a complete body of queries.
    pub(crate) fn received(&self, database: &str, bytes: usize) {
        self.0
            .count(table::RECEIVED, &[("database", database)], bytes as u64);
    }

    /// Counts a batch of requests.
    pub(crate) fn batched(&self, database: &str) {
        self.0.count(table::GROUPS, &[("database", database)], 1);
    }

    /// Counts answered queries, and the bytes of their answers.
    pub(crate) fn answered(&self, database: &str, queries: usize, bytes: usize) {
        self.0
            .count(table::QUERIES, &[("database", database)], queries as u64);
        self.0.count(
            table::SENT,
            &[("database", database), ("part", "answer")],
            bytes as u64,
        );
    }

    /// Counts a download of a public part, or of a filter of keys.
    pub(crate) fn published(&self, database: &str, bytes: usize) {
        self.0.count(
            table::SENT,
            &[("database", database), ("part", "public")],
            bytes as u64,
        );
    }

    /// Counts a load of a database.
    pub(crate) fn loaded(&self, database: &str, ok: bool) {
        let outcome = if ok { "ok" } else { "failed" };
        self.0.count(
            table::LOADS,
            &[("database", database), ("outcome", outcome)],
            1,
        );
        self.load_failing(database, !ok);
    }

    /// Records the time from a change's arrival until it is answered.
    pub(crate) fn changed(&self, database: &str, waited: Duration) {
        self.0
            .time(table::CHANGE_TO_ANSWER, &[("database", database)], waited);
    }

    /// Records whether the last load of a database or set failed.
    pub(crate) fn load_failing(&self, database: &str, failed: bool) {
        self.0
            .flag(table::LOAD_FAILING, &[("database", database)], failed);
    }

    /// Records whether a database's store could be reached.
    pub(crate) fn polled(&self, database: &str, reached: bool) {
        self.0
            .flag(table::STORE_FAILING, &[("database", database)], !reached);
    }

    /// Counts spent private tokens. The number 0 shows the counter before the first token.
    pub(crate) fn tokens_spent(&self, count: u64) {
        self.0.count(table::TOKENS_SPENT, &[], count);
    }

    /// Counts a response. `route` is the path pattern; `None` counts as unknown.
    pub(crate) fn response(&self, route: Option<&str>, status: u16) {
        let labels = [
            ("route", route.unwrap_or(UNKNOWN)),
            ("status", &status.to_string()),
        ];
        self.0.count(table::RESPONSES, &labels, 1);
    }

    /// Moves recorded times into histogram buckets. Without regular calls, recorded times
    /// accumulate until the next scrape.
    pub(crate) fn tidy(&self) {
        self.0.tidy();
    }

    /// All counters as text.
    pub(crate) fn render(&self) -> String {
        self.0.render()
    }
}

/// Counts one query request, exactly once, when dropped. A request that is dropped before its
/// outcome is recorded counts as abandoned: the server drops a request when its connection closes.
pub(crate) struct Tally {
    metrics: Arc<Metrics>,
    database: Option<String>,
    start: Instant,
    code: &'static str,
}

impl Tally {
    /// Starts a request. `database` is `None` if its name is unknown.
    pub(crate) fn begin(metrics: &Arc<Metrics>, database: Option<&str>) -> Self {
        let database = database.map(str::to_owned);
        Self {
            metrics: Arc::clone(metrics),
            database,
            start: Instant::now(),
            code: "abandoned",
        }
    }

    /// Records the outcome's code. Returns the time since the start.
    pub(crate) fn end(&mut self, code: &'static str) -> Duration {
        self.code = code;
        self.start.elapsed()
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.metrics
            .request(self.database.as_deref(), self.code, self.start.elapsed());
    }
}
