//! Signed snapshots: built, updated, signed again, and refused.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{by_key, folder, keyed, refusal, rng, run, source};
use papir_checkpoint::{Base, Certificate, Kind, Log, Policy, SigningKey, cosign};
use papir_core::{NoProgress, Run};
use papir_lookup::Root;
use papir_store::{
    BuildOptions, Error, Sign, Snapshot, UpdateOptions, UpdateReport, attach, sign, stored_log,
    update,
};

const START: u64 = 1_800_000_000;

fn key(seed: u8) -> SigningKey {
    SigningKey::generate(
        "example.org/owner".parse().unwrap(),
        Kind::Note,
        &mut rng(seed),
    )
}

/// Signs with the key of this seed, `hours` after the start.
fn signing(seed: u8, hours: u64) -> Sign {
    Sign {
        time: Some(START + 3600 * hours),
        ..Sign::new(key(seed))
    }
}

/// Options of a signed build of a small table.
fn options(folder: &Path) -> BuildOptions {
    let rows: String = (0..40).map(|i| format!("key {i},value {i}\n")).collect();
    let mut options = keyed(
        &source(folder, "words.csv", format!("k,v\n{rows}")),
        "k",
        &["v"],
    );
    options.sign = Some(signing(1, 0));
    options.room = 10;
    options
}

fn changes(folder: &Path, text: &str) -> PathBuf {
    source(folder, "changes.csv", format!("k,v\n{text}\n"))
}

fn updated(options: &UpdateOptions) -> Result<UpdateReport, Error> {
    update(options, &mut Run::new(&mut rng(7), &NoProgress))
}

fn log(path: &Path) -> Log {
    let log = Snapshot::open(path).unwrap().checkpoint.unwrap();
    assert_eq!(stored_log(path).unwrap(), Some(log.clone()));
    log
}

/// Checks the newest version as a client would that pins the key of this seed.
fn accept(path: &Path, seed: u8, now: u64) {
    let snapshot = Snapshot::open(path).unwrap();
    let owner = key(seed).public();
    let proof = snapshot.checkpoint.as_ref().unwrap().proof().unwrap();
    let accepted = Policy::new(&owner, "words", now).accept(&proof).unwrap();
    accepted
        .leaf
        .check_public_part(&snapshot.bundle().encode())
        .unwrap();
}

#[test]
fn versions_are_appended_to_one_log() {
    let folder = folder();
    let options = options(folder.path());
    let report = run(&options).unwrap();
    let first = log(&options.out);
    assert_eq!(report.checkpoint.as_ref(), first.newest().ok());
    accept(&options.out, 1, START);
    let mut update = UpdateOptions::new(&options.out, changes(folder.path(), "key 3,changed"));
    update.sign = Some(signing(1, 1));
    let report = updated(&update).unwrap();
    let second = log(&options.out);
    assert_eq!(second.leaves()[..1], *first.leaves());
    assert_eq!(report.checkpoint.as_ref(), second.newest().ok());
    assert_eq!(
        (second.leaves()[1].sequence, second.leaves()[1].time),
        (1, START + 3600)
    );
    assert_ne!(
        second.leaves()[0].public_part,
        second.leaves()[1].public_part
    );
    assert_ne!(second.leaves()[0].base, second.leaves()[1].base);
    accept(&options.out, 1, START + 3600);
    assert_eq!(
        by_key(&Snapshot::open(&options.out).unwrap(), "key 3").unwrap(),
        b"changed"
    );
    // A new build at the same path continues the log, and so does one at another path.
    let third = BuildOptions {
        sign: Some(signing(1, 2)),
        ..options.clone()
    };
    run(&third).unwrap();
    assert_eq!(log(&options.out).leaves()[..2], *second.leaves());
    let out = folder.path().join("elsewhere.pir");
    let name = Some("words".to_owned());
    let former = Some(options.out.clone());
    let fourth = BuildOptions {
        sign: Some(signing(1, 3)),
        out: out.clone(),
        name,
        former,
        ..options.clone()
    };
    run(&fourth).unwrap();
    assert_eq!(log(&out).leaves().len(), 4);
    accept(&out, 1, START + 3 * 3600);
}

#[test]
fn a_leaf_states_the_root_or_a_hash_of_the_content() {
    let folder = folder();
    let mut options = options(folder.path());
    run(&options).unwrap();
    let Base::Content(content) = log(&options.out).newest().unwrap().base else {
        panic!("a root")
    };
    // The same content without a signature, or signed at another time, has the same hash.
    options.out = folder.path().join("again.pir");
    options.sign = Some(signing(1, 9));
    run(&options).unwrap();
    assert_eq!(
        log(&options.out).newest().unwrap().base,
        Base::Content(content)
    );
    options.verifiable = true;
    run(&options).unwrap();
    let root: Root = Snapshot::open(&options.out)
        .unwrap()
        .metadata
        .root
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(log(&options.out).newest().unwrap().base, Base::Root(root.0));
}

