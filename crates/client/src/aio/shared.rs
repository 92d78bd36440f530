//! A connection whose calls wait for one another.

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout_at;

use super::connection::Connection;
use crate::error::Result;
use crate::transport::call::CallRules;

/// A connection for several tasks, one at a time.
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

    /// Waits for the calls before, and takes the connection. The timeout of the options starts
    /// here: it bounds this wait and the calls on the taken connection together.
    ///
    /// # Errors
    /// [`Error::TimedOut`](crate::Error::TimedOut).
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

    /// Waits for the calls before without a limit, to describe the connection.
    pub async fn wait(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().await
    }
}
