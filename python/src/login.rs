//! Logins to PostgreSQL servers that are sources.

use std::path::Path;

use papir_client::ProxySetting;
use papir_store::postgres::Login;
use pyo3::prelude::*;

use crate::errors::{Error, of_client, raised};

/// The address of a PostgreSQL server, if a source is one.
pub(crate) fn address_of(source: &Path) -> Option<&str> {
    source.to_str().filter(|source| Login::is_address(source))
}

/// The login at an address, with the password of the environment. `ca` is a file of trusted
/// certificates, in place of those that the environment names.
///
/// # Errors
/// papir's error if a proxy applies, which would be passed by, or cannot be used.
pub(crate) fn login(address: &str, proxy: &ProxySetting, ca: Option<&Path>) -> PyResult<Login> {
    let mut login = Login::from_environment(address);
    for host in login.hosts() {
        let applied = proxy
            .beside_http(&host.name, host.port)
            .map_err(of_client)?;
        if let Some(name) = applied {
            let reason = format!(
                "PostgreSQL at {}: connections to it go through no proxy, and {name} names one: \
                 proxy=\"none\" connects directly",
                host.name
            );
            return Err(raised::<Error>(reason, None));
        }
    }

    // An argument overrides a variable, PGSSLROOTCERT like the others.
    if let Some(file) = ca {
        login.root_certificates = Some(file.to_owned());
    }
    Ok(login)
}
