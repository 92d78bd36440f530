//! Names of issuers and origins (RFC 9577, section 2.1.1.1).

use crate::error::PassError;

/// Longest name in bytes: a host name of 253, a colon and a port.
pub const MAX_NAME_BYTES: usize = 259;

/// The form of a name, for errors.
const FORM: &str = "a host name, perhaps with a port, of at most 259 ASCII characters";

/// Checks a name: an ASCII host, perhaps with a port, without user information. A host in brackets
/// may contain colons.
pub(crate) fn check(what: &'static str, name: &str) -> Result<(), PassError> {
    if name.len() <= MAX_NAME_BYTES && is_authority(name) {
        return Ok(());
    }
    let found = format!("{} bytes", name.len());
    Err(PassError::malformed(what, found, FORM))
}

/// Returns true if a text has the form `host` or `host:port`.
fn is_authority(name: &str) -> bool {
    if let Some(inside) = name.strip_prefix('[') {
        let Some((address, port)) = inside.split_once(']') else {
            return false;
        };
        let is_address = !address.is_empty() && address.bytes().all(|b| is_host(b) || b == b':');
        return is_address && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
    }

    let (host, port) = match name.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (name, None),
    };
    !host.is_empty() && host.bytes().all(is_host) && port.is_none_or(is_port)
}

/// Returns true if a byte may stand in a host (`reg-name` of RFC 3986), except for the comma, which
/// separates origins.
fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=".contains(&byte)
}

/// Returns true if a text is a port.
fn is_port(text: &str) -> bool {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number && text.parse::<u16>().is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn hosts_with_and_without_ports_are_names() {
        let longest = format!("{}:65535", "a".repeat(253));
        for name in [
            "issuer.example",
            "issuer.example:8443",
            "127.0.0.1:1",
            "[::1]",
            "[::1]:443",
            &longest,
        ] {
            check("name", name).unwrap();
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let long = "a".repeat(MAX_NAME_BYTES + 1);
        for name in [
            "",
            ":80",
            "a:",
            "a:x",
            "a:+1",
            "a:65536",
            "a:1:2",
            "user@issuer.example",
            "a,b",
            "a b",
            "a/b",
            "ä",
            "[",
            "[]",
            "[::1",
            "[::1]x",
            "[::1]:",
            "\"a\"",
            "a\n",
            &long,
        ] {
            assert!(check("name", name).is_err(), "{name}");
        }
    }
}
