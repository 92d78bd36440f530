//! Counts each query request exactly once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::counters::Metrics;

/// Counts one query request when dropped. Without an outcome by then, it counts as abandoned: the
/// server drops a request when its connection closes.
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
        Self { metrics: Arc::clone(metrics), database, start: Instant::now(), code: "abandoned" }
    }

    /// Records the outcome's code. Returns the time since the start.
    pub(crate) fn end(&mut self, code: &'static str) -> Duration {
        self.code = code;
        self.start.elapsed()
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.metrics.request(self.database.as_deref(), self.code, self.start.elapsed());
    }
}
