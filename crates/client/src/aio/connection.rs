//! An asynchronous connection to one database of a service.

use std::time::Instant;

use papir_checkpoint::Accepted;
use papir_lookup::{Lookup, Wanted};
use papir_protocol::{DatabaseDetail, DatabaseInfo};
use zeroize::Zeroizing;

use super::transport::Transport;
use crate::core::{
    self, Address, Costs, FoundValue, OwnedWanted, ServerSearch, Session, ShownLog, Task, wait_for,
};
use crate::error::{Error, Result};
use crate::transport::call::{CallRules, share};
use crate::transport::operations::connection::define_connection;
use crate::transport::operations::servers::define_servers;
use crate::transport::options::Options;
use crate::transport::servers::{ServerAt, Servers};

/// A private client of one database of a service. A clone shares the public part. It counts its own
/// costs, starting from the costs of the original.
#[derive(Clone)]
pub struct Connection {
    session: Session,
    transport: Transport,
    servers: Servers<Transport>,
}

define_connection!([async] [.await] [register_owned, prepare_ahead_owned, hold_ahead_owned]);
define_servers!([async] [.await] [impl Fn(Session) -> Task<'static, (Session, Result<T>)>]);

impl Connection {
    /// The costs since the connection was opened. Futures that were dropped do not count.
    pub fn costs(&self) -> Costs {
        self.session.costs()
    }

    /// Makes the query of one lookup as a short message, which any channel may carry to the
    /// operator of the database. [`extract_message`] decodes the answer, also in another process.
    /// Needs options with a [`KnownVersion`](crate::KnownVersion) that is kept. With a kept version
    /// it sends nothing.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] for a scheme whose clients do not register keys, or use
    /// tickets; [`papir_core::Error::Malformed`] without a kept version of the database, if 64
    /// lookups wait, and if lookups wait for answers from an earlier version; errors of the network
    /// and of client state.
    pub async fn query_message(&mut self, wanted: OwnedWanted) -> Result<Vec<u8>> {
        let transport = self.transport.clone();
        let task = self.session.clone().query_message_owned(wanted);
        self.run_over(&transport, task).await
    }

    /// Sets the time at which later calls end, in place of an earlier deadline.
    pub(super) fn end_by(&mut self, deadline: Option<Instant>) {
        self.transport.calls.end_by(deadline);
    }

    /// The time limits of the connection's calls.
    pub(super) fn calls(&self) -> &CallRules {
        &self.transport.calls
    }

    fn opened(session: Session, transport: Transport, _: &Options) -> Self {
        Self {
            session,
            transport,
            servers: Servers::single(),
        }
    }

    /// Prepares the connection for the requests of a schedule.
    pub(super) fn begin_schedule(&mut self) {
        self.session.begin_schedule();
    }

    /// Looks up keys or indices at the current server, over a transport to it.
    async fn look_up(
        &mut self,
        transport: &Transport,
        wanted: &[Wanted<'_>],
    ) -> Result<Vec<FoundValue>> {
        let wanted = wanted.iter().map(owned).collect();
        let task = self.session.clone().get_each_owned(wanted);
        self.run_over(transport, task).await
    }

    /// Runs a task with a clone of the session, over a transport to the current server. When the
    /// task is done, the clone replaces the session.
    async fn run_once<T: Send + 'static>(
        &mut self,
        transport: &Transport,
        make: &impl Fn(Session) -> Task<'static, (Session, Result<T>)>,
    ) -> Result<T> {
        let task = make(self.session.clone());
        self.run_over(transport, task).await
    }

    /// Runs a task that owns a session, which replaces the one of the connection.
    async fn run_over<T: Send + 'static>(
        &mut self,
        transport: &Transport,
        task: Task<'static, (Session, Result<T>)>,
    ) -> Result<T> {
        let (session, outcome) = transport.run_any(task).await?;
        self.session = session;
        outcome
    }
}

/// Copies what to look up, for a task that owns it.
fn owned(wanted: &Wanted<'_>) -> OwnedWanted {
    match *wanted {
        Wanted::Key(key) => OwnedWanted::Key(Zeroizing::new(key.to_vec())),
        Wanted::Index(index) => OwnedWanted::Index(Zeroizing::new(index)),
    }
}
