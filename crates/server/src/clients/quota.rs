//! Quotas of a database and of each owner.
//!
//! They decide which clients may register, and which are removed to make room.

use std::net::IpAddr;
use std::time::Duration;

use super::clock::microseconds;
use super::id::ClientId;
use super::row::{ClientRow, Owner, Site, site};
use super::spent_token::SpentToken;
use crate::admission::ClientKey;
use crate::listen::Peer;

/// Time after which clients that have never queried make room for others.
const PROBATION: Duration = Duration::from_secs(600);
/// Time without use after which other clients make room.
const RECENT: Duration = Duration::from_secs(24 * 3600);
/// The part of the clients that one owner may have: a tenth.
const OWNER_CLIENTS: u64 = 10;
/// The part of the clients that one owner may have before they query: a hundredth.
const OWNER_FRESH: u64 = 100;
/// The part of the bytes that one owner may have with several clients: a quarter.
const OWNER_BYTES: u64 = 4;
/// The part of the clients that one site may have: a quarter.
const SITE_CLIENTS: u64 = 4;
/// The part of the clients that one site may have before they query: a tenth.
const SITE_FRESH: u64 = 10;
/// Fewest clients that an owner or a site may have, if the database may have as many.
const OWNER_LEAST: u64 = 4;
/// Longest advised retry delay.
const MAX_ADVICE: Duration = Duration::from_secs(3600);
/// The part of the clients and of the bytes that all private tokens may have: a half.
const PRIVATE_PART: u64 = 2;
/// The site of all clients that were registered with private tokens. Nothing says which tokens are
/// of one client, so that together they are limited as one site.
const PRIVATE_SITE: Site = *b"privpass";

/// The owner of the clients that a request registers: the private token that it costs, or else its
/// client. Each private token is an owner of its own, and all have one site.
pub(crate) fn owner_of(client: &ClientKey, paid: Option<&SpentToken>) -> Owner {
    let Some(token) = paid else {
        return owner(client);
    };
    let mut owner = Owner::default();
    owner.copy_from_slice(&token.digest[..size_of::<Owner>()]);
    owner[..size_of::<Site>()].copy_from_slice(&PRIVATE_SITE);
    owner
}

/// The owner of the clients that a token or network registers: a hash of its name. A listed relay
/// is a network like others.
pub(super) fn owner(client: &ClientKey) -> Owner {
    let network = match client {
        ClientKey::Address(address) | ClientKey::Relay(Peer::Address(address)) => Some(*address),
        _ => None,
    };
    let name = match client {
        ClientKey::Token(name) => format!("token {name}"),
        ClientKey::Address(address) | ClientKey::Relay(Peer::Address(address)) => {
            format!("network {address}")
        }
        ClientKey::Local | ClientKey::Relay(Peer::Local) => "local".to_owned(),
        ClientKey::Others => "others".to_owned(),
    };

    let mut owner = Owner::default();
    owner.copy_from_slice(&blake3::hash(name.as_bytes()).as_bytes()[..size_of::<Owner>()]);

    if let Some(IpAddr::V6(address)) = network {
        let name = format!("site {}", Peer::site_of(address));
        owner[..size_of::<Site>()]
            .copy_from_slice(&blake3::hash(name.as_bytes()).as_bytes()[..size_of::<Site>()]);
    }
    owner
}

/// Returns true if two registrations may be of one client. Nothing says whose a private token is.
pub(super) fn may_be_same(owner: &Owner, other: &Owner) -> bool {
    owner == other || (is_of_private_token(owner) && is_of_private_token(other))
}

/// Returns true if an owner is a private token.
fn is_of_private_token(owner: &Owner) -> bool {
    site(owner) == PRIVATE_SITE
}

/// Quota for the clients of a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    pub(crate) clients: u64,
    pub(crate) bytes: u64,
}

impl Quota {
    /// The clients that one owner or site may have: one part of `divisor`, but always a few.
    fn part_of_clients(self, divisor: u64) -> u64 {
        (self.clients / divisor).max(OWNER_LEAST)
    }
}

/// The clients that a limit counts, together with a new one.
struct ClientCount {
    clients: u64,
    bytes: u64,
    /// Set if a private token pays for the new one.
    is_private: bool,
}

