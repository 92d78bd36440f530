//! Deltas of signed and verifiable databases: each version is a leaf of one log.

use std::fs;
use std::path::{Path, PathBuf};

use papir_checkpoint::{Kind, Leaf, Log, SigningKey, cosign};
use papir_core::{NoProgress, Progress, Run};
use papir_lookup::Wanted;
use papir_store::{
    BuildOptions, Delta, DeltaReport, Error, MergeOptions, OpenOptions, Sign, Snapshot,
    UpdateOptions, UpdateReport, Way, attach, merge, stored_log, update_delta,
};

use crate::common::{Meanwhile, Served, folder, fresh, keyed, options, rng, run, source};

fn key(name: &str, kind: Kind) -> SigningKey {
    SigningKey::generate(name.parse().unwrap(), kind, &mut rng(1))
}

fn sign() -> Sign {
    Sign {
        time: Some(1_800_000_000),
        ..Sign::new(key("example.org/owner", Kind::Note))
    }
}

/// A signed database of words.
fn words(folder: &Path, verifiable: bool) -> PathBuf {
    let rows: String = (0..200)
        .map(|i| format!("word {i},meaning {i}\n"))
        .collect();
    let options = keyed(
        &source(folder, "words.csv", format!("word,meaning\n{rows}")),
        "word",
        &["meaning"],
    );
    run(&BuildOptions {
        room: 10,
        verifiable,
        sign: Some(sign()),
        ..options.clone()
    })
    .unwrap();
    options.out
}

fn publish_by(file: &Path, text: &str, sign: Option<Sign>) -> Result<Option<DeltaReport>, Error> {
    let changes = source(file.parent().unwrap(), "changes.csv", text);
    let delete = text.contains("gone").then(|| "gone".into());
    let options = UpdateOptions {
        sign,
        delete,
        ..UpdateOptions::new(file, changes)
    };
    update_delta(&options, None, &mut Run::new(&mut fresh(), &NoProgress))
}

fn publish(file: &Path, text: &str) {
    publish_by(file, text, Some(sign())).unwrap().unwrap();
}

fn merged_by(
    file: &Path,
    sign: Option<Sign>,
    progress: &dyn Progress,
) -> Result<UpdateReport, Error> {
    merge(
        &MergeOptions {
            sign,
            ..MergeOptions::new(file)
        },
        &mut Run::new(&mut fresh(), progress),
    )
}

/// Checks that the log has this many leaves, continues the one before, and states the files in its newest
/// leaf. Returns it.
fn log(file: &Path, leaves: usize, before: Option<&Log>) -> Log {
    let log = stored_log(file).unwrap().unwrap();
    assert_eq!(log.leaves().len(), leaves);
    assert!(before.is_none_or(|before| before.first_difference(&log).is_none()));
    log.check_signed().unwrap();
    let served = Served::open(file);
    let leaf: &Leaf = log.newest().unwrap();
    leaf.check_public_part(&served.base.bundle().encode())
        .unwrap();
    leaf.check_delta(served.delta.map(|delta| delta.part().encode()).as_deref())
        .unwrap();
    log
}

#[test]
fn each_delta_and_each_merge_is_the_next_leaf() {
    for verifiable in [false, true] {
        let folder = folder();
        let file = words(folder.path(), verifiable);
        let built = log(&file, 1, None);
        let text = "word,meaning,gone\nword 1,one,\nword 2,,yes\nfresh,new,\n";
        let refused = publish_by(&file, text, None).unwrap_err();
        assert!(
            matches!(refused, Error::Signed { sequence: 0, .. }),
            "{refused}"
        );
        publish(&file, text);
        let first = log(&file, 2, Some(&built));
        publish(&file, "word,meaning\nword 1,two\n");
        let second = log(&file, 3, Some(&first));
        assert_ne!(
            first.newest().unwrap().delta_root,
            second.newest().unwrap().delta_root
        );
        assert_eq!(built.newest().unwrap().base, second.newest().unwrap().base);
        let check = |served: &Served| {
            assert_eq!(served.base.commitment_top.is_some(), verifiable);
            for (word, expected) in [
                ("word 1", Some("two")),
                ("word 2", None),
                ("fresh", Some("new")),
                ("word 3", Some("meaning 3")),
            ] {
                assert_eq!(
                    served.word(word).as_deref(),
                    expected,
                    "{word}, verifiable: {verifiable}"
                );
            }
        };
        let served = Served::open(&file);
        let delta = served.delta.as_ref().unwrap();
        assert_eq!(
            (
                delta.commitment_top.is_some(),
                delta.part().content.is_some()
            ),
            (verifiable, !verifiable)
        );
        check(&served);

        let refused = merged_by(&file, None, &NoProgress).unwrap_err();
        assert!(
            matches!(refused, Error::Signed { sequence: 2, .. }),
            "{refused}"
        );
        let report = merged_by(&file, Some(sign()), &NoProgress).unwrap();
        assert_eq!(report.checkpoint.unwrap().sequence, 3);
        let third = log(&file, 4, Some(&second));
        assert_eq!(third.newest().unwrap().delta_root, None);
        check(&Served::open(&file));
    }
}

