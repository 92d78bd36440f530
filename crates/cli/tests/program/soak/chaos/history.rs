//! The value of each key in each version of a database.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A key whose value a version changes; `None` deletes it.
pub(super) struct Change {
    pub(super) key: usize,
    pub(super) value: Option<String>,
}

/// All versions of a database. Key i has the value [`text`] of i and 0 in the first one.
#[derive(Default)]
pub(super) struct History(Mutex<Versions>);

#[derive(Default)]
struct Versions {
    newest: u64,
    /// The changes of each key that has changed, by rising sequence.
    changes: HashMap<usize, Vec<(u64, Option<String>)>>,
}

/// The value that the version `sequence` gives to a key. All have one length.
pub(super) fn text(key: usize, sequence: u64) -> String {
    format!("value-{key:05}-{sequence:06}")
}

impl History {
    fn lock(&self) -> MutexGuard<'_, Versions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sequence of the newest version that is or may be published.
    pub(super) fn newest(&self) -> u64 {
        self.lock().newest
    }

    /// Notes the next version, before it is published: a client may see it at once. Returns its
    /// sequence.
    pub(super) fn announce(&self, changes: impl FnOnce(u64) -> Vec<Change>) -> u64 {
        let mut versions = self.lock();
        versions.newest += 1;
        let sequence = versions.newest;

        for Change { key, value } in changes(sequence) {
            let of_key = versions.changes.entry(key).or_default();
            of_key.push((sequence, value));
        }
        sequence
    }

    /// The value of a key in the version `sequence`; `None` for a key that it does not have.
    pub(super) fn value(&self, key: usize, sequence: u64) -> Option<String> {
        let versions = self.lock();
        let changes = versions.changes.get(&key).map_or(&[][..], Vec::as_slice);
        let last = changes.iter().rev().find(|(number, _)| *number <= sequence);

        match last {
            Some((_, value)) => value.clone(),
            None => Some(text(key, 0)),
        }
    }
}

#[test]
fn each_version_has_the_values_of_the_last_change() {
    let history = History::default();
    let set = |sequence| {
        vec![Change {
            key: 7,
            value: Some(text(7, sequence)),
        }]
    };
    assert_eq!(history.announce(set), 1);
    assert_eq!(history.announce(|_| Vec::new()), 2);
    let deleted = Change {
        key: 7,
        value: None,
    };
    assert_eq!(history.announce(|_| vec![deleted]), 3);

    let found = [0, 1, 2, 3, 4].map(|sequence| history.value(7, sequence));
    let changed = Some(text(7, 1));
    let expected = [Some(text(7, 0)), changed.clone(), changed, None, None];
    assert_eq!(found, expected);
    assert_eq!(history.value(8, 3), Some(text(8, 0)));
    assert_eq!(history.newest(), 3);
}