#[test]
fn unsigned_versions_of_signed_databases_are_refused_early() {
    let folder = folder();
    let options = options(folder.path());
    run(&options).unwrap();
    let before = fs::read(&options.out).unwrap();
    // The changes do not even exist.
    let mut update = UpdateOptions::new(&options.out, folder.path().join("missing.csv"));
    let error = updated(&update).unwrap_err();
    assert!(
        matches!(error, Error::Signed { sequence: 0, .. }),
        "{error}"
    );
    let build = BuildOptions {
        sign: None,
        ..options.clone()
    };
    assert_eq!(run(&build).unwrap_err().code(), "signed");
    assert_eq!(fs::read(&options.out).unwrap(), before);
    update.changes = changes(folder.path(), "key 3,changed");
    (update.unsigned, update.out) = (true, Some(folder.path().join("dropped.pir")));
    assert!(updated(&update).unwrap().checkpoint.is_none());
    assert!(
        Snapshot::open(update.out.as_ref().unwrap())
            .unwrap()
            .checkpoint
            .is_none()
    );
    update.sign = Some(signing(1, 1));
    assert_eq!(updated(&update).unwrap_err().code(), "options");
    run(&BuildOptions {
        unsigned: true,
        ..build
    })
    .unwrap();
    assert!(Snapshot::open(&options.out).unwrap().checkpoint.is_none());
}

#[test]
fn keys_that_may_not_sign_are_refused_before_anything_is_prepared() {
    let folder = folder();
    let options = options(folder.path());
    run(&options).unwrap();
    let before = fs::read(&options.out).unwrap();
    let mut update = UpdateOptions::new(&options.out, folder.path().join("missing.csv"));
    update.sign = Some(signing(2, 1));
    assert_eq!(updated(&update).unwrap_err().code(), "checkpoint_untrusted");
    let stranger = BuildOptions {
        sign: Some(signing(2, 1)),
        ..options.clone()
    };
    assert_eq!(run(&stranger).unwrap_err().code(), "checkpoint_untrusted");
    assert_eq!(fs::read(&options.out).unwrap(), before);
    let other = BuildOptions {
        name: Some("numbers".into()),
        sign: Some(signing(1, 1)),
        ..options.clone()
    };
    assert_eq!(run(&other).unwrap_err().code(), "checkpoint_database");
    // A damaged file is not replaced by the first version of a new log.
    let mut damaged = before.clone();
    damaged[40] ^= 1;
    fs::write(&options.out, &damaged).unwrap();
    assert_eq!(run(&options).unwrap_err().code(), "checksum");
    assert_eq!(fs::read(&options.out).unwrap(), damaged);
    let missing = BuildOptions {
        former: Some(folder.path().join("none.pir")),
        ..options.clone()
    };
    assert_eq!(run(&missing).unwrap_err().code(), "io");
    fs::remove_file(&options.out).unwrap();
    let unsigned = BuildOptions {
        sign: None,
        out: folder.path().join("plain.pir"),
        ..options.clone()
    };
    run(&unsigned).unwrap();
    let former = BuildOptions {
        former: Some(unsigned.out),
        ..options
    };
    assert!(
        refusal(&former)
            .to_string()
            .contains("plain.pir without a checkpoint")
    );
}

#[test]
fn publishers_and_new_keys_sign_under_certificates() {
    let folder = folder();
    let options = options(folder.path());
    run(&options).unwrap();
    let owner = key(1);
    let next = key(2);
    let publisher = key(3);
    let hours = |from: u64, until: u64| (START + 3600 * from, START + 3600 * until);
    let grant =
        Certificate::delegate(&owner, &publisher.public(), Some("words"), hours(1, 10)).unwrap();
    let rotation = Certificate::rotate(&owner, &next, hours(2, 20)).unwrap();
    let mut update = UpdateOptions::new(
        &options.out,
        changes(folder.path(), "key 3,by the publisher"),
    );
    update.sign = Some(Sign {
        certificates: vec![grant],
        ..signing(3, 1)
    });
    updated(&update).unwrap();
    accept(&options.out, 1, START + 3600);
    update.changes = changes(folder.path(), "key 3,under the new key");
    update.sign = Some(Sign {
        certificates: vec![rotation],
        ..signing(2, 2)
    });
    updated(&update).unwrap();
    for seed in [1, 2] {
        accept(&options.out, seed, START + 7200);
        // Long after the overlap, clients of the old key are not locked out.
        accept(&options.out, seed, START + 3600 * 5000);
    }
    assert_eq!(log(&options.out).owner(), &next.public());
}

