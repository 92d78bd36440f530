//! Pushes and pulls with an in-memory store that records requests, fails, and damages data.
#![allow(clippy::unwrap_used, clippy::panic)]

mod faulty_store;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use faulty_store::FaultyStore;
use papir_core::{NoProgress, Progress, Run};
use rand_core::SeedableRng;

use super::manifest::{self, PART_BYTES};
use super::*;
use crate::{Build, BuildOptions, Error, Snapshot};

const SMALL: PushOptions = PushOptions {
    part_bytes: 4096,
    prune: None,
};
const MANIFEST: &str = "data/a.pir.manifest.json";

/// A prepared database of 4096 records of 16 bytes; record 2000 starts with `word`.
fn snapshot(folder: &Path, word: &str) -> PathBuf {
    let mut records: Vec<u8> = (0..4096)
        .flat_map(|i| format!("record {i:9}").into_bytes())
        .collect();
    records[32_000..32_000 + word.len()].copy_from_slice(word.as_bytes());
    let source = folder.join("source.bin");
    std::fs::write(&source, records).unwrap();
    let mut options = BuildOptions::new(source, folder.join("a.pir"));
    (options.scheme, options.allow_not_private) = ("plain".to_owned(), true);
    options.record_bytes = Some(16);

    let mut rng = chacha20::ChaCha20Rng::from_seed([1; 32]);
    Build::new(&options)
        .run(&mut Run::new(&mut rng, &NoProgress))
        .unwrap();
    options.out
}

struct Fixture {
    folder: tempfile::TempDir,
    store: Arc<FaultyStore>,
    location: Location,
    /// The target of pulls.
    copy: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(FaultyStore::default());
        let location = Location::in_store(store.clone(), "data/a.pir");
        let copy = folder.path().join("copy.pir");
        Self {
            folder,
            store,
            location,
            copy,
        }
    }

    fn push(&self, word: &str, options: PushOptions) -> Result<PushReport, Error> {
        push(
            &snapshot(self.folder.path(), word),
            &self.location,
            options,
            &NoProgress,
        )
    }

    fn pull(&self) -> Result<PullReport, Error> {
        pull(&self.location, &self.copy, &NoProgress)
    }

    fn is_copied(&self) -> bool {
        std::fs::read(&self.copy).ok() == std::fs::read(self.folder.path().join("a.pir")).ok()
    }

    /// Number of temporary files in the folder.
    fn temporary_files(&self) -> usize {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.starts_with('.') && !name.ends_with(".delta-lock"))
            .count()
    }
}

#[test]
fn a_pushed_snapshot_is_pulled_and_the_manifest_comes_last() {
    let fixture = Fixture::new();
    let pushed = fixture.push("one", SMALL).unwrap();
    let puts = fixture.store.puts();
    assert_eq!(puts.len(), pushed.uploaded_parts + 1);
    assert_eq!(puts.last().unwrap(), MANIFEST);

    let pulled = fixture.pull().unwrap();
    assert!(pulled.changed && fixture.is_copied());
    assert_eq!(pulled.manifest, pushed.manifest);
    assert_eq!(
        pulled.manifest.version,
        Snapshot::open(&fixture.copy).unwrap().server.version()
    );
    assert_eq!(
        (fixture.temporary_files(), pulled.manifest.parts.len()),
        (0, pushed.manifest.parts.len())
    );
}

#[test]
fn nothing_is_transferred_twice() {
    let fixture = Fixture::new();
    let first = fixture.push("one", SMALL).unwrap();
    fixture.pull().unwrap();
    fixture.store.reset();

    assert_eq!(
        push(
            &fixture.folder.path().join("a.pir"),
            &fixture.location,
            SMALL,
            &NoProgress
        )
        .unwrap()
        .uploaded_parts,
        0
    );
    assert_eq!(fixture.store.puts(), Vec::<String>::new());

    assert!(!fixture.pull().unwrap().changed);
    assert_eq!(
        fixture
            .store
            .gets()
            .iter()
            .filter(|key| *key != MANIFEST)
            .count(),
        0
    );

    // A change of one record changes its part, and the parts of metadata, layout and table.
    let second = fixture.push("two", SMALL).unwrap();
    assert_ne!(second.manifest, first.manifest);
    assert!(
        (1..=4).contains(&second.uploaded_parts),
        "{}",
        second.uploaded_parts
    );
    let pulled = fixture.pull().unwrap();
    assert_eq!(pulled.fetched_parts, second.uploaded_parts);
    assert!(fixture.is_copied());
}

