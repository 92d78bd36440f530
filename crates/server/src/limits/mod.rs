//! What one client may take of the service, whatever there is room for.

mod clients;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use crate::Error;
use crate::access::grant::Grant;
use crate::listen::Peer;

pub(crate) use clients::{Clients, Held};

/// Queries in a time that a client may ask in the long run: `5/s`, `300/min`, `1000/h`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    count: f64,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    Second,
    Minute,
    Hour,
}

/// Limits of each client: of a token where there is one, else of an address. Addresses of one
/// IPv6 /64 count as one; so do all processes that come over a Unix socket.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClientLimits {
    /// Requests a second in the long run, each query of a batch counted; no limit where `None`.
    pub rate: Option<Rate>,
    /// Requests that may come at once after a pause, at least 1.
    pub burst: u32,
    /// Requests at the same time; 0 for no limit.
    pub per_client: usize,
}

/// Whose request it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ClientKey {
    Token(Arc<str>),
    Address(IpAddr),
    Local,
    /// Everybody for whom there was no place in the table.
    Others,
}

impl ClientKey {
    pub(crate) fn of(grant: &Grant, peer: Peer) -> Self {
        match (&grant.name, peer) {
            (Some(name), _) => Self::Token(Arc::clone(name)),
            (None, Peer::Address(IpAddr::V6(address))) => match address.to_ipv4_mapped() {
                Some(address) => Self::Address(address.into()),
                None => Self::Address(IpAddr::V6((address.to_bits() >> 64 << 64).into())),
            },
            (None, Peer::Address(address)) => Self::Address(address),
            (None, Peer::Local) => Self::Local,
        }
    }
}

impl ClientLimits {
    /// Whether nothing is limited.
    pub(crate) fn are_none(&self) -> bool {
        self.rate.is_none() && self.per_client == 0
    }
}

impl Rate {
    /// Requests a second.
    pub fn per_second(self) -> f64 {
        self.count / self.unit.seconds()
    }
}

impl Unit {
    const ALL: [(&str, Self); 3] = [("s", Self::Second), ("min", Self::Minute), ("h", Self::Hour)];

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
        let bad = || Error::BadRate { text: text.to_owned() };
        let (count, unit) = text.split_once('/').ok_or_else(bad)?;
        let count = count.parse().ok().filter(|count| (1e-3..=1e9).contains(count)).ok_or_else(bad)?;
        let unit = Unit::ALL.into_iter().find(|(name, _)| *name == unit).ok_or_else(bad)?.1;
        Ok(Self { count, unit })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Unit::ALL.into_iter().find(|(_, unit)| *unit == self.unit).map_or("s", |(name, _)| name);
        write!(f, "{}/{name}", self.count)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_they_are_printed() {
        for (text, per_second) in [("5/s", 5.0), ("0.5/s", 0.5), ("300/min", 5.0), ("3600/h", 1.0)] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!((rate.per_second(), rate.to_string().as_str()), (per_second, text));
        }
        for text in ["", "5", "5/", "/s", "0/s", "-1/s", "inf/s", "nan/s", "5/day", "5/s/s"] {
            assert!(matches!(text.parse::<Rate>(), Err(Error::BadRate { .. })), "{text}");
        }
    }

    #[test]
    fn clients_are_told_apart_by_token_or_network() {
        let key = |text: &str| ClientKey::of(&Grant::everything(), Peer::Address(text.parse().unwrap()));
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::9"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_eq!(key("::ffff:10.0.0.1"), key("10.0.0.1"));
        assert_ne!(key("10.0.0.1"), key("10.0.0.2"));
        let token = |name: &str| ClientKey::of(&Grant::new(name, [].into(), None), Peer::Local);
        assert_eq!(token("a"), token("a"));
        assert_ne!(token("a"), token("b"));
    }
}
