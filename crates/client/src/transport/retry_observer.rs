//! Reports of pauses before retries.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A pause before a request is tried again. Before another one of several servers is tried, it may
/// be zero. Its texts have no passwords: they are made for logs.
#[derive(Clone, Debug)]
pub struct RetryPause {
    /// The address of the service that failed.
    pub url: String,
    /// The failure of the last attempt, or the refusal of the service.
    pub reason: String,
    /// The time since the first failure of this call.
    pub since: Duration,
    /// The length of the pause.
    pub pause: Duration,
}

/// A receiver of the pauses before retries. The default discards them.
#[derive(Clone, Default)]
pub struct RetryObserver(Option<Arc<ReportPause>>);

type ReportPause = dyn Fn(&RetryPause) + Send + Sync;

impl RetryObserver {
    /// An observer that calls `report` at the start of every pause, on the thread or task that
    /// waits.
    pub fn new(report: impl Fn(&RetryPause) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(report)))
    }

    /// Reports a pause that starts now.
    pub(super) fn report(&self, pause: &RetryPause) {
        if let Some(report) = &self.0 {
            report(pause);
        }
    }
}

impl fmt::Debug for RetryObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RetryObserver")
    }
}
