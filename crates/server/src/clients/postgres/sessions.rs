//! Connections to the primary, their pool, and transactions on them.

use std::error::Error as _;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use papir_store::postgres::{Connector, Login};
use postgres::{Client, IsolationLevel, Transaction};
use r2d2::{HandleError, ManageConnection, Pool, PooledConnection};

use super::health::Health;
use super::origin::Origin;
use super::{durability, schema};
use crate::clients::error::StoreError;
use crate::clients::tables::Result;

/// Most connections of one service.
const MOST: u32 = 8;
/// Time that a request waits for a connection.
const WAIT: Duration = Duration::from_secs(5);
/// A service that stops within a transaction must not hold up the others.
const TIMEOUTS: &str = "SET statement_timeout = '30s'; SET lock_timeout = '10s'; \
     SET idle_in_transaction_session_timeout = '60s'";

/// The pool of connections. Must be used on threads that do not run asynchronous tasks; only
/// dropping it is allowed everywhere.
pub(super) struct Sessions {
    pool: Option<Pool<Primary>>,
    health: Arc<Health>,
}

/// A connection to the primary.
pub(super) struct PrimarySession {
    client: Client,
    /// The generation of connections that it belongs to.
    generation: u64,
    /// Set once a transaction was begun on it.
    is_used: bool,
}

/// Connects to the primary.
struct Primary {
    connector: Connector,
    health: Arc<Health>,
}

impl Sessions {
    /// Connects, and creates the tables unless they exist.
    pub(super) fn open(login: &Login) -> Result<Self> {
        let health = Arc::<Health>::default();
        let primary = Primary {
            connector: Connector::new(login)?,
            health: Arc::clone(&health),
        };

        // Before the pool: a pooled connection expects that the tables exist.
        let mut client = primary.checked()?;
        let origin = Origin::current(&mut client)?;
        schema::create(&mut client, &origin)?;

        let pool = Pool::builder()
            .max_size(MOST)
            .min_idle(Some(0))
            .connection_timeout(WAIT)
            .test_on_check_out(true)
            .error_handler(Box::new(Log));
        Ok(Self {
            pool: Some(pool.build_unchecked(primary)),
            health,
        })
    }

    /// State of the primary.
    pub(super) fn health(&self) -> &Health {
        &self.health
    }

    /// Runs `work` once, with a consistent state of the tables.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.run(Access::Read, |mut transaction| {
            let found = work(&mut transaction)?;
            transaction.commit()?;
            Ok(found)
        })
    }

    /// Runs `work` once, and commits its changes if it returns a value.
    pub(super) fn change<T>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        self.run(Access::Change, |mut transaction| {
            let changed = work(&mut transaction)?;
            match &changed {
                Some(_) => transaction.commit()?,
                None => transaction.rollback()?,
            }
            Ok(changed)
        })
    }

    /// Runs `work` once, with a transaction that it ends.
    fn run<T>(&self, access: Access, work: impl FnOnce(Transaction<'_>) -> Result<T>) -> Result<T> {
        // Each turn closes a connection that was used before, and a new one ends the loop.
        loop {
            let mut session = self.session()?;
            let generation = session.generation;
            let was_used = std::mem::replace(&mut session.is_used, true);

            let transaction = match access.begin(&mut session.client) {
                Ok(transaction) => transaction,
                // The server has closed the connection since its last use, and has seen nothing of
                // this transaction.
                Err(_) if was_used => {
                    self.health.retire(generation);
                    continue;
                }
                Err(error) => {
                    self.health.failed(generation);
                    return Err(error);
                }
            };

            let outcome = work(transaction);
            if outcome.as_ref().is_err_and(StoreError::is_of_tables) {
                self.health.failed(generation);
            }
            return outcome;
        }
    }

    /// A connection of the current generation.
    fn session(&self) -> Result<PooledConnection<Primary>> {
        let pool = self.pool.as_ref().ok_or_else(StoreError::aborted)?;
        let session = pool.get();
        if session.is_err() {
            self.health.unreachable();
        }
        Ok(session?)
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        // On a thread of its own: closing a connection must not happen within an asynchronous task.
        let pool = self.pool.take();
        thread::spawn(move || drop(pool));
    }
}

/// Kind of a transaction.
#[derive(Clone, Copy)]
enum Access {
    Read,
    Change,
}

impl Access {
    fn begin(self, client: &mut Client) -> Result<Transaction<'_>> {
        let begun = match self {
            Self::Read => {
                let build = client
                    .build_transaction()
                    .isolation_level(IsolationLevel::RepeatableRead);
                build.read_only(true).start()
            }
            Self::Change => client.transaction(),
        };
        Ok(begun?)
    }
}

impl Primary {
    /// A connection to a primary whose settings are safe.
    fn checked(&self) -> Result<Client> {
        let mut client = self.connector.connect()?;
        client.batch_execute(TIMEOUTS)?;
        durability::check(&mut client)?;
        Ok(client)
    }
}

impl ManageConnection for Primary {
    type Connection = PrimarySession;
    type Error = StoreError;

    fn connect(&self) -> Result<PrimarySession> {
        // Read first: a failure while this connects ends its generation, too.
        let generation = self.health.generation();

        let mut client = self.checked()?;
        let origin = Origin::current(&mut client)?;
        origin.follow(&mut client)?;

        let generation = self.health.meet(&origin, generation);
        Ok(PrimarySession {
            client,
            generation,
            is_used: false,
        })
    }

    /// Costs no round trip: a transaction finds out whether the server is still there.
    fn is_valid(&self, session: &mut PrimarySession) -> Result<()> {
        if session.generation == self.health.generation() {
            Ok(())
        } else {
            Err(StoreError::aborted())
        }
    }

    fn has_broken(&self, session: &mut PrimarySession) -> bool {
        session.client.is_closed() || session.generation != self.health.generation()
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
        let source = error
            .source()
            .map(|source| format!(": {source}"))
            .unwrap_or_default();
        Self::of_tables(format!("{error}{source}"))
    }
}

impl From<papir_store::postgres::Error> for StoreError {
    fn from(error: papir_store::postgres::Error) -> Self {
        Self::other(error.to_string())
    }
}

impl From<r2d2::Error> for StoreError {
    fn from(error: r2d2::Error) -> Self {
        Self::of_tables(error.to_string())
    }
}