#[test]
fn a_version_is_signed_again_and_cosigned_without_a_change() {
    let folder = folder();
    let options = BuildOptions {
        sign: None,
        ..options(folder.path())
    };
    run(&options).unwrap();
    let unsigned = Snapshot::open(&options.out).unwrap();
    let leaf = sign(
        &options.out,
        &signing(1, 0),
        &mut Run::new(&mut rng(3), &NoProgress),
    )
    .unwrap();
    assert_eq!((leaf.sequence, leaf.time), (0, START));
    let again = sign(
        &options.out,
        &signing(1, 5),
        &mut Run::new(&mut rng(4), &NoProgress),
    )
    .unwrap();
    assert_eq!(
        (again.sequence, again.time, again.base),
        (1, START + 5 * 3600, leaf.base)
    );
    accept(&options.out, 1, START + 5 * 3600);
    let signed = Snapshot::open(&options.out).unwrap();
    assert_eq!(
        (&signed.metadata, signed.bundle()),
        (&unsigned.metadata, unsigned.bundle())
    );
    assert_eq!(
        by_key(&Snapshot::open(&options.out).unwrap(), "key 7").unwrap(),
        b"value 7"
    );

    let witness = SigningKey::generate("w".parse().unwrap(), Kind::Cosignature, &mut rng(5));
    let cosigned = log(&options.out).note().clone();
    let line = format!("{}\n", cosign(&cosigned, &witness, START));
    let known = [witness.public()];
    let attached = |text: &str| attach(&options.out, &[text.to_owned()], &known, &[], &mut rng(6));
    let added = attached(&line).unwrap();
    assert_eq!((added, log(&options.out).note().signatures().len()), (1, 2));
    accept(&options.out, 1, START + 5 * 3600);
    sign(
        &options.out,
        &signing(1, 6),
        &mut Run::new(&mut rng(4), &NoProgress),
    )
    .unwrap();
    let before = fs::read(&options.out).unwrap();
    // Cosignatures of the checkpoint before.
    assert_eq!(
        attached(&format!("{cosigned}{line}")).unwrap_err().code(),
        "options"
    );
    assert_eq!(attached(&line).unwrap_err().code(), "checkpoint_signature");
    assert_eq!(fs::read(&options.out).unwrap(), before);
    let other = folder.path().join("unsigned.pir");
    run(&BuildOptions {
        out: other.clone(),
        ..options.clone()
    })
    .unwrap();
    assert_eq!(
        attach(&other, &[], &[], &[], &mut rng(6))
            .unwrap_err()
            .code(),
        "options"
    );
}

/// A snapshot with the checkpoint section of another one, with valid checksums.
fn with_checkpoint_of(file: &Path, other: &Path) -> Vec<u8> {
    let mut bytes = fs::read(file).unwrap();
    let other = fs::read(other).unwrap();
    let number = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
    };
    let entry = |bytes: &[u8]| {
        let table = number(bytes, 16);
        let name = b"\x0acheckpoint";
        table
            + bytes[table..]
                .windows(name.len())
                .position(|window| window == name)
                .unwrap()
            + name.len()
    };
    let from = entry(&other);
    let to = entry(&bytes);
    let start = number(&other, from);
    let length = number(&other, from + 8);
    assert_eq!(number(&bytes, to + 8), length);
    let place = number(&bytes, to);
    bytes[place..place + length].copy_from_slice(&other[start..start + length]);
    bytes[to + 16..to + 48].copy_from_slice(&other[from + 16..from + 48]);
    let table = number(&bytes, 16);
    let table_bytes = number(&bytes, 24);
    let sum = blake3::hash(&bytes[table..table + table_bytes]);
    bytes[40..56].copy_from_slice(&sum.as_bytes()[..16]);
    let sum = blake3::hash(&bytes[..56]);
    bytes[56..64].copy_from_slice(&sum.as_bytes()[..8]);
    bytes
}

#[test]
fn a_snapshot_with_the_checkpoint_of_another_is_refused() {
    let folder = folder();
    let first = options(folder.path());
    run(&first).unwrap();
    let mut second = first.clone();
    second.source = source(folder.path(), "other.csv", "k,v\nkey 1,other\n");
    (second.out, second.name) = (folder.path().join("second.pir"), Some("words".into()));
    run(&second).unwrap();
    let mixed = folder.path().join("mixed.pir");
    fs::write(&mixed, with_checkpoint_of(&first.out, &second.out)).unwrap();
    let error = Snapshot::open(&mixed).err().unwrap().to_string();
    assert!(
        error.contains("section `checkpoint` is malformed") && error.contains("as in the file"),
        "{error}"
    );
    // The next version must not be appended to it either.
    let mut update = UpdateOptions::new(&mixed, changes(folder.path(), "key 3,changed"));
    update.sign = Some(signing(1, 1));
    assert_eq!(updated(&update).unwrap_err().code(), "malformed");
}

