//! Addresses of services and databases.

use core::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};

use papir_protocol::path::{self, DATABASES};

use crate::error::{Error, Result};

/// Base of the addresses of requests over a Unix socket.
const LOCAL: &str = "http://localhost";

/// The address of a service, and the database that the address names, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Scheme, host, port and the path before papir's routes, without a trailing slash.
    base: String,
    /// The Unix socket to connect to, instead of the host in `base`.
    socket: Option<PathBuf>,
    /// The database that the address names.
    pub(crate) database: Option<String>,
}

impl Address {
    /// Parses `http://host:port` or `https://host:port`, optionally with the path of the service or
    /// of one of its databases, or `unix:/path/to/socket`.
    ///
    /// # Errors
    /// [`Error::BadUrl`] for any other text.
    pub fn parse(url: &str) -> Result<Self> {
        if let Some(path) = url.strip_prefix("unix:") {
            let reason = "it names no socket, or this system has no Unix sockets";
            return Self::local(path).ok_or_else(|| bad_url(url, reason));
        }

        check_host(url)?;
        let Some((base, path)) = url.split_once(DATABASES) else {
            return Ok(Self {
                base: url.trim_end_matches('/').to_owned(),
                socket: None,
                database: None,
            });
        };

        let name = path
            .trim_start_matches('/')
            .split('/')
            .next()
            .filter(|name| !name.is_empty());
        let database = match name {
            Some(name) => {
                let reason = "its database is not percent-encoded";
                Some(path::unescape(name).ok_or_else(|| bad_url(url, reason))?)
            }
            None => None,
        };
        Ok(Self {
            base: base.trim_end_matches('/').to_owned(),
            socket: None,
            database,
        })
    }

    fn local(path: &str) -> Option<Self> {
        let fits = cfg!(unix) && !path.is_empty();
        fits.then(|| Self {
            base: LOCAL.to_owned(),
            socket: Some(path.into()),
            database: None,
        })
    }

    /// Scheme, host, port and the path before papir's routes, without a trailing slash.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The Unix socket to connect to, instead of the host in `base`.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Returns true if traffic stays on this machine: the address is a Unix socket or a loopback
    /// host.
    pub fn is_local(&self) -> bool {
        self.socket.is_some() || is_loopback(self.host())
    }

    /// The host, with upper and lower case as given; an IPv6 address has no brackets.
    pub fn host(&self) -> &str {
        self.endpoint().map_or("", |endpoint| endpoint.host)
    }

    /// The port; if the address has none, 443 for `https` and 80 for `http`.
    pub fn port(&self) -> u16 {
        let default = if self.is_https() { 443 } else { 80 };
        self.endpoint()
            .and_then(|endpoint| endpoint.port)
            .unwrap_or(default)
    }

    /// The host in lower case, with the port if it is not the scheme's.
    #[cfg(any(feature = "relay", feature = "tokens"))]
    pub(crate) fn authority(&self) -> String {
        let host = self.host().to_ascii_lowercase();
        let host = match host.contains(':') {
            true => format!("[{host}]"),
            false => host,
        };

        let default = if self.is_https() { 443 } else { 80 };
        match self.port() {
            port if port == default => host,
            port => format!("{host}:{port}"),
        }
    }

    /// Returns true if the service is below a path of its host.
    #[cfg(any(feature = "relay", feature = "tokens"))]
    pub(crate) fn has_path(&self) -> bool {
        let rest = self.base.split("://").nth(1);
        rest.is_some_and(|rest| rest.contains('/'))
    }

    /// Host and port of the base. Not `None` in practice, because the base was parsed before.
    fn endpoint(&self) -> Option<Endpoint<'_>> {
        let rest = self.base.split("://").nth(1)?;
        Endpoint::parse(rest).ok()
    }

    /// Returns true if the address is `https`.
    pub fn is_https(&self) -> bool {
        self.base.starts_with("https://")
    }

    /// A text that identifies a database among all databases of all services. It is the name of the
    /// storage slot with its client state.
    pub(crate) fn identity(&self, database: &str) -> String {
        let socket = self
            .socket
            .as_ref()
            .map(|path| format!("unix:{} ", path.display()));
        socket.unwrap_or_default() + &self.url(&path::database(database))
    }

    /// The address for messages, without a database.
    pub(crate) fn shown(&self) -> String {
        match &self.socket {
            Some(path) => format!("unix:{}", path.display()),
            None => self.base.clone(),
        }
    }

    /// The full address of the list of databases.
    pub(crate) fn list(&self) -> String {
        self.url(DATABASES)
    }

    /// The full address of a path, which starts with a slash.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

/// Returns true for `localhost` and loopback addresses.
pub(crate) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Host and port of an address.
pub(crate) struct Endpoint<'a> {
    /// The host, without the brackets of an IPv6 address.
    pub(crate) host: &'a str,
    pub(crate) port: Option<u16>,
}

