//! The issuer of the options.

use std::fmt;

use papir_core::without_passwords;

use crate::core::Token;

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
}

impl fmt::Debug for Issuer {
    /// Prints the issuer without a password in its address, and without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer")
            .field("url", &without_passwords(&self.url))
            .finish_non_exhaustive()
    }
}
