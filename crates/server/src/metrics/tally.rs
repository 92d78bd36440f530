//! Makes sure that each request for answers is counted once, whatever becomes of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::code;
use crate::api::App;
use crate::problem::Problem;

/// Counts one request for answers when dropped. Without an outcome by then, its client went away:
/// the service drops a request whose connection is gone.
pub(crate) struct Tally {
    app: Arc<App>,
    name: Option<String>,
    start: Instant,
    code: &'static str,
}

impl Tally {
    /// A request begins, for the database of this name, if there is one.
    pub(crate) fn begin(app: &Arc<App>, name: &str) -> Self {
        let name = app.catalog.known(name).map(str::to_owned);
        Self { app: Arc::clone(app), name, start: Instant::now(), code: "abandoned" }
    }

    /// The request's outcome is known. Gives its time.
    pub(crate) fn end<T>(&mut self, outcome: &Result<T, Problem>) -> Duration {
        self.code = code(outcome);
        self.start.elapsed()
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.app.metrics.request(self.name.as_deref(), self.code, self.start.elapsed());
    }
}