impl<'a> Endpoint<'a> {
    /// Parses `host`, `host:port` or `[address]:port`, after an optional user and before an
    /// optional path. The error is a reason for messages.
    pub(crate) fn parse(text: &'a str) -> Result<Self, &'static str> {
        let authority = text.split('/').next().unwrap_or_default();
        // Everything up to the last `@` is the user's name, not the host.
        let place = authority.rsplit('@').next().unwrap_or_default();

        let (host, rest) = match place.strip_prefix('[') {
            Some(inner) => ipv6(inner).ok_or("the text in its brackets is not an IPv6 address")?,
            None => place.split_at(place.find(':').unwrap_or(place.len())),
        };
        if host.is_empty() {
            return Err("it names no host");
        }

        let port = match rest.strip_prefix(':') {
            Some(digits) => Some(port(digits).ok_or("its port is not a number from 1 to 65535")?),
            None if rest.is_empty() => None,
            None => return Err("it has text between its host and its port"),
        };
        Ok(Self { host, port })
    }
}

/// Splits the text after `[` into an IPv6 address and the text after `]`; `None` if it has no valid
/// address.
fn ipv6(inner: &str) -> Option<(&str, &str)> {
    let (host, rest) = inner.split_once(']')?;
    host.parse::<Ipv6Addr>().ok()?;
    Some((host, rest))
}

/// Parses a port of 1 to 65535, written in digits only. HTTP clients disagree about other texts.
fn port(digits: &str) -> Option<u16> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(|port| *port != 0)
}

/// Checks that an address starts with `http://` or `https://`, names a host, and has no query,
/// fragment, white space or backslash.
fn check_host(url: &str) -> Result<()> {
    let known = ["http://", "https://"]
        .iter()
        .find_map(|scheme| url.strip_prefix(scheme));
    let Some(rest) = known else {
        let reason = "it must start with http://, https:// or unix:";
        return Err(bad_url(url, reason));
    };
    Endpoint::parse(rest).map_err(|reason| bad_url(url, reason))?;

    if url.contains(['?', '#']) || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        let reason = "it has a query, a fragment or white space";
        return Err(bad_url(url, reason));
    }
    // Some HTTP clients read it as `/`, and would connect to another host than `is_local` sees.
    if url.contains('\\') {
        return Err(bad_url(url, "it has a backslash"));
    }
    Ok(())
}

/// The error for an invalid address.
fn bad_url(url: &str, reason: &'static str) -> Error {
    Error::BadUrl {
        url: url.to_owned(),
        reason,
    }
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
            (
                "https://h/pir//v1/databases/words/",
                "https://h/pir/v1/databases",
                Some("words"),
            ),
            ("http://h:1/v1/databases", "http://h:1/v1/databases", None),
            (
                "http://h:1/v1/databases/words/public",
                "http://h:1/v1/databases",
                Some("words"),
            ),
            (
                "http://h:1/v1/databases/a%20b%2F%c3%bC/public",
                "http://h:1/v1/databases",
                Some("a b/ü"),
            ),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!(
                (address.list().as_str(), address.database.as_deref()),
                (list, database),
                "{url}"
            );
        }
        let address = Address::parse("http://h:1").unwrap();
        assert_eq!(
            address.url(&path::query("a b/ü")),
            "http://h:1/v1/databases/a%20b%2F%C3%BC/query"
        );
    }

    #[test]
    fn local_addresses_are_recognised() {
        for url in [
            "http://127.0.0.1:1",
            "http://LOCALHOST/x",
            "https://[::1]:7",
            "http://127.9.9.9",
        ] {
            assert!(Address::parse(url).unwrap().is_local(), "{url}");
        }
        for url in [
            "http://127.0.0.1.example",
            "http://10.0.0.1",
            "http://localhost@evil:1",
            "http://[::2]",
        ] {
            assert!(!Address::parse(url).unwrap().is_local(), "{url}");
        }
    }

    #[test]
    fn hosts_and_ports() {
        for (url, host, port) in [
            ("http://h", "h", 80),
            ("https://h/pir", "h", 443),
            ("https://user:word@h:65535/x", "h", 65535),
            ("http://[2001:db8::1]:7470", "2001:db8::1", 7470),
            ("http://[::1]", "::1", 80),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!((address.host(), address.port()), (host, port), "{url}");
        }
    }

    #[cfg(feature = "transport")]
    #[test]
    fn authorities_have_the_ports_that_are_not_the_schemes() {
        for (url, authority) in [
            ("https://H.example", "h.example"),
            ("https://h:443/", "h"),
            ("https://h:80", "h:80"),
            ("http://h:80/v1/databases/words", "h"),
            ("http://user:word@h:7470", "h:7470"),
            ("https://[2001:db8::1]:7470", "[2001:db8::1]:7470"),
            ("https://[2001:DB8::1]", "[2001:db8::1]"),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!(address.authority(), authority, "{url}");
            assert!(!address.has_path(), "{url}");
        }
        assert!(Address::parse("https://h/pir").unwrap().has_path());
    }

    #[cfg(unix)]
    #[test]
    fn unix_sockets() {
        let address = Address::parse("unix:/run/papir.sock").unwrap();
        assert!(address.is_local());
        assert_eq!(address.socket(), Some(Path::new("/run/papir.sock")));
        assert_eq!(address.list(), "http://localhost/v1/databases");
        assert!(Address::parse("unix:").is_err());
    }

    #[test]
    fn bad_addresses_are_refused() {
        for url in [
            "",
            "h:1",
            "ftp://h",
            "http://",
            "http:///v1",
            "http://h?x",
            "http://h/ #",
            "http://h\\@localhost",
            "http://h/v1/databases/a%2",
            "http://h/v1/databases/a%+2",
            "http://h/v1/databases/%ff",
            "http://h:99999",
            "http://h:65536/v1",
            "http://h:0",
            "http://h:",
            "http://h:+80",
            "http://h:80x",
            "http://user@:80",
            "http://::1:80",
            "http://[::1",
            "http://[::1]80",
            "http://[]:80",
            "http://[h]:80",
        ] {
            assert!(
                matches!(Address::parse(url), Err(Error::BadUrl { .. })),
                "{url:?}"
            );
        }
    }
}
