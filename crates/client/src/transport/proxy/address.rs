//! Addresses of proxies.

use std::fmt;
use std::str::FromStr;

use papir_protocol::path::{escape, unescape};

use crate::core::Endpoint;
use crate::error::{Error, Result};

/// Maximum length in bytes of a name and of a password in SOCKS5 (RFC 1929).
const MAX_LOGIN_BYTES: usize = 255;

/// The name of the option, as the source of a proxy.
pub(super) const OPTION: &str = "the option for a proxy";

/// The address of a proxy: scheme `http`, `https` or `socks5`, host, port, and optionally a login
/// of name and password. The login is never printed.
///
/// `socks5` and `socks5h` mean the same: the proxy resolves the names of hosts.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyAddress {
    kind: ProxyKind,
    /// The host, with the brackets of an IPv6 address.
    host: String,
    port: u16,
    /// Percent-encoded `name:password`.
    login: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProxyKind {
    Http,
    Https,
    Socks5,
}

impl ProxyKind {
    fn of_scheme(scheme: &str) -> Option<Self> {
        match scheme.to_ascii_lowercase().as_str() {
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            "socks5" | "socks5h" => Some(Self::Socks5),
            _ => None,
        }
    }

    /// The scheme for HTTP clients. For SOCKS it is `socks5h`, which lets the proxy resolve names.
    fn scheme(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Socks5 => "socks5h",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
            Self::Socks5 => 1080,
        }
    }
}

impl ProxyAddress {
    /// The address with its login: `scheme://name:password@host:port`.
    pub fn url(&self) -> String {
        let scheme = self.kind.scheme();
        let at = self.login.as_ref().map(|login| format!("{login}@"));
        format!(
            "{scheme}://{}{}:{}",
            at.unwrap_or_default(),
            self.host,
            self.port
        )
    }

    /// Returns true if the connection to the proxy itself is encrypted.
    pub(crate) fn is_https(&self) -> bool {
        self.kind == ProxyKind::Https
    }

    /// Its host, without the brackets of an IPv6 address.
    pub(crate) fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Returns whether it has a login.
    pub(crate) fn has_login(&self) -> bool {
        self.login.is_some()
    }
}

impl FromStr for ProxyAddress {
    type Err = Error;

    /// Parses `scheme://[name:password@]host[:port]`. The default scheme is `http`.
    fn from_str(text: &str) -> Result<Self> {
        parse(text).map_err(|reason| Error::BadProxy {
            name: OPTION.to_owned(),
            reason,
        })
    }
}

/// Parses an address. The error is a reason, which does not contain the text, since it may have a
/// password.
fn parse(text: &str) -> Result<ProxyAddress, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let kind = ProxyKind::of_scheme(scheme).ok_or_else(|| unknown_scheme(scheme))?;

    // Many tools print the address of a proxy with a slash at its end.
    let place = rest.strip_suffix('/').unwrap_or(rest);
    if place.contains(['/', '?', '#', '\\']) || !place.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("it has a path, white space or a character that is not ASCII".to_owned());
    }

    let endpoint = Endpoint::parse(place)?;
    let login = match place.rsplit_once('@') {
        Some((login, _)) => Some(check_login(kind, login)?),
        None => None,
    };
    Ok(ProxyAddress {
        kind,
        host: host(endpoint.host)?,
        port: endpoint.port.unwrap_or(kind.default_port()),
        login,
    })
}

/// The reason for an unknown scheme. It shows only alphanumeric text: other text may contain a
/// password.
fn unknown_scheme(scheme: &str) -> String {
    let expected = "expected http, https, socks5 or socks5h";
    if scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        format!("its scheme is `{scheme}`: {expected}")
    } else {
        format!("it has no valid scheme: {expected}")
    }
}

/// Checks a host: a name, or an IP address, to which it adds the brackets of IPv6.
fn host(text: &str) -> Result<String, &'static str> {
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return Ok(format!("[{text}]"));
    }

    let named = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    if named {
        Ok(text.to_owned())
    } else {
        Err("its host is neither a name nor an address")
    }
}

/// Checks a login `name:password` and percent-encodes it again. With an HTTP proxy the password may
/// be missing.
fn check_login(kind: ProxyKind, login: &str) -> Result<String, &'static str> {
    let (name, password) = login.split_once(':').unwrap_or((login, ""));
    // Decoded and encoded again: HTTP libraries read characters that should have been escaped in
    // different ways.
    let name = unescape(name).ok_or("the name of its login is not percent-encoded")?;
    let password = unescape(password).ok_or("the password of its login is not percent-encoded")?;
    if name.is_empty() {
        return Err("the name of its login is empty");
    }

    match kind {
        ProxyKind::Socks5 if password.is_empty() => {
            return Err("its login has no password: expected name:password@");
        }
        ProxyKind::Socks5 if name.len().max(password.len()) > MAX_LOGIN_BYTES => {
            return Err("its login is too long: expected at most 255 bytes of each");
        }
        // HTTP separates name and password by the first colon.
        ProxyKind::Http | ProxyKind::Https if name.contains(':') => {
            return Err("the name of its login has a colon");
        }
        _ => {}
    }
    Ok(format!("{}:{}", escape(&name), escape(&password)))
}

impl fmt::Display for ProxyAddress {
    /// Prints the address without its login.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.kind.scheme();
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

impl fmt::Debug for ProxyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyAddress({self})")
    }
}

/// The proxy for a connection, and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenProxy {
    /// The proxy's address.
    pub address: ProxyAddress,
    /// The variable that names the proxy, or a name of the option.
    pub source: &'static str,
}

impl ChosenProxy {
    /// The error for a proxy that the HTTP library refuses.
    pub(crate) fn unusable(&self, error: impl fmt::Display) -> Error {
        Error::BadProxy {
            name: self.source.to_owned(),
            reason: error.to_string(),
        }
    }
}

impl fmt::Display for ChosenProxy {
    /// Prints the address without its login, and its source.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.address, self.source)
    }
}