#[test]
fn what_is_published_during_a_merge_has_a_leaf_before_and_after_it() {
    let folder = folder();
    let file = words(folder.path(), false);
    publish(&file, "word,meaning\nword 1,one\n");
    let before = log(&file, 2, None);
    let meanwhile = Meanwhile::at("writing", || publish(&file, "word,meaning\nword 5,five\n"));
    let report = merged_by(&file, Some(sign()), &meanwhile).unwrap();
    // The delta during the merge, the new snapshot, and the delta that is left beside it.
    assert_eq!(report.checkpoint.unwrap().sequence, 3);
    let after = log(&file, 5, Some(&before));
    let states: Vec<bool> = after
        .leaves()
        .iter()
        .map(|leaf| leaf.delta_root.is_some())
        .collect();
    assert_eq!(states, [false, true, true, false, true]);
    let served = Served::open(&file);
    assert_eq!(
        (served.word("word 1"), served.word("word 5")),
        (Some("one".into()), Some("five".into()))
    );
}

#[test]
fn a_delta_that_changes_nothing_is_merged_into_the_next_leaf() {
    for verifiable in [false, true] {
        let folder = folder();
        let file = words(folder.path(), verifiable);
        publish(&file, "word,meaning,gone\nunknown,,yes\n");
        let before = log(&file, 2, None);
        assert_ne!(
            merged_by(&file, Some(sign()), &NoProgress).unwrap().way,
            Way::Unchanged
        );
        let after = log(&file, 3, Some(&before));
        let served = Served::open(&file);
        assert_eq!(
            (served.delta.is_none(), served.word("word 1").as_deref()),
            (true, Some("meaning 1"))
        );
        // The database can be signed again.
        papir_store::sign(&file, &sign(), &mut Run::new(&mut fresh(), &NoProgress)).unwrap();
        log(&file, 4, Some(&after));
    }
}

#[test]
fn records_without_keys_have_proofs_in_base_and_delta() {
    let folder = folder();
    let records: Vec<u8> = (0..20).flat_map(|i| [i, i]).collect();
    let mut options = options(&source(folder.path(), "numbers.bin", records));
    options.record_bytes = Some(2);
    run(&BuildOptions {
        verifiable: true,
        sign: Some(sign()),
        ..options.clone()
    })
    .unwrap();
    publish(&options.out, "index,value\n4,zz\n20,ab\n");
    log(&options.out, 2, None);
    let check = |served: &Served| {
        for (index, expected) in [(3, [3, 3]), (4, *b"zz"), (20, *b"ab")] {
            assert_eq!(
                served.get(Wanted::Index(index)).unwrap().unwrap(),
                expected,
                "{index}"
            );
        }
    };
    check(&Served::open(&options.out));
    merged_by(&options.out, Some(sign()), &NoProgress).unwrap();
    log(&options.out, 3, None);
    check(&Served::open(&options.out));
}

#[test]
fn cosignatures_of_a_delta_are_kept_with_it() {
    let folder = folder();
    let file = words(folder.path(), false);
    publish(&file, "word,meaning\nword 1,one\n");
    let before = log(&file, 2, None);
    let witness = key("example.org/witness", Kind::Cosignature);
    let line = cosign(before.note(), &witness, 1_800_000_000).to_string() + "\n";
    assert_eq!(
        attach(&file, &[line], &[witness.public()], &[], &mut fresh()).unwrap(),
        1
    );
    let after = log(&file, 2, Some(&before));
    assert_eq!(
        after.note().signatures().len(),
        before.note().signatures().len() + 1
    );
    assert_eq!(Served::open(&file).word("word 1").as_deref(), Some("one"));
}

/// The leaves before those of a delta are in its snapshot, which may be a kept one.
#[test]
fn the_delta_of_a_kept_version_is_read_beside_it() {
    let folder = folder();
    let file = words(folder.path(), false);
    let version = Snapshot::open(&file).unwrap().server.version();
    publish(&file, "word,meaning\nword 1,one\n");
    let before = log(&file, 2, None);
    merge(
        &MergeOptions {
            keep: Some(1),
            sign: Some(sign()),
            ..MergeOptions::new(&file)
        },
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap();
    log(&file, 3, Some(&before));

    let options = OpenOptions::default();
    let kept = Delta::of(&file, version, &options).unwrap().unwrap();
    assert_eq!(kept.log, Some(before));

    fs::remove_file(format!("{}.{version}", file.display())).unwrap();
    assert!(Delta::of(&file, version, &options).is_err());
}

#[test]
fn an_unsigned_database_takes_no_signed_delta() {
    let folder = folder();
    let options = keyed(
        &source(folder.path(), "plain.csv", "k,v\na,1\n"),
        "k",
        &["v"],
    );
    run(&options).unwrap();
    let error = publish_by(&options.out, "k,v\na,2\n", Some(sign()))
        .unwrap_err()
        .to_string();
    assert!(error.contains("which is not signed"), "{error}");
    assert!(
        publish_by(&options.out, "k,v\na,2\n", None)
            .unwrap()
            .is_some()
    );
}
