//! Addresses of services and of databases.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::{Error, Result};

/// Where every route starts.
const ROOT: &str = "/v1/databases";

/// The host that a service behind a Unix socket is asked as.
const LOCAL: &str = "http://localhost";

/// A service, and the database that the address named, if it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Scheme, host, port and the path before the routes, without a slash at the end.
    base: String,
    /// The Unix socket to speak through, instead of the host's port.
    pub(crate) socket: Option<PathBuf>,
    /// The database at the end of the address.
    pub(crate) database: Option<String>,
}

impl Address {
    /// Reads `http://host:port`, with or without a path of the service or of one of its databases, or
    /// `unix:/path/of/a/socket`.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let bad = |reason| Error::BadUrl { url: url.to_owned(), reason };
        if let Some(path) = url.strip_prefix("unix:") {
            return Self::local(path).ok_or_else(|| bad("it names no socket, or this system has none"));
        }
        let known = ["http://", "https://"].iter().find_map(|scheme| url.strip_prefix(scheme));
        let rest = known.ok_or_else(|| bad("it must start with http://, https:// or unix:"))?;
        if rest.is_empty() || rest.starts_with('/') {
            return Err(bad("it names no host"));
        }
        if url.contains(['?', '#']) || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(bad("it has a query, a fragment or white space"));
        }
        let Some((base, path)) = url.split_once(ROOT) else {
            return Ok(Self { base: url.trim_end_matches('/').to_owned(), socket: None, database: None });
        };
        let name = path.trim_start_matches('/').split('/').next().filter(|name| !name.is_empty());
        Ok(Self { base: base.to_owned(), socket: None, database: name.map(str::to_owned) })
    }

    fn local(path: &str) -> Option<Self> {
        let fits = cfg!(unix) && !path.is_empty();
        fits.then(|| Self { base: LOCAL.to_owned(), socket: Some(path.into()), database: None })
    }

    /// Whether nobody but this machine and its administrator sees what is sent.
    pub(crate) fn is_local(&self) -> bool {
        let host = self.base.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
        // A user's name before the host is no host.
        let host = host.rsplit('@').next().unwrap_or_default();
        let bare = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        self.socket.is_some()
            || bare.eq_ignore_ascii_case("localhost")
            || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// Whether it is encrypted.
    pub(crate) fn is_https(&self) -> bool {
        self.base.starts_with("https://")
    }

    /// What tells a database from others, of this service and of others: what state of its own goes by.
    pub(crate) fn identity(&self, database: &str) -> String {
        let socket = self.socket.as_ref().map(|path| format!("unix:{} ", path.display()));
        socket.unwrap_or_default() + &self.of(database, "")
    }

    /// The list of databases.
    pub(crate) fn list(&self) -> String {
        format!("{}{ROOT}", self.base)
    }

    /// Whether the service is ready.
    pub(crate) fn ready(&self) -> String {
        format!("{}/readyz", self.base)
    }

    /// The set for private intersection, and below it `part`, which starts with a slash or is empty.
    pub(crate) fn psi(&self, part: &str) -> String {
        format!("{}/v1/psi{part}", self.base)
    }

    /// A database, and below it `part`, which starts with a slash or is empty.
    pub(crate) fn of(&self, database: &str, part: &str) -> String {
        format!("{}{ROOT}/{}{part}", self.base, escape(database))
    }
}

/// Everything but letters, digits and `-._` as %XX.
fn escape(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_paths() {
        for (url, list, database) in [
            ("http://h:1", "http://h:1/v1/databases", None),
            ("http://h:1/", "http://h:1/v1/databases", None),
            ("https://h/pir/", "https://h/pir/v1/databases", None),
            ("http://h:1/v1/databases", "http://h:1/v1/databases", None),
            ("http://h:1/v1/databases/words/public", "http://h:1/v1/databases", Some("words")),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!((address.list().as_str(), address.database.as_deref()), (list, database), "{url}");
        }
        let address = Address::parse("http://h:1").unwrap();
        assert_eq!(address.of("a b/ü", "/query"), "http://h:1/v1/databases/a%20b%2F%C3%BC/query");
    }

    #[test]
    fn which_addresses_stay_on_this_machine() {
        for url in ["http://127.0.0.1:1", "http://LOCALHOST/x", "https://[::1]:7", "http://127.9.9.9"] {
            assert!(Address::parse(url).unwrap().is_local(), "{url}");
        }
        for url in ["http://127.0.0.1.example", "http://10.0.0.1", "http://localhost@evil:1", "http://[::2]"]
        {
            assert!(!Address::parse(url).unwrap().is_local(), "{url}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn unix_sockets() {
        let address = Address::parse("unix:/run/papir.sock").unwrap();
        assert!(address.is_local());
        assert_eq!(address.socket.as_deref(), Some(std::path::Path::new("/run/papir.sock")));
        assert_eq!(address.list(), "http://localhost/v1/databases");
        assert!(Address::parse("unix:").is_err());
    }

    #[test]
    fn bad_addresses_are_refused() {
        for url in ["", "h:1", "ftp://h", "http://", "http:///v1", "http://h?x", "http://h/ #"] {
            assert!(matches!(Address::parse(url), Err(Error::BadUrl { .. })), "{url:?}");
        }
    }
}