#[test]
fn an_interrupted_push_resumes_and_is_invisible_until_complete() {
    let parts = Fixture::new().push("two", SMALL).unwrap().uploaded_parts;
    assert!(parts > 5, "{parts}");

    let fixture = Fixture::new();
    fixture.store.fail_after_puts(5);
    assert_eq!(fixture.push("two", SMALL).unwrap_err().code(), "store");
    assert_eq!(fixture.pull().unwrap_err().code(), "no_such_object");

    let sent = fixture.store.parts();
    assert!((1..parts).contains(&sent), "{sent}");

    fixture.store.reset();
    let rest = push(
        &fixture.folder.path().join("a.pir"),
        &fixture.location,
        SMALL,
        &NoProgress,
    )
    .unwrap();
    assert_eq!(rest.uploaded_parts, parts - sent);
    fixture.pull().unwrap();
    assert!(fixture.is_copied());
}

#[test]
fn an_interrupted_pull_resumes() {
    let fixture = Fixture::new();
    let parts = fixture.push("one", SMALL).unwrap().manifest.parts.len();
    fixture.store.fail_after_gets(6);
    assert_eq!(fixture.pull().unwrap_err().code(), "store");
    assert!(!fixture.copy.exists());
    assert_eq!(fixture.temporary_files(), 1);

    fixture.store.reset();
    let rest = fixture.pull().unwrap();
    assert!(
        rest.fetched_parts < parts - 1,
        "{} of {parts}",
        rest.fetched_parts
    );
    assert!(fixture.is_copied());
    assert_eq!(fixture.temporary_files(), 0);

    // The download of one version is not continued for another.
    fixture.push("two", SMALL).unwrap();
    fixture.store.fail_after_gets(1);
    assert!(fixture.pull().is_err());
    assert_eq!(fixture.temporary_files(), 1);

    fixture.store.reset();
    fixture.push("three", SMALL).unwrap();
    fixture.pull().unwrap();
    assert!(fixture.is_copied());
    assert_eq!(fixture.temporary_files(), 0);
}

#[test]
fn a_damaged_part_is_named_and_a_damaged_transfer_is_retried() {
    let fixture = Fixture::new();
    let manifest = fixture.push("one", SMALL).unwrap().manifest;
    let key = format!("data/a.pir.parts/{}", manifest.parts[2].to_hex());
    fixture.store.damage(&key, 1);
    assert!(fixture.pull().unwrap().changed && fixture.is_copied());

    std::fs::remove_file(&fixture.copy).unwrap();
    fixture.store.damage(&key, usize::MAX);
    let error = fixture.pull().unwrap_err();
    let start = format!(
        "part 3 of {} is damaged: s3://memory/{key} has BLAKE3",
        manifest.parts.len()
    );
    assert!(error.to_string().starts_with(&start), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("remove the object, and push the snapshot again"),
        "{error}"
    );
    assert_eq!(error.code(), "checksum");
    assert!(!fixture.copy.exists());

    fixture.store.reset();
    fixture.store.remove(&key);
    let again = push(
        &fixture.folder.path().join("a.pir"),
        &fixture.location,
        SMALL,
        &NoProgress,
    );
    assert_eq!(again.unwrap().uploaded_parts, 1);
    fixture.pull().unwrap();
    assert!(fixture.is_copied());
    std::fs::remove_file(&fixture.copy).unwrap();

    fixture.store.put(&key, b"short");
    assert!(
        fixture
            .pull()
            .unwrap_err()
            .to_string()
            .contains("has 5 bytes: expected 4096")
    );
    fixture.store.remove(&key);
    let error = fixture.pull().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("no such object: s3://memory/{key}")
    );
}

