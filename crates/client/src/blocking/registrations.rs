//! The registered clients of a database, for its operator.

use papir_protocol::ClientStatus;

use super::options::Options;
use super::transport::Transport;
use crate::core::RegisteredClients;
use crate::error::Result;

/// The registered clients of a database, for its operator.
pub struct Registrations {
    clients: RegisteredClients,
    transport: Transport,
}

impl Registrations {
    /// The clients of the database named, of the one in the address, or of the only one.
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
    /// Errors of the network; [`Error::Http`](crate::Error::Http) if the service does not list its
    /// clients.
    pub fn list(&self) -> Result<Vec<ClientStatus>> {
        self.transport.run(self.clients.list())
    }

    /// One client; `None` if it is gone.
    ///
    /// # Errors
    /// Errors of the network.
    pub fn show(&self, id: &str) -> Result<Option<ClientStatus>> {
        self.transport.run(self.clients.show(id))
    }

    /// Removes a client; `false` if there was none.
    ///
    /// # Errors
    /// Errors of the network.
    pub fn evict(&self, id: &str) -> Result<bool> {
        self.transport.run(self.clients.evict(id))
    }
}