#[cfg(feature = "cloud")]
#[test]
fn copies_carry_the_checkpoint_unchanged() {
    use papir_store::remote::{Location, PushOptions, Settings, pull, push};
    let files = folder();
    let store = folder();
    let options = options(files.path());
    run(&options).unwrap();
    let url = format!("file://{}/words.pir", store.path().display());
    let location = Location::parse(&url, None, Settings::default()).unwrap();
    push(&options.out, &location, PushOptions::pruning(), &NoProgress).unwrap();
    let copy = files.path().join("copy.pir");
    pull(&location, &copy, &NoProgress).unwrap();
    assert_eq!(log(&copy), log(&options.out));
    accept(&copy, 1, START);
}

#[cfg(feature = "cloud")]
#[test]
fn a_pull_may_demand_the_signature_of_the_owner() {
    use papir_store::remote::{
        Location, PullOptions, PushOptions, Settings, pull, pull_with, push,
    };
    let files = folder();
    let store = folder();
    let options = options(files.path());
    run(&options).unwrap();
    let url = format!("file://{}/words.pir", store.path().display());
    let location = Location::parse(&url, None, Settings::default()).unwrap();
    let publish = || {
        push(&options.out, &location, PushOptions::pruning(), &NoProgress).unwrap();
    };
    let copy = files.path().join("copy.pir");
    let pull_as = |seed: u8| {
        let owner = PullOptions {
            owner: Some(key(seed).public().of_notes().unwrap()),
            ..PullOptions::default()
        };
        pull_with(&location, &copy, &owner, &NoProgress).map_err(|error| error.code())
    };

    publish();
    assert_eq!(pull_as(2).unwrap_err(), "checkpoint_untrusted");
    assert!(!copy.exists(), "nothing was written");
    assert!(pull_as(1).unwrap().changed);
    // An equal file is believed as little.
    assert_eq!(pull_as(2).unwrap_err(), "checkpoint_untrusted");
    assert!(!pull_as(1).unwrap().changed);

    // Another database of the same owner, in the place of the one that was asked for.
    fs::remove_file(&options.out).unwrap();
    let other = BuildOptions {
        name: Some("others".to_owned()),
        ..options.clone()
    };
    run(&other).unwrap();
    publish();
    fs::remove_file(&copy).unwrap();
    assert_eq!(pull_as(1).unwrap_err(), "checkpoint_database");
    assert!(!copy.exists());
    let named = PullOptions {
        owner: Some(key(1).public().of_notes().unwrap()),
        name: Some("others".to_owned()),
        ..PullOptions::default()
    };
    pull_with(&location, &copy, &named, &NoProgress).unwrap();

    // Not signed at all.
    fs::remove_file(&options.out).unwrap();
    let unsigned = BuildOptions {
        sign: None,
        ..options.clone()
    };
    run(&unsigned).unwrap();
    publish();
    fs::remove_file(&copy).unwrap();
    assert_eq!(pull_as(1).unwrap_err(), "options");
    assert!(!copy.exists());
    pull(&location, &copy, &NoProgress).unwrap();

    // Only a file of papir is replaced.
    fs::write(&copy, "precious").unwrap();
    let error = pull(&location, &copy, &NoProgress).unwrap_err().to_string();
    assert!(error.contains("papir did not write it"), "{error}");
}

#[test]
fn a_name_that_cannot_be_served_is_refused() {
    let folder = folder();
    let csv = source(
        folder.path(),
        "words (1).csv",
        "word,meaning\napple,a fruit\n",
    );
    let build = keyed(&csv, "word", &["meaning"]);
    for name in ["my words", "-words", "", "..", "é"] {
        let named = BuildOptions {
            name: Some(name.to_owned()),
            ..build.clone()
        };
        let error = run(&named).unwrap_err().to_string();
        assert!(
            error.contains(&format!("the database name `{name}`: expected 1 to 128 of")),
            "{error}"
        );
    }

    // Unsigned, the service can give it another name than the file's.
    run(&build).unwrap();
    let signed = BuildOptions {
        sign: Some(signing(1, 1)),
        ..build.clone()
    };
    let error = run(&signed).unwrap_err().to_string();
    assert!(error.contains("the database name `words (1)`"), "{error}");
    let named = BuildOptions {
        name: Some("words".to_owned()),
        ..signed
    };
    run(&named).unwrap();
}
