//! Keys that may sign a database's checkpoints.

use crate::certificate::Certificate;
use crate::certificate_text::Grant;
use crate::key::VerifyingKey;

/// Tolerated difference between two machines' clocks, in seconds.
pub const SKEW: u64 = 300;

/// The owner's newest key: the last one of the rotations from `owner` on that have begun at `now`.
/// Rotations never expire for this, so that a client with an old pinned key is not locked out.
pub fn successor(owner: &VerifyingKey, certificates: &[Certificate], now: u64) -> VerifyingKey {
    match chain(owner, certificates, now).last() {
        Some(rotation) => rotation.subject().clone(),
        None => owner.clone(),
    }
}

/// The rotations from the owner's key to its newest one, in order.
fn chain<'a>(
    owner: &VerifyingKey,
    certificates: &'a [Certificate],
    now: u64,
) -> Vec<&'a Certificate> {
    let mut chain: Vec<&Certificate> = Vec::new();

    // A circle of rotations ends when each certificate was used once.
    while chain.len() < certificates.len() {
        let current = chain.last().map_or(owner, |rotation| rotation.subject());
        let next = rotations(certificates, now)
            .find(|rotation| rotation.issuer().same_key(current) && !chain.contains(rotation));
        let Some(next) = next else {
            break;
        };
        chain.push(next);
    }
    chain
}

/// The rotations that have begun at `now`.
fn rotations(certificates: &[Certificate], now: u64) -> impl Iterator<Item = &Certificate> {
    certificates
        .iter()
        .filter(move |one| *one.grant() == Grant::Rotate && has_begun(one, now))
}

/// Returns true if a certificate begins at most [`SKEW`] seconds after `now`.
pub(crate) fn has_begun(certificate: &Certificate, now: u64) -> bool {
    certificate.from() <= now.saturating_add(SKEW)
}

/// The two times at which a publisher's delegation must be valid.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    /// The verifier's clock.
    pub(crate) now: u64,
    /// The time of the newest leaf.
    pub(crate) leaf: u64,
}

/// Returns the keys that may sign a checkpoint of `database` at these times: the owner's key, and
/// the keys of publishers.
pub(crate) fn signers(
    owner: &VerifyingKey,
    certificates: &[Certificate],
    database: &str,
    times: Times,
) -> Vec<VerifyingKey> {
    let mut keys = owners(owner, certificates, times.now);
    let publishers: Vec<VerifyingKey> = certificates
        .iter()
        .filter(|one| delegates(one, database, times) && keys.contains(one.issuer()))
        .map(|one| one.subject().clone())
        .collect();
    keys.extend(publishers);
    keys
}

/// Returns true if a certificate delegates `database` at both times.
fn delegates(certificate: &Certificate, database: &str, times: Times) -> bool {
    let Grant::Delegate(scope) = certificate.grant() else {
        return false;
    };
    let until = certificate.until();
    let in_scope = scope.as_ref().is_none_or(|name| name == database);
    let covers_leaf = (certificate.from()..=until).contains(&times.leaf);
    let covers_now = has_begun(certificate, times.now) && times.now <= until;
    in_scope && covers_leaf && covers_now
}

