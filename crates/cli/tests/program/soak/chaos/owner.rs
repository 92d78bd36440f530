//! The owner of the databases, who publishes signed versions during a run.

use std::fmt::Write;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use papir_client::VerifyingKey;

use super::history::{Change, History, text};
use crate::signing::keygen;
use crate::support::{Folder, succeeds};

/// Time between two versions.
const INTERVAL: Duration = Duration::from_secs(20);
/// Keys that versions change, and how many of them each one does.
pub(super) const CHANGING: usize = 64;
const CHANGES: usize = 8;
/// Distance of two keys that a version changes: coprime to [`CHANGING`], so that they differ.
const STRIDE: usize = 11;
/// Versions of `words` between two merges of its deltas.
const MERGE: usize = 8;
/// Versions of `words` between two versions of the other databases.
const LETTERS: usize = 15;
const REGISTERED: usize = 45;
/// A sequence that no version has, for the values of the lying replica.
const LIE: u64 = 999_999;

/// A database, by its place in [`Owner::databases`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Database {
    /// Many lookups, and a new version every 20 seconds.
    Words,
    /// The default scheme.
    Letters,
    /// Registered clients with tickets.
    Registered,
}

impl Database {
    const ALL: [Self; 3] = [Self::Words, Self::Letters, Self::Registered];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Letters => "letters",
            Self::Registered => "registered",
        }
    }

    pub(super) fn keys(self) -> usize {
        match self {
            Self::Words => 20_000,
            Self::Letters => 2_000,
            Self::Registered => 20,
        }
    }

    fn scheme(self) -> &'static str {
        match self {
            Self::Words => "simple",
            Self::Letters => "inspire",
            Self::Registered => "zip",
        }
    }
}

/// The owner: the key, the databases' files and their histories.
pub(super) struct Owner {
    /// The key with which versions are signed, and the one that clients know.
    key: String,
    pub(super) public: VerifyingKey,
    place: Folder,
    histories: [History; 3],
    /// Another first version of `words`, with false values, signed by the same key. Whoever has seen
    /// a version of the owner's refuses it.
    pub(super) forged: String,
    /// Held while a version is published, and while a fault needs the files as they are.
    publishing: Mutex<()>,
    versions: AtomicUsize,
}

impl Owner {
    /// Builds the first version of each database.
    pub(super) fn new(folder: &Folder) -> Self {
        let (key, public) = keygen(folder, "owner.key");
        let place = Folder::new();
        for database in Database::ALL {
            let out = place.path(&format!("{}.papir", database.name()));
            build(&out, database, 0, &key);
        }

        Self {
            forged: forge(folder, &key),
            key,
            public: public.parse().unwrap(),
            place,
            histories: Default::default(),
            publishing: Mutex::new(()),
            versions: AtomicUsize::new(0),
        }
    }

    /// The files of all databases.
    pub(super) fn files(&self) -> Vec<String> {
        Database::ALL.map(|database| self.file(database)).to_vec()
    }

    pub(super) fn file(&self, database: Database) -> String {
        self.place.path(&format!("{}.papir", database.name()))
    }

    pub(super) fn history(&self, database: Database) -> &History {
        &self.histories[database as usize]
    }

    /// The number of versions that were published.
    pub(super) fn versions(&self) -> usize {
        self.versions.load(Ordering::SeqCst)
    }

    /// Publishes nothing until the result is dropped.
    pub(super) fn hold(&self) -> MutexGuard<'_, ()> {
        self.publishing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes versions until the run ends.
    pub(super) fn publish_until(&self, ended: &AtomicBool) {
        let begin = Instant::now();
        for number in 1u32.. {
            let due = INTERVAL * number;
            while begin.elapsed() < due {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                sleep(Duration::from_millis(100));
            }
            self.publish(number as usize);
        }
    }

    /// Publishes the next version of `words`, and sometimes one of the other databases.
    fn publish(&self, number: usize) {
        let _held = self.hold();
        if number.is_multiple_of(MERGE) {
            self.merge();
        } else {
            self.change(Database::Words, &["--delta"]);
        }
        if number.is_multiple_of(LETTERS) {
            self.change(Database::Letters, &[]);
        }
        if number.is_multiple_of(REGISTERED) {
            self.change(Database::Registered, &[]);
        }
    }

    /// Merges the delta of `words`: a version with the values of the one before it.
    fn merge(&self) {
        let sequence = self.history(Database::Words).announce(|_| Vec::new());
        let file = self.file(Database::Words);
        self.published(sequence, &["merge", &file, "--sign", &self.key, "--json"]);
    }

    /// Changes keys of a database.
    fn change(&self, database: Database, way: &[&str]) {
        let mut csv = String::from("word,meaning,gone\n");
        let sequence = self.history(database).announce(|sequence| {
            let changes = changes(database, sequence);
            for Change { key, value } in &changes {
                let gone = if value.is_none() { "1" } else { "" };
                let value = value.as_deref().unwrap_or_default();
                writeln!(csv, "key-{key},{value},{gone}").unwrap();
            }
            changes
        });

        let changes = self.place.write("changes.csv", csv);
        let file = self.file(database);
        let update = ["update", &file, "--from", &changes];
        let options = ["--delete-column", "gone", "--sign", &self.key, "--json"];
        self.published(sequence, &[&update[..], &options, way].concat());
    }

    /// Runs a command that publishes the version `sequence`.
    fn published(&self, sequence: u64, command: &[&str]) {
        let report: serde_json::Value = serde_json::from_str(&succeeds(command)).unwrap();
        assert_eq!(report["sequence"], sequence, "{report}");
        self.versions.fetch_add(1, Ordering::SeqCst);
    }
}

/// The changes of the version `sequence` of a database. In `words` every second version deletes a
/// key, which a later one sets again.
fn changes(database: Database, sequence: u64) -> Vec<Change> {
    let keys = CHANGING.min(database.keys());
    let count = CHANGES.min(keys);
    let is_deleting = database == Database::Words && sequence.is_multiple_of(2);
    let first = 7 * sequence as usize;

    (0..count)
        .map(|number| {
            let key = (first + STRIDE * number) % keys;
            let is_deleted = is_deleting && number == 0;
            Change {
                key,
                value: (!is_deleted).then(|| text(key, sequence)),
            }
        })
        .collect()
}

/// Builds a first version of a database, whose values are those of the version `sequence`.
fn build(out: &str, database: Database, sequence: u64, key: &str) {
    let mut csv = String::from("word,meaning\n");
    for number in 0..database.keys() {
        writeln!(csv, "key-{number},{}", text(number, sequence)).unwrap();
    }
    let place = Folder::new();
    let source = place.write("source.csv", csv);

    let build = ["build", &source, "--out", out, "--key", "word"];
    let options = ["--value", "meaning", "--scheme", database.scheme()];
    succeeds(&[&build[..], &options, &["--sign", key]].concat());
}

/// Builds another first version of `words`, with false values. Returns its file.
fn forge(folder: &Folder, key: &str) -> String {
    fs::create_dir(folder.path("forged")).unwrap();
    let out = folder.path("forged/words.papir");
    build(&out, Database::Words, LIE, key);
    out
}

#[test]
fn a_version_changes_different_keys_of_its_database() {
    for database in Database::ALL {
        for sequence in 1..200 {
            let changes = changes(database, sequence);
            let mut keys: Vec<_> = changes.iter().map(|change| change.key).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), CHANGES, "{database:?} {sequence}");
            assert!(keys.iter().all(|key| *key < database.keys()));
        }
    }
}
