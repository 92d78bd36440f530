//! The issuer of the options.

use std::fmt;

use papir_core::without_passwords;

use crate::core::{Address, Token};
use crate::error::{Error, Result};

/// An issuer of private tokens (Privacy Pass), for a service that demands them. The service then
/// does not learn which requests belong to one client, as far as tokens tell.
#[derive(Clone)]
pub struct Issuer {
    /// The issuer's address: `https://HOST`, optionally with a port. A challenge of the service
    /// must name this host.
    pub url: String,
    /// The client's bearer token for the issuer.
    pub token: Option<Token>,
}

impl Issuer {
    /// The issuer at this address, for a client with this bearer token.
    pub fn new(url: impl Into<String>, token: Option<Token>) -> Self {
        Self {
            url: url.into(),
            token,
        }
    }

    /// Checks the address: its directory is at the root of a host, and others on the network must
    /// not replace it.
    pub(super) fn check(&self, insecure_http: bool) -> Result<()> {
        let address = Address::parse(&self.url).map_err(|error| match error {
            Error::BadUrl { reason, .. } => self.unusable(reason),
            other => other,
        })?;
        if address.socket().is_some() || address.has_path() || address.database.is_some() {
            return Err(self.unusable("expected https://HOST, without a path"));
        }
        if !(address.is_https() || address.is_local() || insecure_http) {
            return Err(self.unusable("expected https, or plain HTTP to be allowed"));
        }
        Ok(())
    }

    fn unusable(&self, reason: &str) -> Error {
        Error::BadIssuer {
            url: self.url.clone(),
            reason: reason.to_owned(),
        }
    }
}

impl fmt::Debug for Issuer {
    /// Prints the issuer without a password in its address, and without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer")
            .field("url", &without_passwords(&self.url))
            .finish_non_exhaustive()
    }
}
