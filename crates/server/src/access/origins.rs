//! Web origins whose pages may use the service.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Longest accepted origin, in bytes.
const MAX_BYTES: usize = 512;

/// The origin of web pages, such as `https://app.example`, or `*` for all.
///
/// Written exactly as browsers send it in the header `Origin`: scheme, host and, unless it is the
/// scheme's own, port; in lower case and without a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origin(String);

impl Origin {
    /// Returns whether this stands for all origins.
    pub(crate) fn is_any(&self) -> bool {
        self.0 == "*"
    }

    /// The text that browsers send.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Origin {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text == "*" || is_origin(text) {
            true => Ok(Self(text.to_owned())),
            false => Err(Error::BadOrigin {
                text: text.to_owned(),
            }),
        }
    }
}

impl TryFrom<String> for Origin {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> Self {
        origin.0
    }
}

/// Returns whether a browser could send this. An origin that no browser sends would allow nothing,
/// and the operator would not learn why.
fn is_origin(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let (host, port) = match rest.rsplit_once(':') {
        // The colons of an IPv6 address are inside brackets.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };

    text.len() <= MAX_BYTES
        && is_scheme(scheme)
        && is_host(host)
        && port.is_none_or(|port| is_port(port, scheme))
}

/// Returns whether a browser could send this scheme.
fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && scheme.chars().all(|c| is_plain(c) || "+-.".contains(c))
}

/// Returns whether a browser could send this port: it leaves out the scheme's own.
fn is_port(port: &str, scheme: &str) -> bool {
    let own = match scheme {
        "http" => "80",
        "https" => "443",
        _ => "",
    };

    port != own
        && port
            .parse::<u16>()
            .is_ok_and(|number| number.to_string() == port)
}

/// Returns whether a browser could send this host.
fn is_host(host: &str) -> bool {
    if let Some(address) = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return address
            .parse::<std::net::Ipv6Addr>()
            .is_ok_and(|parsed| parsed.to_string() == address);
    }

    !host.is_empty() && host.chars().all(|c| is_plain(c) || "-._".contains(c))
}

/// Returns whether a character is a lower-case letter or a digit of ASCII.
fn is_plain(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_browsers_send_is_an_origin() {
        for good in [
            "*",
            "https://app.example",
            "http://localhost:8080",
            "http://127.0.0.1",
            "https://[2001:db8::1]:8443",
            "http://[::1]",
            "moz-extension://0a1b-2c",
        ] {
            assert_eq!(
                good.parse::<Origin>()
                    .map(|origin| origin.to_string())
                    .ok()
                    .as_deref(),
                Some(good)
            );
        }

        for bad in [
            "",
            "null",
            "app.example",
            "https://",
            "https://app.example/",
            "https://App.example",
            "HTTPS://app.example",
            "https://app.example:443",
            "http://app.example:80",
            "http://app.example:080",
            "http://app.example:70000",
            "http://app.example:",
            "https://*.example",
            "https://user@app.example",
            "https://app.example https://other.example",
            "https://[::0:1]",
            "https://bücher.example",
        ] {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
    }
}
