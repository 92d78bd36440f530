//! Peers trusted to forward client addresses.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

use crate::error::Error;
use crate::listen::Peer;

/// Peers trusted to forward client addresses.
///
/// Parsed from a comma-separated list of networks, such as `10.0.0.0/8` or `::1`, and `unix` for
/// processes that connect over a Unix socket. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies {
    networks: Vec<IpNet>,
    unix: bool,
}

/// Parses a network. A bare address is a network of one.
///
/// `None` for other text, if a bit after the prefix is set, and for IPv4 addresses in IPv6 form,
/// which never match.
fn network(text: &str) -> Option<IpNet> {
    let network = text
        .parse::<IpNet>()
        .or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
        .ok()?;

    let is_exact = network == network.trunc();
    let can_match = network.addr() == network.addr().to_canonical();
    (is_exact && can_match).then_some(network)
}

impl FromStr for TrustedProxies {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut all = Self::default();
        for part in text.split(',').map(str::trim) {
            if part == "unix" {
                all.unix = true;
                continue;
            }
            let network = network(part).ok_or_else(|| Error::BadProxy {
                text: part.to_owned(),
            })?;
            all.networks.push(network);
        }
        Ok(all)
    }
}

impl fmt::Display for TrustedProxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let networks = self.networks.iter().map(IpNet::to_string);
        let all: Vec<String> = networks
            .chain(self.unix.then(|| "unix".to_owned()))
            .collect();
        f.write_str(&all.join(","))
    }
}

impl TrustedProxies {
    /// Returns whether `peer` may forward client addresses.
    pub(crate) fn trusts(&self, peer: Peer) -> bool {
        match peer {
            Peer::Local => self.unix,
            Peer::Address(address) => {
                let address = address.to_canonical();
                self.networks
                    .iter()
                    .any(|network| network.contains(&address))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn peer(text: &str) -> Peer {
        Peer::Address(text.parse().unwrap())
    }

    #[test]
    fn networks_parse_as_printed() {
        for (text, printed) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("127.0.0.1", "127.0.0.1/32"),
            ("::1, unix", "::1/128,unix"),
            ("0.0.0.0/0,::/0", "0.0.0.0/0,::/0"),
            ("fd00::/8", "fd00::/8"),
        ] {
            let proxies: TrustedProxies = text.parse().unwrap();
            assert_eq!(proxies.to_string(), printed);
            assert_eq!(printed.parse::<TrustedProxies>().unwrap(), proxies);
        }

        for text in [
            "",
            "proxy",
            "10.0.0.0/33",
            "10.0.0.1/8",
            "::1/129",
            "::ffff:10.0.0.0/104",
            "10/8",
            "unix,",
            "1.1.1.1/",
        ] {
            assert!(
                matches!(text.parse::<TrustedProxies>(), Err(Error::BadProxy { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn networks_contain_addresses_with_their_prefix() {
        let proxies: TrustedProxies = "10.1.0.0/16,2001:db8::/32,0.0.0.0/32".parse().unwrap();
        for (address, expected) in [
            ("10.1.255.255", true),
            ("10.2.0.0", false),
            ("::ffff:10.1.0.1", true),
            ("2001:db8:ffff::1", true),
            ("2001:db9::", false),
            ("0.0.0.0", true),
            ("0.0.0.1", false),
        ] {
            assert_eq!(proxies.trusts(peer(address)), expected, "{address}");
        }

        assert!(
            !proxies.trusts(Peer::Local)
                && "unix"
                    .parse::<TrustedProxies>()
                    .unwrap()
                    .trusts(Peer::Local)
        );
    }
}