/// The owner's keys that are valid at `now`: the newest key and, while a rotation to a valid key
/// overlaps, the key that it replaces, because the valid key has signed that certificate too. A
/// rotation whose overlap has ended adds no key, so that a thief of a replaced key cannot add
/// others. Clients that trust different keys of the owner get the same result.
fn owners(owner: &VerifyingKey, certificates: &[Certificate], now: u64) -> Vec<VerifyingKey> {
    let mut valid = vec![successor(owner, certificates, now)];
    let mut examined = 0;

    // The keys that are added are examined in turn: rotations before them may overlap as well.
    while let Some(key) = valid.get(examined).cloned() {
        let overlapping = rotations(certificates, now)
            .filter(|rotation| now <= rotation.until() && rotation.subject().same_key(&key));
        for issuer in overlapping.map(Certificate::issuer) {
            if !valid.iter().any(|known| known.same_key(issuer)) {
                valid.push(issuer.clone());
            }
        }
        examined += 1;
    }
    valid
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::key::SigningKey;
    use crate::testing::key;

    fn names(keys: &[VerifyingKey], all: &[(&str, &VerifyingKey)]) -> String {
        let name = |key: &VerifyingKey| all.iter().find(|(_, known)| *known == key).unwrap().0;
        keys.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn keys_overlap_after_rotations_and_delegations_end() {
        let first = key("o", 1);
        let second = key("o", 2);
        let third = key("o", 3);
        let publisher = key("p", 4);
        let other = key("q", 5);
        let publics = [&first, &second, &third, &publisher, &other].map(|key| key.public());
        let all: Vec<(&str, &VerifyingKey)> = ["first", "second", "third", "publisher", "other"]
            .into_iter()
            .zip(&publics)
            .collect();
        let certificates = [
            Certificate::delegate(&first, &publics[3], Some("words"), (1000, 5000)).unwrap(),
            Certificate::rotate(&second, &third, (4000, 4500)).unwrap(),
            Certificate::rotate(&first, &second, (2000, 3000)).unwrap(),
            Certificate::delegate(&second, &publics[4], None, (2000, 9000)).unwrap(),
        ];
        let signers = |owner: usize, database: &str, now: u64| {
            let times = Times { now, leaf: now };
            names(
                &signers(&publics[owner], &certificates, database, times),
                &all,
            )
        };

        // Before its time, a certificate counts within the tolerance of clocks only.
        assert_eq!(signers(0, "words", 1000), "first publisher");
        assert_eq!(signers(0, "words", 999), "first");
        assert_eq!(signers(0, "words", 2000 - SKEW - 1), "first publisher");
        assert_eq!(signers(0, "numbers", 1000), "first");
        assert_eq!(signers(0, "words", 2000), "second first publisher other");
        assert_eq!(signers(0, "words", 3000), "second first publisher other");
        // After the overlap, neither the old key nor its delegations are valid.
        assert_eq!(signers(0, "words", 3001), "second other");
        assert_eq!(signers(0, "words", 4200), "third second other");
        assert_eq!(signers(0, "words", 4501), "third");
        // A client that trusts the new key accepts the old one in the time of overlap.
        assert_eq!(signers(1, "words", 2500), "second first publisher other");
        assert_eq!(signers(2, "words", 4200), "third second other");
        assert_eq!(signers(2, "words", 9999), "third");
        for (owner, now, newest) in [
            (0, 1000, 0),
            (0, 2000, 1),
            (0, 1_000_000, 2),
            (1, 1000, 1),
            (2, 0, 2),
        ] {
            assert_eq!(
                successor(&publics[owner], &certificates, now),
                publics[newest]
            );
        }
    }

    /// Returns which of three keys may sign, and checks that this does not depend on the trusted
    /// one.
    fn valid_of_three(keys: &[SigningKey; 3], certificates: &[Certificate], now: u64) -> [bool; 3] {
        let times = Times { now, leaf: now };
        let [first, second, third] = keys.each_ref().map(|trusted| {
            let signers = signers(&trusted.public(), certificates, "words", times);
            keys.each_ref().map(|key| signers.contains(&key.public()))
        });
        assert_eq!((first, second), (second, third), "{now}");
        first
    }

    #[test]
    fn in_two_overlaps_the_same_keys_are_valid_whichever_is_trusted() {
        let keys = [1, 2, 3].map(|seed| key("o", seed));
        let rotations = |first_until, second_until| {
            [
                Certificate::rotate(&keys[1], &keys[2], (2500, second_until)).unwrap(),
                Certificate::rotate(&keys[0], &keys[1], (2000, first_until)).unwrap(),
            ]
        };
        let valid =
            |until: (u64, u64), now| valid_of_three(&keys, &rotations(until.0, until.1), now);
        let in_order = [2600, 3001, 4501].map(|now| valid((3000, 4500), now));
        assert_eq!(
            in_order,
            [[true; 3], [false, true, true], [false, false, true]]
        );

        // A key is valid only for as long as all rotations that follow it overlap.
        let reversed = [2600, 3001, 9001].map(|now| valid((9000, 3000), now));
        assert_eq!(
            reversed,
            [[true; 3], [false, false, true], [false, false, true]]
        );
    }

    #[test]
    fn a_thief_of_a_replaced_key_adds_no_other_key() {
        let stolen = key("o", 1);
        let newest = key("o", 2);
        let thief = key("o", 3);
        let certificates = [
            Certificate::rotate(&stolen, &newest, (2000, 3000)).unwrap(),
            Certificate::rotate(&thief, &stolen, (0, u64::MAX)).unwrap(),
            Certificate::delegate(&thief, &key("p", 4).public(), None, (0, u64::MAX)).unwrap(),
        ];
        for (trusted, now) in [(&newest, 3001), (&stolen, 3001), (&newest, u64::MAX)] {
            let times = Times { now, leaf: now };
            let signers = signers(&trusted.public(), &certificates, "words", times);
            assert_eq!(signers, [newest.public()]);
        }
    }

    #[test]
    fn a_delegation_covers_the_time_of_the_leaf_and_of_the_client() {
        let owner = key("o", 1);
        let publisher = key("p", 2).public();
        let certificates = [Certificate::delegate(&owner, &publisher, None, (1000, 5000)).unwrap()];
        let count = |now, leaf| {
            let times = Times { now, leaf };
            signers(&owner.public(), &certificates, "words", times).len()
        };
        assert_eq!((count(2000, 1500), count(5000, 5000)), (2, 2));
        assert_eq!(
            (count(2000, 999), count(5001, 1500), count(5001, 5001)),
            (1, 1, 1)
        );
    }

    #[test]
    fn circles_of_rotations_end() {
        let a = key("o", 1);
        let b = key("o", 2);
        let circle = [
            Certificate::rotate(&a, &b, (1, 2)).unwrap(),
            Certificate::rotate(&b, &a, (1, 2)).unwrap(),
        ];
        assert_eq!(chain(&a.public(), &circle, 5).len(), 2);

        // A certificate is followed once, even if there are others.
        let stranger =
            Certificate::delegate(&key("o", 3), &key("p", 4).public(), None, (0, 9)).unwrap();
        let more = [circle.to_vec(), vec![stranger]].concat();
        assert_eq!(successor(&a.public(), &more, 5), a.public());
        assert_eq!(successor(&a.public(), &circle, 5), a.public());
    }

    #[test]
    fn certificates_of_strangers_count_for_nothing() {
        let owner = key("o", 1);
        let stranger = key("o", 2);
        let publisher = key("p", 3);
        let certificates = [
            Certificate::delegate(&stranger, &publisher.public(), None, (0, 9)).unwrap(),
            Certificate::rotate(&stranger, &key("o", 4), (0, 9)).unwrap(),
        ];
        let times = Times { now: 5, leaf: 5 };
        assert_eq!(
            signers(&owner.public(), &certificates, "words", times),
            [owner.public()]
        );
    }
}