/// Returns the clients to remove so that `new` fits: the expired ones and, if the database, the
/// owner or its site is at its limit, those that have not queried for [`PROBATION`], then those
/// that have not been used for [`RECENT`]. At its limit, an owner or a site gives up its own
/// clients only. `expiry` is the time by which clients expire or make room. The error is the
/// advised retry delay, if not enough clients can be removed.
pub(super) fn make_room(
    mut rows: Vec<(ClientId, ClientRow)>,
    new: &ClientRow,
    quota: Quota,
    expiry: u64,
) -> Result<Vec<ClientId>, Duration> {
    let mut gone = Vec::new();
    let expired = rows.extract_if(.., |(_, row)| row.is_expired(expiry));
    gone.extend(expired.map(|(id, _)| id));

    // The owner's limits first: the room that it makes counts for the database, too.
    rows.sort_by_key(|(_, row)| (row.queried, row.used));
    for limit in [
        Limit::OwnerFresh,
        Limit::Owner,
        Limit::SiteFresh,
        Limit::Site,
        Limit::Database,
    ] {
        let mut count = limit.count(&rows, new);
        // In the order of the sort: clients that never queried, then the others, unused longest
        // first.
        for (id, row) in &rows {
            if !limit.counts(row, new.owner) || removable_from(row) > expiry {
                continue;
            }
            if limit.holds(&count, quota) {
                break;
            }

            count.clients -= 1;
            count.bytes = count.bytes.saturating_sub(row.bytes());
            gone.push(*id);
        }

        if !limit.holds(&count, quota) {
            return Err(delay(&rows, limit, new, expiry));
        }
        rows.retain(|(id, _)| !gone.contains(id));
    }
    Ok(gone)
}

/// A limit on clients.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// Clients of one owner that have never queried.
    OwnerFresh,
    /// All clients of one owner.
    Owner,
    /// Clients of one site that have never queried.
    SiteFresh,
    /// All clients of one site.
    Site,
    Database,
}

impl Limit {
    /// Returns whether it counts a client, if `owner` registers another.
    fn counts(self, row: &ClientRow, owner: Owner) -> bool {
        match self {
            Self::OwnerFresh => row.owner == owner && !row.queried,
            Self::Owner => row.owner == owner,
            Self::SiteFresh => site(&row.owner) == site(&owner) && !row.queried,
            Self::Site => site(&row.owner) == site(&owner),
            Self::Database => true,
        }
    }

    /// The clients that it counts, and the new one.
    fn count(self, rows: &[(ClientId, ClientRow)], new: &ClientRow) -> ClientCount {
        let mut count = ClientCount {
            clients: 1,
            bytes: new.bytes(),
            is_private: is_of_private_token(&new.owner),
        };
        for (_, row) in rows {
            if self.counts(row, new.owner) {
                count.clients += 1;
                count.bytes = count.bytes.saturating_add(row.bytes());
            }
        }
        count
    }

    /// Returns whether these clients are within the quota.
    fn holds(self, count: &ClientCount, quota: Quota) -> bool {
        match self {
            Self::OwnerFresh => count.clients <= quota.part_of_clients(OWNER_FRESH),
            Self::Owner => {
                let in_share = count.bytes <= quota.bytes / OWNER_BYTES;
                let few = count.clients <= quota.part_of_clients(OWNER_CLIENTS);
                few && (in_share || count.clients == 1)
            }
            Self::SiteFresh => count.clients <= quota.part_of_clients(SITE_FRESH),
            Self::Site if count.is_private => {
                let in_share = count.bytes <= quota.bytes / PRIVATE_PART;
                let few = count.clients <= quota.part_of_clients(PRIVATE_PART);
                few && (in_share || count.clients == 1)
            }
            Self::Site => count.clients <= quota.part_of_clients(SITE_CLIENTS),
            Self::Database => count.clients <= quota.clients && count.bytes <= quota.bytes,
        }
    }
}

/// The time from which a client makes room for others.
fn removable_from(row: &ClientRow) -> u64 {
    let kept = if row.queried { RECENT } else { PROBATION };
    row.used.saturating_add(microseconds(kept))
}

