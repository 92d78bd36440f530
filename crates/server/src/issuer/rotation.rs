//! Times at which an issuer's keys begin, and which of them are in use.
//!
//! A key is announced a day before clients use it, since services keep a copy of the directory. Its
//! predecessor signs for one more day, for clients with an old directory, and stays in the
//! directory for a week, so that its tokens can be spent. A token is therefore valid for at least
//! six days.

use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Age at which a key gets a successor.
const ROTATED_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Time between the announcement of a successor and its begin.
const LEAD: Duration = DAY;
/// Time after the begin of its successor for which a key still signs.
const GRACE: Duration = DAY;
/// Time after the begin of its successor for which a key is in the directory.
const OVERLAP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Time before its begin from which a key is not announced by a clock that is right. Twice the
/// lead, so that a clock which is set back a little changes no key.
const TOO_EARLY: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// The begin of a key that must be made now, given the begins of all keys, the newest first; `None`
/// if none is due.
pub(super) fn successor(begins: &[SystemTime], now: SystemTime) -> Option<SystemTime> {
    let Some(newest) = begins.first() else {
        return Some(now);
    };
    (since(*newest, now) > ROTATED_AFTER).then(|| now + LEAD)
}

/// Returns true if a key was made under a clock that was far ahead. Nothing would sign until its
/// begin, which may be years away, or replace it.
pub(super) fn is_of_wrong_clock(begins: &[SystemTime], now: SystemTime) -> bool {
    begins.iter().any(|begin| is_too_early(*begin, now))
}

/// The begins of keys, the newest first, in which those under a clock that was far ahead are now.
pub(super) fn corrected(begins: &[SystemTime], now: SystemTime) -> Vec<SystemTime> {
    let mut corrected: Vec<SystemTime> = Vec::with_capacity(begins.len());
    for begin in begins {
        let own = match is_too_early(*begin, now) {
            true => now,
            false => *begin,
        };
        // No key begins after its successor.
        let newer = corrected.last().copied();
        corrected.push(newer.map_or(own, |newer| own.min(newer)));
    }
    corrected
}

/// Returns true if a key would not have been announced yet.
fn is_too_early(begin: SystemTime, now: SystemTime) -> bool {
    let left = begin.duration_since(now).unwrap_or_default();
    left > TOO_EARLY
}

/// The number of keys that stay in the directory, the newest first.
pub(super) fn kept(begins: &[SystemTime], now: SystemTime) -> usize {
    // The successor of each key but the first is the one before it.
    let successors = begins.iter();
    let lasting = successors.take_while(|successor| since(**successor, now) <= OVERLAP);
    begins.len().min(1 + lasting.count())
}

/// Returns whether the key at a place, from the newest, signs requests.
pub(super) fn signs(begins: &[SystemTime], place: usize, now: SystemTime) -> bool {
    let has_begun = begins.get(place).is_some_and(|begin| *begin <= now);
    let newer = place.checked_sub(1).and_then(|newer| begins.get(newer));
    has_begun && newer.is_none_or(|successor| since(*successor, now) <= GRACE)
}

/// The time since a begin; zero for one that is to come.
fn since(begin: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(begin).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(number: u32) -> SystemTime {
        SystemTime::UNIX_EPOCH + DAY * (20_000 + number)
    }

    #[test]
    fn the_first_key_begins_at_once_and_a_successor_after_a_day() {
        let second = Duration::from_secs(1);
        assert_eq!(successor(&[], day(0)), Some(day(0)));
        assert_eq!(successor(&[day(0)], day(30)), None);
        assert_eq!(
            successor(&[day(0)], day(30) + second),
            Some(day(31) + second)
        );
        // One that is to come has no successor.
        assert_eq!(successor(&[day(31), day(0)], day(30)), None);
    }

    #[test]
    fn keys_of_a_clock_that_was_far_ahead_begin_now() {
        let now = day(50);
        let good = [day(51), day(20)];
        assert!(!is_of_wrong_clock(&good, now));
        assert_eq!(corrected(&good, now), good);
        assert!(!is_of_wrong_clock(&[day(52)], now), "set back a little");

        for (found, expected) in [
            (vec![day(900)], vec![now]),
            (vec![day(931), day(900)], vec![now, now]),
            (vec![day(900), day(20)], vec![now, day(20)]),
            // Not after its successor.
            (vec![day(900), day(51)], vec![now, now]),
        ] {
            assert!(is_of_wrong_clock(&found, now));
            assert_eq!(corrected(&found, now), expected);
            assert!(signs(&expected, 0, now));
        }
    }

    #[test]
    fn a_key_leaves_the_directory_a_week_after_its_successor_began() {
        let second = Duration::from_secs(1);
        let both = [day(31), day(0)];
        assert_eq!(kept(&[], day(0)), 0);
        assert_eq!(kept(&[day(0)], day(400)), 1);
        for time in [day(30), day(31), day(38)] {
            assert_eq!(kept(&both, time), 2);
        }
        assert_eq!(kept(&both, day(38) + second), 1);
        assert_eq!(kept(&[day(62), day(31), day(0)], day(62)), 2);
    }

    #[test]
    fn a_key_signs_from_its_begin_to_a_day_after_its_successors() {
        let second = Duration::from_secs(1);
        let both = [day(31), day(0)];
        let signing = |time| [0, 1, 2].map(|place| signs(&both, place, time));

        assert_eq!(signing(day(30)), [false, true, false]);
        assert_eq!(signing(day(31)), [true, true, false]);
        assert_eq!(signing(day(32)), [true, true, false]);
        assert_eq!(signing(day(32) + second), [true, false, false]);
    }
}
