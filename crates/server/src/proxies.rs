//! Proxies that say whom a request is from.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use axum::http::HeaderMap;

use crate::Error;
use crate::forwarded::{self, FORWARDED, X_FORWARDED_FOR};
use crate::listen::Peer;
use crate::problem::Problem;

/// Peers whose word is taken for whom a request is from: networks as `10.0.0.0/8` or `::1`, and `unix` for
/// processes that come over a Unix socket; separated by commas. None by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies {
    networks: Vec<Network>,
    unix: bool,
}

/// The addresses that begin with these bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        let differ = match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                u128::from(own.to_bits() ^ other.to_bits()) << (u128::BITS - u32::BITS)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => own.to_bits() ^ other.to_bits(),
            _ => return false,
        };
        differ.leading_zeros() >= self.bits
    }
}

impl FromStr for Network {
    type Err = ();

    /// An address alone is a network of one. No bit after the network's own may be set.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address = address.parse::<IpAddr>().map_err(drop)?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(all), |bits| bits.parse::<u32>().map_err(drop))?;
        let rest = match address {
            IpAddr::V4(address) => u128::from(address.to_bits()).checked_shl(96 + bits),
            IpAddr::V6(address) => address.to_bits().checked_shl(bits),
        };
        let plain = bits <= all && rest.unwrap_or(0) == 0 && address == address.to_canonical();
        plain.then_some(Self { address, bits }).ok_or(())
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for TrustedProxies {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut all = Self::default();
        for part in text.split(',').map(str::trim) {
            if part == "unix" {
                all.unix = true;
            } else {
                let network = part.parse().map_err(|()| Error::BadProxy { text: part.to_owned() })?;
                all.networks.push(network);
            }
        }
        Ok(all)
    }
}

impl fmt::Display for TrustedProxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let networks = self.networks.iter().map(Network::to_string);
        let all: Vec<String> = networks.chain(self.unix.then(|| "unix".to_owned())).collect();
        f.write_str(&all.join(","))
    }
}

impl TrustedProxies {
    fn trusts(&self, peer: Peer) -> bool {
        match peer {
            Peer::Local => self.unix,
            Peer::Address(address) => self.networks.iter().any(|network| network.contains(address)),
        }
    }

    /// Whom a request is from: its peer, or, where that is a trusted proxy, the last address before the
    /// trusted ones in what it forwards. Whatever stands before that is the client's own word.
    ///
    /// # Errors
    /// A header that does not parse up to that place, or two headers that disagree: one of them is not the
    /// proxy's.
    pub(crate) fn client(&self, peer: Peer, headers: &HeaderMap) -> Result<Peer, Problem> {
        if !self.trusts(peer) {
            return Ok(peer);
        }
        let told = [
            self.outermost(headers, X_FORWARDED_FOR, forwarded::of_list)?,
            self.outermost(headers, FORWARDED, forwarded::of_pairs)?,
        ];
        match told {
            [None, None] => Ok(peer),
            [Some(one), None] | [None, Some(one)] => Ok(Peer::Address(one)),
            [Some(one), Some(other)] if one == other => Ok(Peer::Address(one)),
            _ => Err(Problem::BadHeader { name: FORWARDED, expected: "the address of x-forwarded-for" }),
        }
    }

    /// The last address of a header that is no trusted proxy's; the first where all are.
    fn outermost(
        &self,
        headers: &HeaderMap,
        name: &'static str,
        addresses: fn(&str) -> Option<Vec<forwarded::Element<'_>>>,
    ) -> Result<Option<IpAddr>, Problem> {
        let bad = || Problem::BadHeader { name, expected: "addresses" };
        let mut found = None;
        let lines: Vec<_> = headers.get_all(name).iter().collect();
        for line in lines.into_iter().rev() {
            let line = addresses(line.to_str().map_err(|_| bad())?).ok_or_else(bad)?;
            for element in line.into_iter().rev() {
                let address = forwarded::address(element).ok_or_else(bad)?;
                if !self.trusts(Peer::Address(address)) {
                    return Ok(Some(address));
                }
                found = Some(address);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn peer(text: &str) -> Peer {
        Peer::Address(text.parse().unwrap())
    }

    /// Whom a request over 10.0.0.1 is from; `None` where it is refused.
    fn client(headers: &[(&'static str, &str)]) -> Option<Peer> {
        let proxies: TrustedProxies = "10.0.0.0/8,fd00::/8".parse().unwrap();
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers.iter().map(pair) {
            map.append(name, value);
        }
        proxies.client(peer("10.0.0.1"), &map).ok()
    }

    #[test]
    fn networks_are_read_as_they_are_printed() {
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
            assert!(matches!(text.parse::<TrustedProxies>(), Err(Error::BadProxy { .. })), "{text}");
        }
    }

    #[test]
    fn networks_hold_what_begins_with_their_bits() {
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
            !proxies.trusts(Peer::Local) && "unix".parse::<TrustedProxies>().unwrap().trusts(Peer::Local)
        );
    }

    #[test]
    fn the_last_address_that_is_no_proxy_is_the_client() {
        const LIST: &str = X_FORWARDED_FOR;
        for (headers, expected) in [
            (&[][..], "10.0.0.1"),
            (&[(LIST, "1.2.3.4")], "1.2.3.4"),
            (&[(LIST, "6.6.6.6, 1.2.3.4")], "1.2.3.4"),
            (&[(LIST, "forged, 1.2.3.4 , 10.9.9.9,fd00::7")], "1.2.3.4"),
            (&[(LIST, "6.6.6.6"), (LIST, "1.2.3.4"), (LIST, "10.2.2.2")], "1.2.3.4"),
            (&[(LIST, "10.3.3.3, 10.2.2.2")], "10.3.3.3"),
            (&[(LIST, "1.2.3.4:567")], "1.2.3.4"),
            (&[(LIST, "[2001:db8::1]:567")], "2001:db8::1"),
            (&[(FORWARDED, "for=6.6.6.6, for=1.2.3.4;proto=https, FOR=\"10.0.0.9:80\";by=x")], "1.2.3.4"),
            (&[(FORWARDED, "proto=\"a,b;c\\\"\"; For=\"[2001:db8::1]\"")], "2001:db8::1"),
            (&[(LIST, "1.2.3.4"), (FORWARDED, "for=1.2.3.4")], "1.2.3.4"),
        ] {
            assert_eq!(client(headers), Some(peer(expected)), "{headers:?}");
        }
    }

    #[test]
    fn what_does_not_parse_and_what_disagrees_is_refused() {
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
            assert_eq!(client(headers), None, "{headers:?}");
        }
    }

    #[test]
    fn nobody_else_is_believed() {
        let headers = HeaderMap::from_iter([(
            HeaderName::from_static(X_FORWARDED_FOR),
            HeaderValue::from_static("1.2.3.4"),
        )]);
        let client =
            |proxies: &str, of: Peer| proxies.parse::<TrustedProxies>().unwrap().client(of, &headers).ok();
        assert_eq!(TrustedProxies::default().client(peer("10.0.0.1"), &headers).ok(), Some(peer("10.0.0.1")));
        assert_eq!(client("10.0.0.0/8", peer("11.0.0.1")), Some(peer("11.0.0.1")));
        assert_eq!(client("10.0.0.0/8", Peer::Local), Some(Peer::Local));
        assert_eq!(client("unix", Peer::Local), Some(peer("1.2.3.4")));
    }
}
