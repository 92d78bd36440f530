//! Hosts that are reached directly: the rules of `NO_PROXY`.

use std::net::IpAddr;

use ipnet::IpNet;

/// The entries of `NO_PROXY`, separated by commas or white space.
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
pub(super) struct Exclusions(Vec<Exclusion>);

struct Exclusion {
    hosts: Hosts,
    /// `None` for every port.
    port: Option<u16>,
}

enum Hosts {
    All,
    /// In lower case, without dots at either end.
    Domain(String),
    Network(IpNet),
}

impl Exclusions {
    pub(super) fn parse(text: &str) -> Self {
        let entries = text.split(|c: char| c == ',' || c.is_whitespace());
        Self(entries.filter_map(Exclusion::parse).collect())
    }

    /// Returns whether a host and port are excluded. `host` has no brackets.
    pub(super) fn contain(&self, host: &str, port: u16) -> bool {
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

    /// `host` is in lower case.
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

/// A network, or a single address with or without brackets.
fn network(text: &str) -> Option<IpNet> {
    let inner = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let bare = inner.unwrap_or(text);
    let address = bare.parse::<IpAddr>().map(IpNet::from);
    address.or_else(|_| bare.parse()).ok()
}
