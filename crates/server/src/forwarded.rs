//! The headers in which proxies say whom a request is from: `X-Forwarded-For`, and `Forwarded` (RFC 7239).

use std::net::{IpAddr, SocketAddr};

/// Addresses separated by commas, each proxy's peer appended.
pub(crate) const X_FORWARDED_FOR: &str = "x-forwarded-for";
/// Elements separated by commas, of pairs separated by semicolons; `for` is the proxy's peer.
pub(crate) const FORWARDED: &str = "forwarded";

/// What stands for an address.
pub(crate) type Element<'a> = &'a str;

/// The elements of `X-Forwarded-For`.
pub(crate) fn of_list(value: &str) -> Option<Vec<Element<'_>>> {
    Some(value.split(',').map(str::trim).collect())
}

/// What `for` is in each element of `Forwarded`; `None` where one has none, or two.
pub(crate) fn of_pairs(value: &str) -> Option<Vec<Element<'_>>> {
    split(value, ',')?.into_iter().map(of_element).collect()
}

fn of_element(element: &str) -> Option<Element<'_>> {
    let mut found = None;
    for pair in split(element, ';')? {
        let (name, value) = pair.trim().split_once('=')?;
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

/// The parts between separators that do not stand in quotes; `None` where a quote does not end.
fn split(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut quoted, mut escaped) = (false, false);
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

/// The address of an element: `192.0.2.7`, `2001:db8::7`, in brackets or not, with a port or without.
pub(crate) fn address(element: Element<'_>) -> Option<IpAddr> {
    let with_port = || element.parse::<SocketAddr>().ok().map(|address| address.ip());
    let bracketed = || element.strip_prefix('[')?.strip_suffix(']')?.parse().ok().map(IpAddr::V6);
    let found = element.parse().ok().or_else(with_port).or_else(bracketed)?;
    Some(found.to_canonical())
}
