//! Options of a connection.

use std::path::PathBuf;
use std::sync::Arc;

use papir_core::OwnerKey;
use papir_lookup::Root;

use super::platform::Native;
use crate::core::{MoreSchemes, Service, Settings, Token, Watcher};
use crate::error::Result;
use crate::state::{Passphrase, StateFiles};

/// Options of a connection. Every field has a default.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The database; `None` for the one in the address, or the service's only one.
    pub database: Option<String>,
    /// Allows schemes that show the server which record is read.
    pub allow_not_private: bool,
    /// The root that the database must have; every record must then be proved against it.
    pub root: Option<Root>,
    /// Pins the root of a verifiable database in the directory of client state on first use; from
    /// then on the database must have it. A given `root` is pinned in its place.
    pub pin: bool,
    /// The token to send, if the service asks for one.
    pub token: Option<Token>,
    /// Sends the token even over plain HTTP to another machine, where others can read it.
    pub insecure_http: bool,
    /// PEM file of root certificates. They replace the public ones.
    pub ca: Option<PathBuf>,
    /// The directory in which registered clients keep their state; `None` for
    /// [`crate::default_state_directory`]. Unused by schemes without client state.
    pub state: Option<PathBuf>,
    /// Protects the state on disk; `None` leaves it to the files' permissions.
    pub passphrase: Option<Passphrase>,
    /// The key of the database's owner, needed to register with an encrypted database; not needed
    /// once the state is kept. Databases that are not encrypted, or under another key, are refused.
    pub owner_key: Option<OwnerKey>,
    /// Schemes besides those of the registry.
    pub schemes: MoreSchemes,
    /// Progress of long work on this side: ZipPIR needs seconds for each query to decrypt masks.
    pub watcher: Watcher,
}

impl Options {
    /// The options for the database of this name, everything else by default.
    pub fn of_database(database: Option<&str>) -> Self {
        Self { database: database.map(str::to_owned), ..Self::default() }
    }

    /// The service at an address.
    pub(super) fn service(&self, url: &str) -> Result<Service> {
        Service::new(url, self.token.clone(), self.insecure_http, Arc::new(Native::default()))
    }

    /// The demands on the database.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            database: self.database.clone(),
            allow_not_private: self.allow_not_private,
            root: self.root,
            pin: self.pin,
            owner_key: self.owner_key.clone(),
            schemes: self.schemes.clone(),
            watcher: self.watcher.clone(),
        }
    }

    /// The storage of client state.
    pub(super) fn files(&self) -> StateFiles {
        StateFiles::new(self.state.clone(), self.passphrase.clone())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn options_do_not_print_the_token() {
        let options = Options { token: Some(Token::new("secret").unwrap()), ..Options::default() };
        assert!(!format!("{options:?}").contains("secret"));
    }
}
