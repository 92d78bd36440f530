//! A connection that several tasks share, one call at a time.

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout_at;

use super::connection::Connection;
use crate::error::Result;
use crate::transport::call::CallRules;

/// A connection for several tasks. One task at a time uses it.
pub struct SharedConnection {
    connection: Mutex<Connection>,
    calls: CallRules,
}

impl SharedConnection {
    /// Shares a connection.
    pub fn new(connection: Connection) -> Self {
        Self {
            calls: connection.calls().clone(),
            connection: Mutex::new(connection),
        }
    }

    /// Waits until earlier calls are done, and takes the connection. The timeout of the options
    /// starts here. It limits this wait and the calls on the taken connection together.
    ///
    /// # Errors
    /// [`Error::TimedOut`](crate::Error::TimedOut) if the wait exceeds the timeout.
    pub async fn take(&self) -> Result<MutexGuard<'_, Connection>> {
        let call = self.calls.start();
        let mut taken = match call.end() {
            Some(end) => timeout_at(end.into(), self.connection.lock())
                .await
                .map_err(|_| call.late())?,
            None => self.connection.lock().await,
        };

        taken.end_by(call.end());
        Ok(taken)
    }

    /// Waits until earlier calls are done, and clones the connection. The timeout of the options
    /// limits this wait and, anew, each call on the clone.
    ///
    /// # Errors
    /// [`Error::TimedOut`](crate::Error::TimedOut) if the wait exceeds the timeout.
    pub async fn detach(&self) -> Result<Connection> {
        let mut detached = self.take().await?.clone();
        // `take` has set the end of this call, which is not the end of calls on the clone.
        detached.end_by(self.calls.deadline());
        Ok(detached)
    }

    /// Waits without a limit until earlier calls are done, to read the connection's description.
    pub async fn wait(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().await
    }
}
