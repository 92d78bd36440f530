//! States of a running service, for a supervisor.

use std::sync::Arc;

/// State of a running service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All databases are loaded, or a reload has ended.
    Ready,
    /// A reload that SIGHUP requested has begun.
    Reloading,
    /// No new requests are accepted; running ones are finished.
    Stopping,
}

/// Called with each new state.
pub type StateObserver = Arc<dyn Fn(State) + Send + Sync>;