#[test]
fn inconsistent_manifests_are_refused() {
    let fixture = Fixture::new();
    let manifest = fixture.push("one", SMALL).unwrap().manifest;
    let mut swapped = manifest.clone();
    swapped.parts.swap(1, 3);
    let longer = Manifest {
        bytes: manifest.bytes + 4096,
        ..manifest.clone()
    };
    let shorter = Manifest {
        bytes: manifest.bytes - 1,
        ..manifest.clone()
    };
    let other = Manifest {
        blake3: blake3::hash(b"other"),
        ..manifest.clone()
    };

    for (what, wrong, words) in [
        (
            "parts in another order",
            &swapped,
            "the parts together have BLAKE3",
        ),
        (
            "another hash of the whole",
            &other,
            "the parts together have BLAKE3",
        ),
        ("one part more", &longer, "the list of parts has"),
        ("a byte less", &shorter, "as the snapshot states"),
    ] {
        fixture.store.put(MANIFEST, &wrong.encode().unwrap());
        let error = fixture.pull().unwrap_err().to_string();
        assert!(error.contains(words), "{what}: {error}");
        assert!(!fixture.copy.exists(), "{what}");
    }

    fixture.store.put(MANIFEST, b"{}");
    assert!(
        fixture
            .pull()
            .unwrap_err()
            .to_string()
            .contains(&format!("s3://memory/{MANIFEST}: "))
    );
    fixture
        .store
        .put(MANIFEST, &vec![b' '; manifest::MAX_BYTES as usize + 1]);
    assert_eq!(fixture.pull().unwrap_err().code(), "out_of_bounds");
}

/// Records the stages of a work with their sizes.
#[derive(Default)]
struct Stages(Mutex<Vec<(String, u64)>>);

impl Progress for Stages {
    fn stage(&self, name: &str, total: u64) {
        self.0.lock().unwrap().push((name.to_owned(), total));
    }

    fn advance(&self, _: u64) {}
}

#[test]
fn a_manifest_is_bounded_by_its_snapshot_and_the_disk() {
    let fixture = Fixture::new();
    let manifest = fixture.push("one", SMALL).unwrap().manifest;
    let parts_fetched = || {
        let gets = fixture.store.gets();
        gets.iter().filter(|key| key.contains(".parts/")).count()
    };

    // The first part states the length.
    let mut longer = manifest.clone();
    longer.parts.resize(1 << 10, manifest.parts[1]);
    longer.bytes = longer.part_bytes << 10;
    fixture.store.put(MANIFEST, &longer.encode().unwrap());
    fixture.store.reset();
    let error = fixture.pull().unwrap_err().to_string();
    let expected = format!("expected {}, as the snapshot states", manifest.bytes);
    assert!(error.ends_with(&expected), "{error}");
    assert_eq!((parts_fetched(), fixture.temporary_files()), (1, 0));

    // 8 TiB: more than the disk has or, on a larger one, than the first part states.
    let mut huge = longer.clone();
    huge.parts.resize(1 << 17, manifest.parts[1]);
    (huge.part_bytes, huge.bytes) = (64 << 20, 8 << 40);
    fixture.store.put(MANIFEST, &huge.encode().unwrap());
    fixture.store.reset();
    assert!(fixture.pull().is_err() && parts_fetched() <= 3);

    // Nothing is hashed that was not fetched.
    fixture.store.put(MANIFEST, &manifest.encode().unwrap());
    let stages = Stages::default();
    pull(&fixture.location, &fixture.copy, &stages).unwrap();
    let stages = stages.0.into_inner().unwrap();
    let checked = stages
        .iter()
        .find(|(name, _)| name == "checking the download");
    assert_eq!(checked, Some(&("checking the download".to_owned(), 0)));
    assert!(fixture.is_copied());
}

#[cfg(unix)]
#[test]
fn objects_that_are_pipes_are_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("a.pir.manifest.json");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());

    let url = format!("file://{}/a.pir", folder.path().display());
    let location = Location::parse(&url, None, Settings::default()).unwrap();
    let error = pull(&location, &folder.path().join("copy.pir"), &NoProgress);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("a pipe, a device or a socket"), "{error}");
}

#[test]
fn pruning_keeps_the_replaced_snapshot_and_recent_parts() {
    let now = PushOptions {
        prune: Some(Duration::ZERO),
        ..SMALL
    };
    let fixture = Fixture::new();
    fixture.push("one", now).unwrap();
    let two = fixture.push("two", now).unwrap();
    assert_eq!(two.removed_parts, 0);

    let three = fixture.push("three", now).unwrap();
    assert!(three.removed_parts > 0);

    let recent_kept = PushOptions {
        prune: Some(GRACE),
        ..SMALL
    };
    assert_eq!(fixture.push("four", recent_kept).unwrap().removed_parts, 0);
    fixture.pull().unwrap();
    assert!(fixture.is_copied());
}

