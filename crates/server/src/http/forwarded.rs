//! The client behind trusted proxies: `X-Forwarded-For` and `Forwarded` (RFC 7239).

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;

use super::problem::Problem;
use crate::access::TrustedProxies;
use crate::listen::Peer;

/// Addresses separated by commas. Each proxy appends its peer.
const X_FORWARDED_FOR: &str = "x-forwarded-for";
/// Elements separated by commas, each of pairs separated by semicolons. `for` is the proxy's peer.
const FORWARDED: &str = "forwarded";

/// The client of a request: its peer or, if that is a trusted proxy, the last forwarded address
/// that is not a trusted proxy. Earlier addresses are not trustworthy, since the client may have
/// sent them.
///
/// A request is refused if an element up to that address does not parse, or if the two headers
/// disagree: then one of them is not the proxy's.
pub(super) fn client(
    proxies: &TrustedProxies,
    peer: Peer,
    headers: &HeaderMap,
) -> Result<Peer, Problem> {
    if !proxies.trusts(peer) {
        return Ok(peer);
    }

    let forwarded = [
        outermost(proxies, headers, X_FORWARDED_FOR, list_elements)?,
        outermost(proxies, headers, FORWARDED, for_elements)?,
    ];
    match forwarded {
        [None, None] => Ok(peer),
        [Some(one), None] | [None, Some(one)] => Ok(Peer::Address(one)),
        [Some(one), Some(other)] if one == other => Ok(Peer::Address(one)),
        _ => Err(Problem::BadHeader {
            name: FORWARDED,
            expected: "the address of x-forwarded-for",
        }),
    }
}

/// The last address of a header that is not a trusted proxy, or the first address if all are.
fn outermost(
    proxies: &TrustedProxies,
    headers: &HeaderMap,
    name: &'static str,
    elements: fn(&str) -> Option<Vec<&str>>,
) -> Result<Option<IpAddr>, Problem> {
    let mut found = None;
    let lines: Vec<_> = headers.get_all(name).iter().collect();

    // From the end: each proxy appends the address that it sees, and what stands before the first
    // untrusted address may be anybody's invention.
    for line in lines.into_iter().rev() {
        let text = line.to_str().map_err(|_| not_addresses(name))?;
        let line = elements(text).ok_or_else(|| not_addresses(name))?;

        for element in line.into_iter().rev() {
            let address = address(element).ok_or_else(|| not_addresses(name))?;
            if !proxies.trusts(Peer::Address(address)) {
                return Ok(Some(address));
            }
            found = Some(address);
        }
    }
    Ok(found)
}

/// The refusal of a header that holds anything but addresses.
fn not_addresses(name: &'static str) -> Problem {
    Problem::BadHeader {
        name,
        expected: "addresses",
    }
}

/// The elements of `X-Forwarded-For`.
fn list_elements(value: &str) -> Option<Vec<&str>> {
    Some(value.split(',').map(str::trim).collect())
}

/// The `for` value of each element of `Forwarded`; `None` if an element has none, or two.
fn for_elements(value: &str) -> Option<Vec<&str>> {
    split(value, ',')?.into_iter().map(for_value).collect()
}

/// The `for` value of an element of `Forwarded`, without its quotes.
fn for_value(element: &str) -> Option<&str> {
    let mut found = None;
    for pair in split(element, ';')? {
        let (name, value) = pair.trim().split_once('=')?;
        // Of two, nothing says which one the proxy wrote.
        if name.eq_ignore_ascii_case("for") && found.replace(value).is_some() {
            return None;
        }
    }

    let value: &str = found?;
    match value.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"'),
        None => Some(value),
    }
}

/// Splits at separators outside quotes; `None` if a quote is not closed.
fn split(text: &str, separator: char) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    let mut escaped = false;

    for (place, char) in text.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if char == separator && !quoted => {
                parts.push(text.get(start..place)?);
                start = place + char.len_utf8();
            }
            _ => {}
        }
    }

    parts.push(text.get(start..)?);
    (!quoted).then_some(parts)
}

