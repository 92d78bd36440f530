//! Connections to the primary, and their pool.

use std::error::Error as _;
use std::thread;
use std::time::Duration;

use papir_postgres::{Connector, Login};
use postgres::Client;
use r2d2::{HandleError, ManageConnection, Pool, PooledConnection};

use super::{durability, origin, schema};
use crate::clients::error::StoreError;
use crate::clients::tables::Result;

/// Most connections of one service.
const MOST: u32 = 8;
/// Time that a request waits for a connection.
const WAIT: Duration = Duration::from_secs(5);
/// A service that stops within a transaction must not hold up the others.
const TIMEOUTS: &str = "SET statement_timeout = '30s'; SET lock_timeout = '10s'; \
     SET idle_in_transaction_session_timeout = '60s'";

/// The pool of connections. Must be used on threads that do not run asynchronous tasks; only dropping
/// it is allowed everywhere.
pub(super) struct Sessions(Option<Pool<Primary>>);

/// Connects to the primary.
struct Primary(Connector);

impl Sessions {
    /// Connects, and creates the tables unless they exist.
    pub(super) fn open(login: &Login) -> Result<Self> {
        let primary = Primary(Connector::new(login)?);
        let mut client = primary.checked()?;
        let (system, timeline) = origin::current(&mut client)?;
        schema::create(&mut client, (system, &timeline))?;
        let pool = Pool::builder()
            .max_size(MOST)
            .min_idle(Some(0))
            .connection_timeout(WAIT)
            .test_on_check_out(false)
            .error_handler(Box::new(Log));
        Ok(Self(Some(pool.build_unchecked(primary))))
    }

    /// A connection, for one transaction.
    pub(super) fn get(&self) -> Result<PooledConnection<impl ManageConnection<Connection = Client>>> {
        Ok(self.0.as_ref().ok_or_else(StoreError::aborted)?.get()?)
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        let pool = self.0.take();
        thread::spawn(move || drop(pool));
    }
}

impl Primary {
    /// A connection to a primary whose settings are safe.
    fn checked(&self) -> Result<Client> {
        let mut client = self.0.connect()?;
        client.batch_execute(TIMEOUTS)?;
        durability::check(&mut client)?;
        Ok(client)
    }
}

impl ManageConnection for Primary {
    type Connection = Client;
    type Error = StoreError;

    fn connect(&self) -> Result<Client> {
        let mut client = self.checked()?;
        let (system, timeline) = origin::current(&mut client)?;
        origin::follow(&mut client, (system, &timeline))?;
        Ok(client)
    }

    fn is_valid(&self, client: &mut Client) -> Result<()> {
        Ok(client.is_valid(WAIT)?)
    }

    fn has_broken(&self, client: &mut Client) -> bool {
        client.is_closed()
    }
}

/// Logs failed attempts to connect.
#[derive(Debug)]
struct Log;

impl HandleError<StoreError> for Log {
    fn handle_error(&self, error: StoreError) {
        tracing::warn!(%error, "no connection to the client registry");
    }
}

impl From<postgres::Error> for StoreError {
    fn from(error: postgres::Error) -> Self {
        let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
        Self::of_storage(format!("{error}{source}"))
    }
}

impl From<papir_postgres::Error> for StoreError {
    fn from(error: papir_postgres::Error) -> Self {
        Self::other(error.to_string())
    }
}

impl From<r2d2::Error> for StoreError {
    fn from(error: r2d2::Error) -> Self {
        Self::of_storage(error.to_string())
    }
}
