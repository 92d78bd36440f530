//! SIGHUP, the signal to reload.

use crate::error::Error;

/// Waits for SIGHUP. Never completes on systems without it.
pub(crate) struct Hangup {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Hangup {
    /// Installs the handler. From then on SIGHUP no longer terminates the process.
    pub(crate) fn new() -> Result<Self, Error> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let signal = signal(SignalKind::hangup());
            Ok(Self { signal: signal.map_err(|source| Error::Io { what: "watching for SIGHUP", source })? })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Waits for the next SIGHUP. Signals that arrive between two calls count once.
    pub(crate) async fn wait(&mut self) {
        #[cfg(unix)]
        if self.signal.recv().await.is_some() {
            return;
        }
        std::future::pending().await
    }
}
