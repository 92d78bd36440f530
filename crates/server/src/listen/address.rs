//! Listen addresses and connection peers.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::Error;

/// Most connections that wait to be accepted: as many as Linux allows by default. Of a burst beyond
/// it, each client tries again after a second. The system may allow fewer.
pub(super) const BACKLOG: u32 = 4096;

/// An address to listen on: `127.0.0.1:7470`, `[::1]:7470`, `localhost:7470` or
/// `unix:/run/papir.sock`. A name is resolved when it is parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Address and port; port 0 picks a free one.
    Tcp(SocketAddr),
    /// A Unix socket, accessible to its owner only (mode 0600).
    Unix(PathBuf),
}

/// The remote end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Peer {
    /// A host.
    Address(IpAddr),
    /// A process on this machine, over a Unix socket.
    Local,
}

impl Peer {
    /// The network that counts as one peer: an IPv6 /64, or an IPv4 address.
    pub(crate) fn network(self) -> Self {
        match self {
            Self::Address(IpAddr::V6(address)) => Self::Address(match address.to_ipv4_mapped() {
                Some(address) => address.into(),
                None => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
            }),
            other => other,
        }
    }

    /// The site of the network: an IPv6 /48, or the network itself.
    pub(crate) fn site(self) -> Self {
        match self.network() {
            Self::Address(IpAddr::V6(address)) => Self::Address(Self::site_of(address).into()),
            network => network,
        }
    }

    /// The site of an IPv6 address: its /48, which one customer of a provider may have.
    pub(crate) fn site_of(address: Ipv6Addr) -> Ipv6Addr {
        (address.to_bits() >> 80 << 80).into()
    }
}

impl FromStr for Listen {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = match text.strip_prefix("unix:") {
            Some("") => None,
            Some(path) => Some(Self::Unix(path.into())),
            None => text.parse().ok().or_else(|| resolve(text)).map(Self::Tcp),
        };

        found.ok_or_else(|| Error::BadListen {
            text: text.to_owned(),
        })
    }
}

/// The address of `NAME:PORT`: the first IPv4 address, else the first of all. Clients that are
/// given an address and not the name mostly expect 127.0.0.1 for `localhost`.
fn resolve(text: &str) -> Option<SocketAddr> {
    let found: Vec<SocketAddr> = text.to_socket_addrs().ok()?.collect();

    found
        .iter()
        .find(|address| address.is_ipv4())
        .or(found.first())
        .copied()
}

impl From<SocketAddr> for Listen {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_ipv6_have_a_site() {
        let peer = |text: &str| Peer::Address(text.parse().unwrap());
        let found = peer("2001:db8:7:1:2:3:4:5");
        assert_eq!(found.network(), peer("2001:db8:7:1::"));
        assert_eq!(found.site(), peer("2001:db8:7::"));

        for address in ["::ffff:10.0.0.1", "10.0.0.1"] {
            assert_eq!(peer(address).site(), peer("10.0.0.1"));
        }
        assert_eq!(Peer::Local.site(), Peer::Local);
    }

    #[test]
    fn addresses_parse_as_printed() {
        for text in [
            "127.0.0.1:7470",
            "[::1]:80",
            "unix:/run/papir.sock",
            "unix:papir.sock",
        ] {
            assert_eq!(text.parse::<Listen>().unwrap().to_string(), text);
        }

        let local: Listen = "localhost:7470".parse().unwrap();
        assert!(
            matches!(local, Listen::Tcp(address) if address.ip().is_loopback() && address.port() == 7470)
        );

        for text in ["", "nowhere", "127.0.0.1", "unix:", "/run/papir.sock"] {
            assert!(
                matches!(text.parse::<Listen>(), Err(Error::BadListen { .. })),
                "{text}"
            );
        }
    }
}
