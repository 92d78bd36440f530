//! Hedged randomness of queries and registrations.
//!
//! A cloned or restored virtual machine may draw the same random bytes twice. Queries for different
//! items with equal randomness would have equal masks and errors under one key, and their
//! difference reveals both items. This holds for a key that a client keeps, and also for fresh
//! keys, which would then be equal. The generator of a query is therefore a pseudorandom function,
//! keyed by the client's state and fresh randomness, of the scheme, the database's version and the
//! items. It differs for different items, even if the system draws equal bytes.
//!
//! A registration has no items. Two registrations with one mask and equal keys would reveal the
//! difference of their plaintexts, and two clients with equal keys would use the same numbers for
//! their queries. The generator of a registration therefore depends on its scheme, version and
//! circumstances.

use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use crate::envelope::Header;
use crate::hedge::{Circumstances, Hedge, Hedged};

/// BLAKE3's context string for queries, which separates these keys from all other uses of the hash.
const CONTEXT: &str = "papir 2026 randomness of queries v1";

/// The generator for a query for `indices` of the scheme and version in `header`. `state` is the
/// encoded state; empty for a client without one.
pub(super) fn of_query(
    state: &[u8],
    header: &Header,
    indices: &[u64],
    rng: &mut dyn CryptoRng,
) -> Hedged {
    let mut fresh = Zeroizing::new([0; 32]);
    rng.fill_bytes(fresh.as_mut_slice());

    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    // The length first: otherwise, a different state and header could give the same bytes.
    hasher
        .update(&(state.len() as u64).to_le_bytes())
        .update(state);
    hasher
        .update(&header.scheme.to_le_bytes())
        .update(&header.version.0);

    for index in indices {
        hasher.update(&index.to_le_bytes());
    }
    hasher.update(fresh.as_slice());

    let hedged = Hedged::of(&hasher);
    hasher.zeroize();
    hedged
}

/// The generator for a registration for the scheme and version in `header`. `kept` is the encoded
/// state of a client that registers again.
pub(super) fn of_registration(
    kept: Option<&[u8]>,
    header: &Header,
    circumstances: &Circumstances,
    rng: &mut dyn CryptoRng,
) -> Hedged {
    Hedge::new("keys of a registered client")
        .with(&[header.kind as u8])
        .with(&header.scheme.to_le_bytes())
        .with(&header.version.0)
        .with(&[u8::from(kept.is_some())])
        .with(kept.unwrap_or_default())
        .at(circumstances)
        .rng(rng)
}

#[cfg(test)]
mod tests {
    use papir_testkit::Stuck;
    use rand_core::Rng;

    use super::*;
    use crate::Version;
    use crate::envelope::Kind;

    fn header(kind: Kind, scheme: u16, version: u8) -> Header {
        Header {
            kind,
            scheme,
            version: Version([version; 8]),
        }
    }

    fn first(state: &[u8], scheme: u16, version: u8, indices: &[u64]) -> u64 {
        let header = header(Kind::Query, scheme, version);
        of_query(state, &header, indices, &mut Stuck).next_u64()
    }

    #[test]
    fn repeated_randomness_does_not_repeat_for_another_query() {
        let all = [
            first(b"key", 1, 1, &[5]),
            first(b"key", 1, 1, &[6]),
            first(b"key", 1, 1, &[5, 5]),
            first(b"key", 1, 2, &[5]),
            first(b"key", 2, 1, &[5]),
            first(b"kez", 1, 1, &[5]),
            first(b"", 1, 1, &[5]),
            first(b"", 1, 1, &[6]),
        ];
        for (position, value) in all.iter().enumerate() {
            assert!(!all[..position].contains(value), "{position}");
        }
        assert_eq!(all[0], first(b"key", 1, 1, &[5]));
    }

    #[test]
    fn repeated_randomness_does_not_repeat_for_another_registration() {
        let none = Circumstances::none();
        let keys = |kept, scheme, version, circumstances: &Circumstances| {
            let header = header(Kind::Keys, scheme, version);
            of_registration(kept, &header, circumstances, &mut Stuck).next_u64()
        };
        let all = [
            keys(None, 1, 1, &none),
            keys(None, 2, 1, &none),
            keys(None, 1, 2, &none),
            keys(Some(b"".as_slice()), 1, 1, &none),
            keys(Some(b"state".as_slice()), 1, 1, &none),
            keys(None, 1, 1, &none.clone().with(b"place")),
            keys(None, 1, 1, &Circumstances::now()),
            keys(None, 1, 1, &Circumstances::now()),
            of_registration(None, &header(Kind::State, 1, 1), &none, &mut Stuck).next_u64(),
            first(b"", 1, 1, &[]),
        ];
        for (position, value) in all.iter().enumerate() {
            assert!(!all[..position].contains(value), "{position}");
        }
        assert_eq!(all[0], keys(None, 1, 1, &none));
    }
}
