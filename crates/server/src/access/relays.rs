//! Relays with places of their own.

use std::fmt;
use std::str::FromStr;

use super::proxies::TrustedProxies;
use crate::error::Error;
use crate::listen::Peer;

/// Relays of Oblivious HTTP whose clients have places of their own: together half of them.
///
/// All clients of a relay share its address. Parsed from a comma-separated list of networks, such
/// as `192.0.2.7` or `2001:db8::/64`, and `unix` for processes that connect over a Unix socket.
/// Empty by default: each relay then counts as one client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedRelays(TrustedProxies);

impl ListedRelays {
    /// Returns whether `peer` is one of the relays.
    pub(crate) fn contains(&self, peer: Peer) -> bool {
        self.0.trusts(peer)
    }
}

impl FromStr for ListedRelays {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.parse::<TrustedProxies>() {
            Ok(networks) => Ok(Self(networks)),
            Err(Error::BadProxy { text }) => Err(Error::BadRelay { text }),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Display for ListedRelays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn relays_parse_as_printed_and_others_are_refused() {
        let relays: ListedRelays = "192.0.2.7,unix".parse().unwrap();
        assert_eq!(relays.to_string(), "192.0.2.7/32,unix");
        let peer = |text: &str| Peer::Address(text.parse().unwrap());
        assert!(relays.contains(Peer::Local));
        assert!(relays.contains(peer("192.0.2.7")));
        assert!(!relays.contains(peer("192.0.2.8")));
        assert!(!ListedRelays::default().contains(Peer::Local));

        let refused = "relay.example".parse::<ListedRelays>().unwrap_err();
        assert!(matches!(refused, Error::BadRelay { .. }), "{refused}");
        assert!(refused.to_string().contains("relay.example"), "{refused}");
    }
}
