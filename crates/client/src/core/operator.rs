//! Administration of registered clients, for the operator.

use papir_protocol::{ClientStatus, DatabaseDetail, path};

use super::clients::is_client_id;
use super::fetch::choose;
use super::request::Accepted;
#[cfg(feature = "blocking")]
use super::request::Request;
use super::service::Service;
use super::settings::Settings;
use super::task::Task;
use crate::error::{Error, Result};

/// The registered clients of a database, as its operator sees them.
#[derive(Clone)]
pub struct RegisteredClients {
    service: Service,
    clients: String,
}

/// Checks that a service has loaded all its databases.
///
/// # Errors
/// Errors of the network, and [`Error::Http`] with status 503 while the service is loading.
pub fn ready(service: Service) -> Task<'static, Result<()>> {
    Task::new(|io| async move {
        service
            .get(&io, path::READY, Accepted::Nothing)
            .await
            .map(drop)
    })
}

/// The request for a service's readiness, without a token. It is for one response, without retries.
#[cfg(feature = "blocking")]
pub(crate) fn readiness() -> Request {
    Request::get(path::READY, Accepted::Nothing)
}

/// Describes a database, and the earlier versions that the service still answers. The database is
/// the one in the settings, else in the address, else the service's only one. Does not verify the
/// description.
///
/// # Errors
/// [`Error::NoSuchDatabase`], [`Error::ChooseDatabase`], errors of the network.
pub fn detail(service: Service, settings: Settings) -> Task<'static, Result<DatabaseDetail>> {
    Task::new(|io| async move {
        let name = choose(&io, &service, &settings).await?;
        service.json(&io, &path::database(&name)).await
    })
}

impl RegisteredClients {
    /// Opens the list of registered clients. The database is the one in the settings, else in the
    /// address, else the service's only one.
    ///
    /// # Errors
    /// [`Error::NoSuchDatabase`], [`Error::ChooseDatabase`], errors of the network.
    pub fn open(service: Service, settings: Settings) -> Task<'static, Result<Self>> {
        Task::new(|io| async move {
            let clients = path::clients(&choose(&io, &service, &settings).await?);
            Ok(Self { service, clients })
        })
    }

    /// All registered clients.
    ///
    /// # Errors
    /// Errors of the network; [`Error::Http`] if the service does not allow the list.
    pub fn list(&self) -> Task<'static, Result<Vec<ClientStatus>>> {
        let Self { service, clients } = self.clone();
        Task::new(|io| async move { service.client_list(&io, &clients).await })
    }

    /// The status of the client with this id; `None` if the service has no such client.
    ///
    /// # Errors
    /// Errors of the network, and [`Error::BadUrl`] for an id that is not 32 hexadecimal digits.
    pub fn show(&self, id: &str) -> Task<'static, Result<Option<ClientStatus>>> {
        let service = self.service.clone();
        let path = self.path_of(id);
        Task::new(|io| async move { service.client_status(&io, &path?, None).await })
    }

    /// Removes the client with this id. Returns false if the service has no such client.
    ///
    /// # Errors
    /// Errors of the network, and [`Error::BadUrl`] for an id that is not 32 hexadecimal digits.
    pub fn evict(&self, id: &str) -> Task<'static, Result<bool>> {
        let service = self.service.clone();
        let path = self.path_of(id);
        Task::new(|io| async move { service.remove_client(&io, &path?).await })
    }

    fn path_of(&self, id: &str) -> Result<String> {
        // It becomes a part of the path: another text could name another route.
        if !is_client_id(id) {
            let reason = "a client's id is 32 hexadecimal digits";
            return Err(Error::BadUrl {
                url: id.to_owned(),
                reason,
            });
        }

        Ok(format!("{}/{id}", self.clients))
    }
}
