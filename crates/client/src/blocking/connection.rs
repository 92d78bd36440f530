//! A blocking connection to one database of a service.

use papir_checkpoint::Accepted;
use papir_lookup::{Lookup, Wanted};
use papir_protocol::{DatabaseDetail, DatabaseInfo};

use super::transport::Transport;
use crate::core::{self, Costs, FoundValue, Session, ShownLog, Task};
use crate::error::Result;
use crate::transport::operations::connection::define_connection;
use crate::transport::options::Options;

/// A private client of one database of a service. A clone shares the public part. It counts its own
/// costs, starting from the costs of the original.
#[derive(Clone)]
pub struct Connection {
    session: Session,
    transport: Transport,
    options: Options,
}

define_connection!([] [] [register, prepare_ahead, hold_ahead]);

impl Connection {
    /// The costs since the connection was opened.
    pub fn costs(&self) -> Costs {
        self.session.costs()
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
        }
    }

    fn get(&mut self, wanted: &[Wanted<'_>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.transport.run(self.session.get(wanted))
    }

    /// Refuses later versions whose schemes are not private.
    pub(super) fn require_private(&mut self) {
        self.session.require_private();
    }

    /// Looks up keys or indices, with an outcome for each.
    pub(super) fn get_each(&mut self, wanted: &[Wanted<'_>]) -> Result<Vec<FoundValue>> {
        self.transport.run(self.session.get_each(wanted))
    }

    /// Runs a task of the session.
    fn run<T>(
        &mut self,
        task: impl for<'s> FnOnce(&'s mut Session) -> Task<'s, Result<T>>,
    ) -> Result<T> {
        self.transport.run(task(&mut self.session))
    }
}