#[test]
fn a_mirror_fetches_what_has_changed() {
    let fixture = Fixture::new();
    let mirror = Mirror::new(
        fixture.location.clone(),
        &fixture.folder.path().join("cache"),
    )
    .unwrap();
    assert_eq!(
        mirror.refresh(&NoProgress).unwrap_err().code(),
        "no_such_object"
    );

    fixture.push("one", SMALL).unwrap();
    assert!(mirror.refresh(&NoProgress).unwrap().changed);
    assert_eq!(mirror.file().file_name().unwrap(), "a.pir");

    fixture.store.reset();
    assert!(!mirror.refresh(&NoProgress).unwrap().changed);
    assert_eq!(fixture.store.gets(), [MANIFEST]);

    let served = Snapshot::open(mirror.file()).unwrap();
    let pushed = fixture.push("two", SMALL).unwrap();
    assert_eq!(
        mirror.refresh(&NoProgress).unwrap().fetched_parts,
        pushed.uploaded_parts
    );
    assert_eq!(
        std::fs::read(mirror.file()).unwrap(),
        std::fs::read(fixture.folder.path().join("a.pir")).unwrap()
    );
    // The snapshot in use is unchanged.
    assert_eq!(served.server.describe().shape.records(), 4096);

    fixture.store.put(MANIFEST, b"{");
    assert!(mirror.refresh(&NoProgress).is_err());
    assert!(Snapshot::open(mirror.file()).is_ok());
}

#[test]
fn only_snapshots_are_pushed() {
    let fixture = Fixture::new();
    let file = fixture.folder.path().join("text.pir");
    std::fs::write(&file, "text ".repeat(100)).unwrap();
    assert!(push(&file, &fixture.location, SMALL, &NoProgress).is_err());

    let bad = PushOptions {
        part_bytes: 100,
        ..SMALL
    };
    assert_eq!(
        fixture.push("one", bad).unwrap_err().code(),
        "out_of_bounds"
    );
    assert_eq!(fixture.store.puts(), Vec::<String>::new());
    assert_eq!(PushOptions::default().part_bytes, PART_BYTES);
}

#[tokio::test]
async fn transfers_work_within_another_runtime() {
    let fixture = Fixture::new();
    fixture.push("one", SMALL).unwrap();
    assert!(fixture.pull().unwrap().changed);
}

#[test]
fn addresses_are_parsed_or_refused() {
    let parse = |url: &str, name: Option<&str>| Location::parse(url, name, Settings::default());
    for (url, name, expected) in [
        ("s3://bucket/a/b.pir", None, "s3://bucket/a/b.pir"),
        ("gs://bucket/a/", Some("b.pir"), "gs://bucket/a/b.pir"),
        ("az://container/", Some("b.pir"), "az://container/b.pir"),
        ("file:///tmp/a b.pir", Some("c.pir"), "file:///tmp/a b.pir"),
    ] {
        let location = parse(url, name).unwrap();
        assert_eq!(location.to_string(), expected);
        assert!(location.name().ends_with("b.pir"));
    }

    for url in [
        "",
        "bucket/a",
        "ftp://b/a",
        "s3://",
        "s3://bucket",
        "s3://bucket/",
        "s3:///a",
        "s3://./a",
        "gs://../a",
        "az://a b/c",
        "s3://user@host/a",
        "file://host/a",
        "file:///",
        "s3://bucket/../a",
        "s3://bucket/a/..",
        "file:///tmp/../etc/a",
        "s3://bucket/a//b",
        "s3://bucket/./a",
        "s3://bucket/a\u{7}",
    ] {
        assert_eq!(parse(url, None).unwrap_err().code(), "bad_url", "{url}");
    }
    assert_eq!(
        parse("s3://bucket/", Some("..")).unwrap_err().code(),
        "bad_url"
    );
}

