//! A blocking connection to one database of a service.

use std::time::Instant;

use papir_checkpoint::Accepted;
use papir_lookup::{Lookup, Wanted};
use papir_protocol::{DatabaseDetail, DatabaseInfo};

use super::transport::Transport;
use crate::core::{
    self, Address, Costs, FoundValue, OwnedWanted, ServerSearch, Session, ShownLog, Task, wait_for,
};
use crate::error::{Error, Result};
use crate::transport::call::share;
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
    options: Options,
    servers: Servers<Transport>,
}

define_connection!([] [] [register, prepare_ahead, hold_ahead]);
define_servers!([] [] [impl for<'s> Fn(&'s mut Session) -> Task<'s, Result<T>>]);

impl Connection {
    /// The costs since the connection was opened.
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
    pub fn query_message(&mut self, wanted: OwnedWanted) -> Result<Vec<u8>> {
        self.transport.run(self.session.query_message(wanted))
    }

    /// A clone with its own sockets. Fails if the files of certificates or the proxy in the options
    /// have become unusable.
    pub(crate) fn with_own_sockets(&self) -> Result<Self> {
        let transport = Transport::new(self.session.service().address(), &self.options)?;
        Ok(Self {
            transport,
            ..self.clone()
        })
    }

    fn opened(session: Session, transport: Transport, options: &Options) -> Self {
        Self {
            session,
            transport,
            options: options.clone(),
            servers: Servers::single(),
        }
    }

    /// Prepares the connection for the requests of a schedule.
    pub(super) fn begin_schedule(&mut self) {
        self.session.begin_schedule();
    }

    /// Looks up keys or indices at the current server, over a transport to it.
    fn look_up(&mut self, transport: &Transport, wanted: &[Wanted<'_>]) -> Result<Vec<FoundValue>> {
        transport.run(self.session.get_each(wanted))
    }

    /// Runs a task of the session over a transport to the current server.
    fn run_once<T>(
        &mut self,
        transport: &Transport,
        make: &impl for<'s> Fn(&'s mut Session) -> Task<'s, Result<T>>,
    ) -> Result<T> {
        transport.run(make(&mut self.session))
    }
}
