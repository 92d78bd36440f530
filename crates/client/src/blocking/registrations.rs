//! Registered clients of a database, for its operator.

use papir_protocol::ClientStatus;

use super::transport::Transport;
use crate::core::RegisteredClients;
use crate::error::Result;
use crate::transport::options::Options;

/// The registered clients of a database, for its operator.
pub struct Registrations {
    clients: RegisteredClients,
    transport: Transport,
}

impl Registrations {
    /// Opens the clients of the named database, else of the one in the address, else of the
    /// service's only one.
    ///
    /// # Errors
    /// [`Error::BadUrl`](crate::Error::BadUrl),
    /// [`Error::NoSuchDatabase`](crate::Error::NoSuchDatabase),
    /// [`Error::ChooseDatabase`](crate::Error::ChooseDatabase), errors of the network.
    pub fn open(url: &str, options: &Options) -> Result<Self> {
        let service = options.service(url)?;
        let transport = Transport::new(service.address(), options)?;
        let clients = transport.run(RegisteredClients::open(service, options.settings()))?;
        Ok(Self { clients, transport })
    }

    /// All clients.
    ///
    /// # Errors
    /// Errors of the network; [`Error::Http`](crate::Error::Http) if the service does not allow the
    /// list.
    pub fn list(&self) -> Result<Vec<ClientStatus>> {
        self.transport.run(self.clients.list())
    }

    /// One client; `None` if it does not exist.
    ///
    /// # Errors
    /// Errors of the network.
    pub fn show(&self, id: &str) -> Result<Option<ClientStatus>> {
        self.transport.run(self.clients.show(id))
    }

    /// Removes a client. Returns whether it existed.
    ///
    /// # Errors
    /// Errors of the network.
    pub fn evict(&self, id: &str) -> Result<bool> {
        self.transport.run(self.clients.evict(id))
    }
}
