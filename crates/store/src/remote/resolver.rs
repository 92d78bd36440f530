//! Addresses of the hosts of object stores, in random order.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Resolves names as the system does, and shuffles the addresses: the first one that works is used,
/// and a store spreads its load over all of them.
pub(super) struct ShufflingResolver;

impl Resolve for ShufflingResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The client replaces port 0 by that of the URL.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let addresses: Addrs = Box::new(shuffled(found).into_iter());
            Ok(addresses)
        })
    }
}

/// All addresses in random order. The order is no secret.
fn shuffled(addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let mut shuffled: Vec<SocketAddr> = addresses.collect();
    let keys = RandomState::new();
    shuffled.sort_by_cached_key(|address| keys.hash_one(address));
    shuffled
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn each_address_comes_first_at_times() {
        let hosts = [
            IpAddr::from(Ipv4Addr::new(192, 0, 2, 1)),
            IpAddr::from(Ipv4Addr::new(192, 0, 2, 2)),
            IpAddr::from(Ipv6Addr::LOCALHOST),
        ];
        let addresses = hosts.map(|host| SocketAddr::new(host, 0));
        let all = BTreeSet::from(addresses);

        // One that never came first in 300 orders would be a chance of one in 10⁵².
        let mut first = BTreeSet::new();
        for _ in 0..300 {
            let order = shuffled(addresses.into_iter());
            assert_eq!(order.len(), addresses.len());
            assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), all);
            first.insert(order[0]);
        }
        assert_eq!(first, all);
        assert!(shuffled(std::iter::empty()).is_empty());
    }
}
