//! The relay of the options.

use std::fmt;
use std::path::PathBuf;

use papir_core::without_passwords;

use crate::error::Error;

/// A relay of Oblivious HTTP. The service then does not see the client's address, and the relay
/// does not see requests and answers, as long as both do not work together.
#[derive(Clone, PartialEq, Eq)]
pub struct Relay {
    /// The relay's address: `https://HOST`, optionally with a port and a path. The resource for a
    /// service is below it, and has the service's host and port as its name.
    pub url: String,
    /// The file with the key configurations of the service's gateway, of type
    /// `application/ohttp-keys`, as the service's operator publishes it. `None` fetches them
    /// through the relay, which can then replace them by its own and read everything; a token is
    /// then refused, unless [`insecure_http`](crate::Options::insecure_http) is set. A connection
    /// with the owner's key ([`CheckpointSettings::owner`](crate::CheckpointSettings::owner)) uses
    /// only fetched keys that the owner of the database names, and takes a token.
    pub keys: Option<PathBuf>,
}

impl Relay {
    /// The relay at this address, which also carries the gateway's keys.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            keys: None,
        }
    }

    /// Returns the same relay with a file of the gateway's keys. No keys are fetched then.
    #[must_use]
    pub fn with_keys(self, file: impl Into<PathBuf>) -> Self {
        Self {
            keys: Some(file.into()),
            ..self
        }
    }

    /// The error for a relay that is not used.
    pub(crate) fn unusable(&self, reason: &str) -> Error {
        Error::BadRelay {
            url: self.url.clone(),
            reason: reason.to_owned(),
        }
    }
}

impl fmt::Debug for Relay {
    /// Prints the relay without a password in its address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay")
            .field("url", &without_passwords(&self.url))
            .field("keys", &self.keys)
            .finish()
    }
}
