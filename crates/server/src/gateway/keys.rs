//! Private keys of a gateway, and their rotation.

use std::time::{Duration, SystemTime};

use papir_ohttp::Kem;
use zeroize::Zeroizing;

/// Age at which a key gets a successor.
const ROTATED_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Time for which a key is kept after its successor was made. Clients may have a list of keys that
/// is hours old, and pin keys for longer.
const OVERLAP: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The kinds of keys, in the order in which new ones are put in front.
const KEMS: [Kem; 2] = [Kem::X25519, Kem::XWing];

/// 32 random bytes that determine a key.
pub(super) type KeySeed = Zeroizing<[u8; 32]>;

/// A private key as its seed.
#[derive(Clone)]
pub(super) struct SeededKey {
    /// Tells the keys of a gateway apart.
    pub(super) id: u8,
    pub(super) kem: Kem,
    pub(super) seed: KeySeed,
    pub(super) created: SystemTime,
}

/// The identifiers of keys. A rotation always changes them.
pub(super) fn ids(keys: &[SeededKey]) -> Vec<u8> {
    keys.iter().map(|key| key.id).collect()
}

/// The keys at the time `now`, the newest first, as they were before. A kind without a key that is
/// young enough gets one with a fresh seed, in front. Keys whose successor is old enough are left
/// out.
pub(super) fn rotated<E>(
    before: &[SeededKey],
    now: SystemTime,
    mut fresh_seed: impl FnMut() -> Result<KeySeed, E>,
) -> Result<Vec<SeededKey>, E> {
    let mut keys = before.to_vec();
    for kem in KEMS {
        let newest = keys.iter().find(|key| key.kem == kem);
        if newest.is_some_and(|key| age(key, now) <= ROTATED_AFTER) {
            continue;
        }
        // With all identifiers in use, the older keys stay for as long as they have no successor.
        let Some(id) = free_id(&keys) else { continue };

        let key = SeededKey {
            id,
            kem,
            seed: fresh_seed()?,
            created: now,
        };
        keys.insert(0, key);
    }

    Ok(without_ended(keys, now))
}

/// The end of a key that has a successor.
pub(super) struct KeyEnd {
    pub(super) id: u8,
    /// The last time at which it may be used.
    last: SystemTime,
}

impl KeyEnd {
    /// Returns true if the key must not be used any more.
    pub(super) fn has_passed(&self, now: SystemTime) -> bool {
        now > self.last
    }
}

/// The ends of the keys that have a successor.
pub(super) fn ends(keys: &[SeededKey]) -> Vec<KeyEnd> {
    let mut ends = Vec::new();
    for (place, key) in keys.iter().enumerate() {
        let newer = keys.iter().take(place).rev();
        let mut of_its_kind = newer.filter(|other| other.kem == key.kem);

        let successor = of_its_kind.next();
        // No clock reaches a time that cannot be written.
        if let Some(last) = successor.and_then(|successor| successor.created.checked_add(OVERLAP)) {
            ends.push(KeyEnd { id: key.id, last });
        }
    }
    ends
}

/// The keys that may be used at the time `now`. Each kind keeps its newest key.
pub(super) fn without_ended(mut keys: Vec<SeededKey>, now: SystemTime) -> Vec<SeededKey> {
    let ends = ends(&keys);
    keys.retain(|key| {
        let mut own = ends.iter().filter(|end| end.id == key.id);
        !own.any(|end| end.has_passed(now))
    });
    keys
}

/// The age of a key. One that was made later than `now`, by another clock, is new.
fn age(key: &SeededKey, now: SystemTime) -> Duration {
    now.duration_since(key.created).unwrap_or_default()
}

/// The first free identifier after that of the newest key.
fn free_id(keys: &[SeededKey]) -> Option<u8> {
    let newest = keys.first().map_or(0, |key| key.id);
    (1..=u8::MAX)
        .map(|step| newest.wrapping_add(step))
        .find(|id| keys.iter().all(|key| key.id != *id))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn day(number: u32) -> SystemTime {
        SystemTime::UNIX_EPOCH + DAY * (20_000 + number)
    }

    /// The keys after a rotation, whose seeds are all `seed`.
    fn rotate(before: &[SeededKey], now: SystemTime, seed: u8) -> Vec<SeededKey> {
        rotated(before, now, || {
            Ok::<_, Infallible>(Zeroizing::new([seed; 32]))
        })
        .unwrap()
    }

    fn key(id: u8, kem: Kem, made: u32) -> SeededKey {
        SeededKey {
            id,
            kem,
            seed: Zeroizing::new([id; 32]),
            created: day(made),
        }
    }

    #[test]
    fn the_first_start_makes_one_key_of_each_kind() {
        let keys = rotate(&[], day(0), 7);
        let kinds: Vec<Kem> = keys.iter().map(|key| key.kem).collect();
        assert_eq!(kinds, [Kem::XWing, Kem::X25519]);
        assert_eq!(ids(&keys), [2, 1]);
        assert!(keys.iter().all(|key| *key.seed == [7; 32]));

        assert_eq!(ids(&rotate(&keys, day(30), 8)), [2, 1], "young enough");
    }

    #[test]
    fn a_successor_comes_in_front_and_its_predecessor_leaves_after_the_overlap() {
        let second = Duration::from_secs(1);
        let first = rotate(&[], day(0), 1);
        let both = rotate(&first, day(30) + second, 2);
        assert_eq!(ids(&both), [4, 3, 2, 1]);
        let old = both.last().unwrap();
        assert_eq!((old.id, *old.seed), (1, [1; 32]), "unchanged");

        assert_eq!(ids(&rotate(&both, day(37) + second, 3)), [4, 3, 2, 1]);
        assert_eq!(ids(&rotate(&both, day(37) + second * 2, 3)), [4, 3]);
    }

    #[test]
    fn each_kind_is_rotated_by_itself() {
        let keys = [key(9, Kem::XWing, 20), key(8, Kem::X25519, 0)];
        let next = rotate(&keys, day(31), 1);
        assert_eq!(ids(&next), [10, 9, 8]);
        assert_eq!(next[0].kem, Kem::X25519);

        // A service that did not run for a year.
        let late = rotate(&next, day(400), 1);
        assert_eq!(ids(&late), [12, 11, 10, 9]);
    }

    #[test]
    fn identifiers_wrap_around_and_are_free() {
        let keys = [
            key(255, Kem::XWing, 0),
            key(0, Kem::X25519, 100),
            key(1, Kem::X25519, 99),
        ];
        assert_eq!(ids(&rotate(&keys, day(100), 1))[0], 2);

        let all: Vec<_> = (0..=255).map(|id| key(id, Kem::XWing, 99)).collect();
        assert_eq!(rotate(&all, day(100), 1).len(), 256);
    }

    #[test]
    fn a_key_of_a_later_clock_is_new() {
        let keys = [key(2, Kem::XWing, 50), key(1, Kem::X25519, 50)];
        assert_eq!(ids(&rotate(&keys, day(0), 1)), [2, 1]);
    }
}
