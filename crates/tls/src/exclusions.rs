//! The rules of `NO_PROXY`: hosts without a proxy.

use std::net::IpAddr;

use ipnet::IpNet;

/// Hosts that no proxy carries connections to: the entries of `NO_PROXY`, separated by commas or
/// white space.
///
/// | entry | hosts |
/// |---|---|
/// | `*` | all |
/// | `example.org`, `.example.org`, `*.example.org` | this host and those below it |
/// | `10.0.0.1`, `2001:db8::1`, `[2001:db8::1]` | this address |
/// | `10.0.0.0/8`, `2001:db8::/32` | the addresses of this network |
///
/// An entry with `:port` holds for this port only. Host names are not resolved, so that an address
/// excludes no name. An entry of another form excludes nothing.
#[derive(Clone, Debug, Default)]
pub struct Exclusions(Vec<Exclusion>);

#[derive(Clone, Debug)]
struct Exclusion {
    hosts: Hosts,
    /// The port; `None` for every port.
    port: Option<u16>,
}

#[derive(Clone, Debug)]
enum Hosts {
    All,
    /// The domain in lower case, without dots at either end.
    Domain(String),
    Network(IpNet),
}

impl Exclusions {
    /// Parses the text of the variable.
    pub fn parse(text: &str) -> Self {
        let entries = text.split(|c: char| c == ',' || c.is_whitespace());
        Self(entries.filter_map(Exclusion::parse).collect())
    }

    /// Returns whether a host and port are excluded. `host` has no brackets.
    pub fn contain(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.0.iter().any(|entry| {
            entry.port.is_none_or(|expected| expected == port) && entry.hosts.contain(&host)
        })
    }
}

impl Exclusion {
    fn parse(entry: &str) -> Option<Self> {
        // Before the port: an IPv6 address has colons, too.
        if let Some(network) = network(entry) {
            return Some(Self {
                hosts: Hosts::Network(network),
                port: None,
            });
        }

        let (host, port) = match entry.rsplit_once(':') {
            Some((host, digits)) => (host, Some(digits.parse().ok()?)),
            None => (entry, None),
        };
        Some(Self {
            hosts: Hosts::parse(host)?,
            port,
        })
    }
}

impl Hosts {
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::All);
        }
        if let Some(network) = network(text) {
            return Some(Self::Network(network));
        }

        let domain = text.strip_prefix('*').unwrap_or(text).trim_matches('.');
        let named = !domain.is_empty() && !domain.contains(['*', ':', '/', '[', ']']);
        named.then(|| Self::Domain(domain.to_ascii_lowercase()))
    }

    /// Returns true if the host, given in lower case, is among these hosts.
    fn contain(&self, host: &str) -> bool {
        match self {
            Self::All => true,
            Self::Network(network) => host
                .parse::<IpAddr>()
                .is_ok_and(|address| network.contains(&address)),
            // The digits at the end of an address are no domain above it.
            Self::Domain(_) if host.parse::<IpAddr>().is_ok() => false,
            Self::Domain(domain) => match host.strip_suffix(domain.as_str()) {
                Some(rest) => rest.is_empty() || rest.ends_with('.'),
                None => false,
            },
        }
    }
}

/// Parses a network, or a single address with or without brackets.
fn network(text: &str) -> Option<IpNet> {
    let inner = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let bare = inner.unwrap_or(text);
    let address = bare.parse::<IpAddr>().map(IpNet::from);
    address.or_else(|_| bare.parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_with_a_port_holds_for_this_port_only() {
        for (entries, host, port, excluded) in [
            ("h:9000", "h", 9000, true),
            ("h:9000", "h", 443, false),
            ("h:9000", "below.h", 9000, true),
            ("*:9000", "h", 9000, true),
            ("*:9000", "h", 443, false),
            ("10.0.0.0/8,h:9000", "10.1.2.3", 443, true),
            ("[::1]:9000", "::1", 9000, true),
            ("[::1]:9000", "::1", 443, false),
            ("::1", "::1", 443, true),
        ] {
            let found = Exclusions::parse(entries).contain(host, port);
            assert_eq!(found, excluded, "{entries} {host}:{port}");
        }
    }
}
