//! Whether a service would start, without starting it.

use crate::catalog::Catalog;
use crate::protection::Guard;
use crate::{Error, ServerConfig};

/// Checks names, certificate, tokens and snapshots as [`crate::Server::bind`] would, and listens nowhere.
/// Takes as long as loading all snapshots does.
///
/// # Errors
/// Those of [`crate::Server::bind`], except of listening.
pub fn check(config: &ServerConfig) -> Result<(), Error> {
    config.check_names()?;
    if config.databases.is_empty() {
        return Err(Error::NoDatabases);
    }
    Guard::new(&config.protection)?;
    let catalog = Catalog::unloaded(config).taking_clients(config.registry.is_some())?;
    catalog.load().into_iter().try_for_each(|loaded| loaded.outcome.map(drop))
}