/// The time until the next client can be removed.
fn delay(rows: &[(ClientId, ClientRow)], limit: Limit, new: &ClientRow, expiry: u64) -> Duration {
    let counted = rows.iter().filter(|(_, row)| limit.counts(row, new.owner));
    let next = counted
        .map(|(_, row)| removable_from(row))
        // Those that can be removed already were not enough.
        .filter(|time| *time > expiry)
        .min();

    let wait = next.map_or(MAX_ADVICE, |time| {
        Duration::from_micros(time.saturating_sub(new.created))
    });
    wait.clamp(Duration::from_secs(1), MAX_ADVICE)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::Version;

    use super::*;

    const QUOTA: Quota = Quota {
        clients: 8,
        bytes: 1000,
    };
    const MINUTE: u64 = 60_000_000;
    const DAY: u64 = 24 * 60 * MINUTE;

    /// A client of an owner, last used at a time.
    fn row(owner: u8, used: u64, queried: bool) -> ClientRow {
        let ttl = 30 * DAY;
        ClientRow {
            queried,
            ..ClientRow::new([owner; 16], 10, Version([0; 8]), used, ttl)
        }
    }

    fn rows(rows: &[ClientRow]) -> Vec<(ClientId, ClientRow)> {
        (0..)
            .zip(rows)
            .map(|(number, row)| (ClientId::of(number), row.clone()))
            .collect()
    }

    fn removed(present: &[ClientRow], new: &ClientRow) -> Result<Vec<u128>, u64> {
        make_room(rows(present), new, QUOTA, new.created)
            .map(|gone| gone.iter().map(|id| id.number()).collect())
            .map_err(|delay| delay.as_secs())
    }

    #[test]
    fn expired_clients_are_removed_always() {
        let new = row(1, 40 * DAY, false);
        assert_eq!(
            removed(&[row(2, 0, true), row(2, 39 * DAY, true)], &new),
            Ok(vec![0])
        );
    }

    #[test]
    fn one_owner_registers_a_few_clients_before_they_query() {
        let four: Vec<ClientRow> = (0..4)
            .map(|minute| row(1, minute * MINUTE, false))
            .collect();
        assert_eq!(removed(&four, &row(1, 5 * MINUTE, false)), Err(5 * 60));
        assert_eq!(removed(&four, &row(1, 11 * MINUTE, false)), Ok(vec![0]));
        assert_eq!(
            removed(&four, &row(2, 5 * MINUTE, false)),
            Ok(vec![]),
            "another owner"
        );

        let queried: Vec<ClientRow> = four
            .iter()
            .map(|row| ClientRow {
                queried: true,
                ..row.clone()
            })
            .collect();
        assert_eq!(
            removed(&queried[..3], &row(1, 5 * MINUTE, false)),
            Ok(vec![])
        );
    }

    #[test]
    fn networks_of_a_site_share_its_part_of_the_clients() {
        let quota = Quota {
            clients: 100,
            bytes: 1 << 20,
        };
        let of = |network: u32, queried: bool| {
            let address = format!("2001:db8:7:{network:x}::").parse().unwrap();
            ClientRow {
                owner: owner(&ClientKey::Address(address)),
                ..row(0, 0, queried)
            }
        };
        let refused = |present: Vec<ClientRow>, new: &ClientRow| {
            make_room(rows(&present), new, quota, 0).is_err()
        };

        let fresh = |count| (0..count).map(|network| of(network, false)).collect();
        assert!(!refused(fresh(9), &of(9, false)));
        assert!(
            refused(fresh(10), &of(10, false)),
            "a tenth before they query"
        );
        let queried = |count| (0..count).map(|network| of(network, true)).collect();
        assert!(!refused(queried(24), &of(24, false)));
        assert!(refused(queried(25), &of(25, false)), "a quarter");
        assert!(!refused(queried(25), &row(1, 0, false)), "another site");
    }

    #[test]
    fn only_networks_of_ipv6_share_a_site() {
        let of = |address: &str| owner(&ClientKey::Address(address.parse().unwrap()));
        let one = of("2001:db8:7:1::");
        let two = of("2001:db8:7:2::");
        assert!(one != two && site(&one) == site(&two));
        assert_ne!(site(&one), site(&of("2001:db8:8:1::")));
        assert_ne!(site(&of("10.0.0.1")), site(&of("10.0.0.2")));

        let relay = Peer::Address("2001:db8:7:1::".parse().unwrap());
        assert_eq!(owner(&ClientKey::Relay(relay)), one, "listed later");
        assert_eq!(
            owner(&ClientKey::Relay(Peer::Local)),
            owner(&ClientKey::Local)
        );
    }

    #[test]
    fn a_full_database_removes_idle_clients_and_keeps_recent_ones() {
        let mut full: Vec<ClientRow> = (0..8u8)
            .map(|owner| row(owner, u64::from(owner) * MINUTE, true))
            .collect();
        let new = |time| row(9, time, false);

        assert_eq!(removed(&full, &new(10 * MINUTE)), Err(3600));
        assert_eq!(removed(&full, &new(DAY - 30 * MINUTE)), Err(30 * 60));
        assert_eq!(removed(&full, &new(DAY + 10 * MINUTE)), Ok(vec![0]));

        full[5].queried = false;
        assert_eq!(removed(&full, &new(10 * MINUTE)), Err(5 * 60));
        assert_eq!(removed(&full, &new(16 * MINUTE)), Ok(vec![5]));
    }

    #[test]
    fn fresh_clients_keep_no_idle_ones() {
        let mut full: Vec<ClientRow> = (0..8).map(|owner| row(owner, 0, true)).collect();
        full[5] = row(5, DAY, false);
        assert_eq!(removed(&full, &row(9, DAY + MINUTE, false)), Ok(vec![0]));

        full.iter_mut().for_each(|row| row.owner = [1; 16]);
        assert_eq!(
            removed(&full[2..7], &row(1, DAY + MINUTE, false)),
            Ok(vec![0, 1])
        );
    }

    #[test]
    fn one_owner_has_a_quarter_of_the_bytes_unless_it_has_one_client() {
        let large = |owner, bytes| ClientRow {
            keys_bytes: bytes,
            ..row(owner, 0, true)
        };

        assert_eq!(removed(&[], &large(1, 900)), Ok(vec![]));
        assert_eq!(removed(&[large(1, 200)], &large(1, 51)), Err(3600));
        assert_eq!(
            removed(&[large(1, 200), large(2, 200)], &large(3, 250)),
            Ok(vec![])
        );
        assert_eq!(
            removed(&[large(2, 400)], &large(1, 700)),
            Err(3600),
            "all bytes are taken"
        );
    }

    /// The owner of a client that was registered with the private token of this number.
    fn private_owner(number: u8) -> Owner {
        let token = SpentToken {
            key: [1; 32],
            digest: [number; 32],
        };
        owner_of(&ClientKey::Local, Some(&token))
    }

    /// A client that was registered with the private token of this number.
    fn of_token(number: u8, bytes: u64, queried: bool) -> ClientRow {
        ClientRow {
            owner: private_owner(number),
            keys_bytes: bytes,
            ..row(0, 0, queried)
        }
    }

    #[test]
    fn private_tokens_have_half_of_the_clients_and_a_tenth_before_they_query() {
        let quota = Quota {
            clients: 100,
            bytes: 1 << 20,
        };
        let present = |count: u8, queried: bool| -> Vec<ClientRow> {
            (0..count).map(|one| of_token(one, 10, queried)).collect()
        };
        let outcome = |present: Vec<ClientRow>, new: &ClientRow| {
            let room = make_room(rows(&present), new, quota, new.created);
            room.map(|gone| gone.len()).map_err(|delay| delay.as_secs())
        };
        let new = |created| ClientRow {
            created,
            ..of_token(200, 10, false)
        };

        assert_eq!(outcome(present(9, false), &new(0)), Ok(0));
        assert_eq!(outcome(present(10, false), &new(0)), Err(10 * 60));
        assert_eq!(outcome(present(10, false), &new(11 * MINUTE)), Ok(1));

        assert_eq!(outcome(present(49, true), &new(0)), Ok(0));
        assert_eq!(outcome(present(50, true), &new(0)), Err(3600));
        let other = row(1, 0, false);
        assert_eq!(outcome(present(50, true), &other), Ok(0), "no token");
    }

    #[test]
    fn private_tokens_have_half_of_the_bytes_unless_they_have_one_client() {
        assert_eq!(removed(&[], &of_token(3, 900, false)), Ok(vec![]));
        let present = [of_token(1, 240, true), of_token(2, 240, true)];
        assert_eq!(removed(&present, &of_token(3, 20, false)), Ok(vec![]));
        assert_eq!(removed(&present, &of_token(3, 21, false)), Err(3600));
    }

    #[test]
    fn each_private_token_is_an_owner_that_may_repeat_a_registration_of_another() {
        let first = private_owner(1);
        let second = private_owner(2);
        assert_ne!(first, second);
        assert_eq!(site(&first), site(&second));

        let local = owner_of(&ClientKey::Local, None);
        assert!(may_be_same(&first, &second) && may_be_same(&local, &local));
        assert!(!may_be_same(&first, &local) && !may_be_same(&local, &second));
    }
}
