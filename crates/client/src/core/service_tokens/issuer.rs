//! Addresses of issuers.

use crate::core::address::Address;
use crate::error::{Error, Result};

/// Checks the address of an issuer: its directory is at the root of a host, and others on the
/// network must not replace it. `insecure_http` allows plain HTTP to another machine.
///
/// # Errors
/// [`Error::BadIssuer`].
pub fn check_issuer(url: &str, insecure_http: bool) -> Result<()> {
    let address = Address::parse(url).map_err(|error| match error {
        Error::BadUrl { reason, .. } => unusable(url, reason),
        other => other,
    })?;

    if address.socket().is_some() || address.has_path() || address.database.is_some() {
        return Err(unusable(url, "expected https://HOST, without a path"));
    }
    if !(address.is_https() || address.is_local() || insecure_http) {
        return Err(unusable(url, "expected https, or plain HTTP to be allowed"));
    }
    Ok(())
}

fn unusable(url: &str, reason: &str) -> Error {
    Error::BadIssuer {
        url: url.to_owned(),
        reason: reason.to_owned(),
    }
}
