//! Checks a configuration without serving.

use super::config::ServerConfig;
use super::protection::Guard;
use crate::catalog::Catalog;
use crate::error::Error;

/// Checks names, certificate, tokens and snapshots like [`crate::Server::bind`], without listening.
/// Takes as long as loading all snapshots.
///
/// # Errors
/// See [`crate::Server::bind`], without [`Error::Listen`].
pub fn check(config: &ServerConfig) -> Result<(), Error> {
    config.check_names()?;
    if config.databases.is_empty() {
        return Err(Error::NoDatabases);
    }
    Guard::new(&config.protection)?;
    let catalog = Catalog::unloaded(&config.databases, config.catalog_options());
    catalog.load().into_iter().try_for_each(|loaded| loaded.outcome.map(drop))
}
