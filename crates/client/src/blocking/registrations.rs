//! Administration of a database's registered clients.

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
    /// Opens the list of registered clients. The database is the one named by the options, else by
    /// `url`, else the service's only one.
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

    /// All registered clients.
    ///
    /// # Errors
    /// Errors of the network; [`Error::Http`](crate::Error::Http) if the service does not allow the
    /// list.
    pub fn list(&self) -> Result<Vec<ClientStatus>> {
        self.transport.run(self.clients.list())
    }

    /// The status of the client with this id; `None` if the service has no such client.
    ///
    /// # Errors
    /// Errors of the network, and [`Error::BadUrl`](crate::Error::BadUrl) for an id that is not 32
    /// hexadecimal digits.
    pub fn show(&self, id: &str) -> Result<Option<ClientStatus>> {
        self.transport.run(self.clients.show(id))
    }

    /// Removes the client with this id. Returns false if the service has no such client.
    ///
    /// # Errors
    /// Errors of the network, and [`Error::BadUrl`](crate::Error::BadUrl) for an id that is not 32
    /// hexadecimal digits.
    pub fn evict(&self, id: &str) -> Result<bool> {
        self.transport.run(self.clients.evict(id))
    }
}