/// Parses an element: an address such as `192.0.2.7` or `2001:db8::7`, optionally in brackets or
/// with a port.
fn address(element: &str) -> Option<IpAddr> {
    let found = if let Ok(address) = element.parse::<IpAddr>() {
        address
    } else if let Ok(with_port) = element.parse::<SocketAddr>() {
        with_port.ip()
    } else {
        IpAddr::V6(element.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?)
    };
    Some(found.to_canonical())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn peer(text: &str) -> Peer {
        Peer::Address(text.parse().unwrap())
    }

    /// The client of a request from 10.0.0.1; `None` if it is refused.
    fn forwarded_client(headers: &[(&'static str, &str)]) -> Option<Peer> {
        let proxies: TrustedProxies = "10.0.0.0/8,fd00::/8".parse().unwrap();
        let pair = |(name, value): &(&'static str, &str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            )
        };

        let mut map = HeaderMap::new();
        for (name, value) in headers.iter().map(pair) {
            map.append(name, value);
        }
        client(&proxies, peer("10.0.0.1"), &map).ok()
    }

    #[test]
    fn the_last_address_that_is_not_a_proxy_is_the_client() {
        const LIST: &str = X_FORWARDED_FOR;
        for (headers, expected) in [
            (&[][..], "10.0.0.1"),
            (&[(LIST, "1.2.3.4")], "1.2.3.4"),
            (&[(LIST, "6.6.6.6, 1.2.3.4")], "1.2.3.4"),
            (&[(LIST, "forged, 1.2.3.4 , 10.9.9.9,fd00::7")], "1.2.3.4"),
            (
                &[(LIST, "6.6.6.6"), (LIST, "1.2.3.4"), (LIST, "10.2.2.2")],
                "1.2.3.4",
            ),
            (&[(LIST, "10.3.3.3, 10.2.2.2")], "10.3.3.3"),
            (&[(LIST, "1.2.3.4:567")], "1.2.3.4"),
            (&[(LIST, "[2001:db8::1]:567")], "2001:db8::1"),
            (
                &[(
                    FORWARDED,
                    "for=6.6.6.6, for=1.2.3.4;proto=https, FOR=\"10.0.0.9:80\";by=x",
                )],
                "1.2.3.4",
            ),
            (
                &[(FORWARDED, "proto=\"a,b;c\\\"\"; For=\"[2001:db8::1]\"")],
                "2001:db8::1",
            ),
            (&[(LIST, "1.2.3.4"), (FORWARDED, "for=1.2.3.4")], "1.2.3.4"),
        ] {
            assert_eq!(
                forwarded_client(headers),
                Some(peer(expected)),
                "{headers:?}"
            );
        }
    }

    #[test]
    fn malformed_and_contradictory_headers_are_refused() {
        const LIST: &str = X_FORWARDED_FOR;
        for headers in [
            &[(LIST, "")][..],
            &[(LIST, "forged")],
            &[(LIST, "1.2.3.4,")],
            &[(LIST, "1.2.3.4, unknown, 10.2.2.2")],
            &[(LIST, "1.2.3.4:port")],
            &[(LIST, "[2001:db8::1")],
            &[(LIST, "1.2.3.4"), (LIST, "")],
            &[(FORWARDED, "1.2.3.4")],
            &[(FORWARDED, "proto=https")],
            &[(FORWARDED, "for=unknown")],
            &[(FORWARDED, "for=_hidden")],
            &[(FORWARDED, "for=\"1.2.3.4")],
            &[(FORWARDED, "for=1.2.3.4;for=6.6.6.6")],
            &[(LIST, "1.2.3.4"), (FORWARDED, "for=6.6.6.6")],
        ] {
            assert_eq!(forwarded_client(headers), None, "{headers:?}");
        }
    }

    #[test]
    fn headers_of_untrusted_peers_are_ignored() {
        let headers = HeaderMap::from_iter([(
            HeaderName::from_static(X_FORWARDED_FOR),
            HeaderValue::from_static("1.2.3.4"),
        )]);
        let client_of =
            |proxies: &str, peer: Peer| client(&proxies.parse().unwrap(), peer, &headers).ok();

        assert_eq!(
            client(&TrustedProxies::default(), peer("10.0.0.1"), &headers).ok(),
            Some(peer("10.0.0.1"))
        );
        assert_eq!(
            client_of("10.0.0.0/8", peer("11.0.0.1")),
            Some(peer("11.0.0.1"))
        );
        assert_eq!(client_of("10.0.0.0/8", Peer::Local), Some(Peer::Local));
        assert_eq!(client_of("unix", Peer::Local), Some(peer("1.2.3.4")));
    }
}
