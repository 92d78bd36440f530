//! The signal that asks for a reload.

use crate::Error;

/// Waits for SIGHUP; never fires where there is none.
pub(crate) struct Hangup {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Hangup {
    /// From now on SIGHUP no longer ends the process.
    pub(crate) fn new() -> Result<Self, Error> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let failed = |source| Error::Io { what: "watching for SIGHUP", source };
            Ok(Self { signal: signal(SignalKind::hangup()).map_err(failed)? })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// The next SIGHUP; those that arrive meanwhile count as one.
    pub(crate) async fn wait(&mut self) {
        #[cfg(unix)]
        if self.signal.recv().await.is_some() {
            return;
        }
        std::future::pending().await
    }
}