#[test]
fn clients_of_every_store_are_built_with_tls() {
    let settings = Settings::of(
        [
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "account"),
            ("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0"),
            ("PATH", "/bin"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    for url in [
        "s3://bucket/a",
        "gs://bucket/a",
        "az://container/a",
        "file:///a",
    ] {
        let location = Location::parse(url, None, settings.clone()).unwrap();
        let store = location.connect().unwrap();
        assert!(
            !url.starts_with("file:") || format!("{store:?}").contains("fsync: true"),
            "{store:?}"
        );
        assert!(!format!("{location:?}").contains("secret"));
    }

    let bare = Location::parse("az://container/a", None, Settings::default()).unwrap();
    assert_eq!(bare.connect().unwrap_err().code(), "settings");
}

/// Pushes a database of a version of its own, with parts that no other version has.
fn push_version(fixture: &Fixture, seed: u8, options: PushOptions) -> Manifest {
    let source = fixture.folder.path().join("source.bin");
    std::fs::write(&source, [seed; 1 << 14]).unwrap();
    let mut build_options = BuildOptions::new(source, fixture.folder.path().join("a.pir"));
    (build_options.scheme, build_options.allow_not_private) = ("plain".to_owned(), true);
    build_options.record_bytes = Some(16);

    let mut rng = chacha20::ChaCha20Rng::from_seed([seed; 32]);
    Build::new(&build_options)
        .run(&mut Run::new(&mut rng, &NoProgress))
        .unwrap();
    push(&build_options.out, &fixture.location, options, &NoProgress)
        .unwrap()
        .manifest
}

#[test]
fn the_previous_version_stays_readable_for_a_time() {
    let fixture = Fixture::new();
    let mirror = Mirror::new(fixture.location.clone(), fixture.folder.path()).unwrap();
    let previous = |within| {
        mirror
            .previous(Duration::from_secs(within), &NoProgress)
            .unwrap()
    };
    let now = PushOptions {
        prune: Some(Duration::ZERO),
        ..SMALL
    };
    let first = push_version(&fixture, 1, now);
    mirror.refresh(&NoProgress).unwrap();
    assert_eq!(previous(600), None, "there is none");

    let second = push_version(&fixture, 2, now);
    // A push of the same file prunes nothing that the previous version needs.
    push(
        &fixture.folder.path().join("a.pir"),
        &fixture.location,
        now,
        &NoProgress,
    )
    .unwrap();
    mirror.refresh(&NoProgress).unwrap();
    let found = previous(600).unwrap();
    assert_eq!(
        Snapshot::open(&found.path).unwrap().server.version(),
        first.version
    );
    assert!(found.since.elapsed().unwrap_or_default() < Duration::from_secs(60));

    fixture.store.reset();
    assert_eq!(previous(600), Some(found.clone()));
    assert_eq!(
        fixture
            .store
            .gets()
            .iter()
            .filter(|key| key.contains(".parts/"))
            .count(),
        0
    );

    push_version(&fixture, 3, now);
    mirror.refresh(&NoProgress).unwrap();
    let next = previous(600).unwrap();
    assert_eq!(
        Snapshot::open(&next.path).unwrap().server.version(),
        second.version
    );
    assert!(!found.path.exists(), "the cache holds one earlier version");
    assert_eq!(previous(0), None, "replaced too long ago");
    assert!(!next.path.exists());
}

/// Pushes many versions. With pruning, the store holds the parts of as few as before. A mirror that
/// missed all of them fetches as much as one that missed a single one.
fn push_many(count: u32) {
    let fixture = Fixture::new();
    let now = PushOptions {
        prune: Some(Duration::ZERO),
        ..SMALL
    };
    let [near, far] = ["near", "far"].map(|name| {
        let cache = fixture.folder.path().join(name);
        Mirror::new(fixture.location.clone(), &cache).unwrap()
    });

    for seed in 1..=4 {
        push_version(&fixture, seed, now);
    }
    near.refresh(&NoProgress).unwrap();
    far.refresh(&NoProgress).unwrap();
    let parts = fixture.store.parts();
    push_version(&fixture, 5, now);
    let missed_one = near.refresh(&NoProgress).unwrap();

    for number in 0..count {
        let seed = 6 + (number % 240) as u8;
        push_version(&fixture, seed, now);
    }
    assert_eq!(fixture.store.parts(), parts);

    fixture.store.reset();
    let missed_all = far.refresh(&NoProgress).unwrap();
    assert_eq!(missed_all.fetched_parts, missed_one.fetched_parts);
    assert_eq!(missed_all.fetched_bytes, missed_one.fetched_bytes);
    assert_eq!(fixture.store.gets().len(), 1 + missed_all.fetched_parts);
}

#[test]
fn a_store_holds_no_more_after_forty_pushes() {
    push_many(40);
}

#[test]
#[ignore = "long"]
fn a_store_holds_no_more_after_two_thousand_pushes() {
    push_many(2000);
}
