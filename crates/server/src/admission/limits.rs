//! Per-client limits, and the key that identifies a client.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use crate::access::{Grant, ListedRelays};
use crate::error::Error;
use crate::listen::Peer;

/// A sustained request rate: `5/s`, `300/min`, `1000/h`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    count: f64,
    unit: RateUnit,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum RateUnit {
    Second,
    Minute,
    Hour,
}

/// Limits for each client.
///
/// A client is a token or, without one, an IP address. An IPv6 /64 counts as one client, and so do
/// all processes that connect over a Unix socket. A request with a private token of Privacy Pass
/// has no such limits: the issuer limits the tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClientLimits {
    /// Sustained rate, counting each query of a batch, also to a delta; `None` for no limit.
    pub rate: Option<Rate>,
    /// Requests allowed at once after a pause, at least 1.
    pub burst: u32,
    /// Concurrent requests; 0 for no limit.
    pub per_client: usize,
}

/// The client that a request is charged to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ClientKey {
    Token(Arc<str>),
    Address(IpAddr),
    Local,
    /// A listed relay, by its network. It has many clients, so that relays together have half of
    /// each bounded resource.
    Relay(Peer),
    /// All clients that did not fit into the table.
    Others,
}

impl ClientKey {
    /// The token's name or, without one, the peer's network. Private tokens name nobody, so that
    /// their requests count for the peer, too: otherwise whoever has saved up tokens would be as
    /// many clients, none of which gives way to others.
    pub(crate) fn of(grant: &Grant, peer: Peer, relays: &ListedRelays) -> Self {
        if let Some(name) = &grant.name {
            return Self::Token(Arc::clone(name));
        }

        let network = peer.network();
        match network {
            _ if relays.contains(peer) => Self::Relay(network),
            Peer::Address(address) => Self::Address(address),
            Peer::Local => Self::Local,
        }
    }

    /// Returns true for a listed relay.
    pub(crate) fn is_relay(&self) -> bool {
        matches!(self, Self::Relay(_))
    }
}

impl ClientLimits {
    /// Returns whether no limit is set.
    pub(crate) fn are_none(&self) -> bool {
        self.rate.is_none() && self.per_client == 0
    }
}

impl Rate {
    /// Requests per second.
    pub fn per_second(self) -> f64 {
        self.count / self.unit.seconds()
    }
}

impl RateUnit {
    const ALL: [(&str, Self); 3] = [
        ("s", Self::Second),
        ("min", Self::Minute),
        ("h", Self::Hour),
    ];

    fn seconds(self) -> f64 {
        match self {
            Self::Second => 1.0,
            Self::Minute => 60.0,
            Self::Hour => 3600.0,
        }
    }
}

impl FromStr for Rate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (count, unit) = text.split_once('/').ok_or_else(|| bad_rate(text))?;

        let count = count
            .parse()
            .ok()
            .filter(|count| (1e-3..=1e9).contains(count))
            .ok_or_else(|| bad_rate(text))?;

        let (_, unit) = RateUnit::ALL
            .into_iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| bad_rate(text))?;
        Ok(Self { count, unit })
    }
}

/// The error for a text that is not a rate.
fn bad_rate(text: &str) -> Error {
    Error::BadRate {
        text: text.to_owned(),
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = RateUnit::ALL
            .into_iter()
            .find(|(_, unit)| *unit == self.unit)
            .map_or("s", |(name, _)| name);
        write!(f, "{}/{name}", self.count)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rates_parse_as_printed() {
        for (text, per_second) in [
            ("5/s", 5.0),
            ("0.5/s", 0.5),
            ("300/min", 5.0),
            ("3600/h", 1.0),
        ] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(
                (rate.per_second(), rate.to_string().as_str()),
                (per_second, text)
            );
        }

        for text in [
            "", "5", "5/", "/s", "0/s", "-1/s", "inf/s", "nan/s", "5/day", "5/s/s",
        ] {
            assert!(
                matches!(text.parse::<Rate>(), Err(Error::BadRate { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn clients_are_identified_by_token_or_network() {
        let relays: ListedRelays = "192.0.2.0/24".parse().unwrap();
        let key = |text: &str| {
            let peer = Peer::Address(text.parse().unwrap());
            ClientKey::of(&Grant::everything(), peer, &relays)
        };

        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::9"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_eq!(key("::ffff:10.0.0.1"), key("10.0.0.1"));
        assert_ne!(key("10.0.0.1"), key("10.0.0.2"));

        assert!(key("192.0.2.7").is_relay() && !key("10.0.0.1").is_relay());
        assert_eq!(key("192.0.2.7"), key("::ffff:192.0.2.7"));
        assert_ne!(key("192.0.2.7"), key("192.0.2.8"), "each is one client");

        let token = |name: &str| {
            let grant = Grant::new(name, [].into(), None);
            ClientKey::of(&grant, Peer::Address([192, 0, 2, 7].into()), &relays)
        };
        assert_eq!(token("a"), token("a"));
        assert_ne!(token("a"), token("b"));
        assert!(!token("a").is_relay(), "a token names the client");
    }
}
