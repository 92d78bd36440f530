//! Deltas, from a file of changes to a lookup in both, and merges.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use papir_core::{NoProgress, Progress, Run};
use papir_lookup::Wanted;
use papir_store::{
    AppendOptions, BuildOptions, Delta, DeltaReport, Error, Format, MergeOptions, OpenOptions,
    Sign, Snapshot, UpdateOptions, Way, append, delta_file, merge, update, update_delta,
};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};

use crate::common::{Meanwhile, Served, folder, fresh, keyed, options, rng, run, source};

/// A database of words in scheme `plain`.
fn words(folder: &Path, count: u64) -> PathBuf {
    let rows: String = (0..count)
        .map(|i| format!("word {i},meaning {i}\n"))
        .collect();
    let options = keyed(
        &source(folder, "words.csv", format!("word,meaning\n{rows}")),
        "word",
        &["meaning"],
    );
    run(&BuildOptions {
        room: 10,
        ..options.clone()
    })
    .unwrap();
    options.out
}

/// Records 0, 1, … of two bytes.
fn numbers(folder: &Path, count: u8) -> PathBuf {
    let records: Vec<u8> = (0..count).flat_map(|i| [i, i]).collect();
    let mut options = options(&source(folder, "numbers.bin", records));
    options.record_bytes = Some(2);
    run(&options).unwrap();
    options.out
}

fn changes(file: &Path, text: &str) -> UpdateOptions {
    let path = source(file.parent().unwrap(), "changes.csv", text);
    UpdateOptions {
        delete: text.contains("gone").then(|| "gone".into()),
        ..UpdateOptions::new(file, path)
    }
}

fn publish(file: &Path, text: &str) -> Result<Option<DeltaReport>, Error> {
    update_delta(
        &changes(file, text),
        None,
        &mut Run::new(&mut fresh(), &NoProgress),
    )
}

fn merged(file: &Path) -> papir_store::UpdateReport {
    merge(
        &MergeOptions::new(file),
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap()
}

#[test]
fn changes_are_published_beside_the_snapshot_and_merged() {
    let folder = folder();
    let file = words(folder.path(), 500);
    let before = fs::read(&file).unwrap();
    assert!(
        publish(&file, "word,meaning\n").unwrap().is_none(),
        "nothing to change"
    );
    let text = "word,meaning,gone\nword 1,new,\nword 2,,yes\nfresh,added,\nword 1,newer,\n";
    let report = publish(&file, text).unwrap().unwrap();
    assert_eq!(
        (report.rows, report.superseded, report.metadata.entries),
        (4, 1, 3)
    );
    assert_eq!(fs::read(&file).unwrap(), before, "the snapshot stays");
    let second = publish(&file, "word,meaning,gone\nfresh,again,\nword 9,nine,\n")
        .unwrap()
        .unwrap();
    assert_eq!((second.superseded, second.metadata.entries), (1, 4));
    assert_ne!(second.metadata.version, report.metadata.version);

    let check = |served: &Served| {
        for (word, expected) in [
            ("word 1", Some("newer")),
            ("word 2", None),
            ("fresh", Some("again")),
            ("word 9", Some("nine")),
            ("word 3", Some("meaning 3")),
            ("unknown", None),
        ] {
            assert_eq!(served.word(word).as_deref(), expected, "{word}");
        }
    };
    let served = Served::open(&file);
    assert_eq!(
        served.delta.as_ref().unwrap().metadata.version,
        second.metadata.version
    );
    assert!(
        served.delta.as_ref().unwrap().part().encode().len() < 512,
        "clients fetch a few hundred bytes"
    );
    check(&served);

    let report = merged(&file);
    assert_eq!(
        (
            report.counts.replaced,
            report.counts.deleted,
            report.counts.inserted
        ),
        (2, 1, 1)
    );
    let next = Served::open(&file);
    assert!(next.delta.is_none() && next.base.server.version() != served.base.server.version());
    check(&next);
    let left = delta_file(&file, served.base.server.version()).unwrap();
    assert!(!left.exists(), "the delta is gone");
    assert_eq!(merged(&file).way, Way::Unchanged);
}

#[test]
fn base_and_delta_have_masks_and_secrets_of_their_own() {
    let folder = folder();
    let csv = source(folder.path(), "words.csv", "word,meaning\na,1\nb,2\n");
    let mut options = keyed(&csv, "word", &["meaning"]);
    options.scheme = "inspire".to_owned();
    run(&options).unwrap();
    let mut masks = vec![Snapshot::open(&options.out).unwrap().server.public()];
    for value in ["c", "d"] {
        publish(&options.out, &format!("word,meaning\nc,{value}\n"))
            .unwrap()
            .unwrap();
        masks.push(Served::open(&options.out).delta.unwrap().server.public());
    }
    // The public part of this scheme is the seed of the masks. Its envelope and parameters come before.
    let seeds: Vec<_> = masks
        .iter()
        .map(|public| &public[public.len() - 40..public.len() - 8])
        .collect();
    assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2] && seeds[0] != seeds[2]);
    // One request: as many bytes differ in both parts as in two requests of one key.
    let lookup = Served::open(&options.out).lookup;
    let [one, two] = [1, 2].map(|seed| {
        lookup
            .prepare_key(b"a", &mut rng(seed))
            .unwrap()
            .queries()
            .to_vec()
    });
    for (one, two) in one.iter().zip(&two) {
        let same = one.iter().zip(two).filter(|(one, two)| one == two).count();
        assert!(
            same < one.len() / 8,
            "{same} of {} bytes are the same",
            one.len()
        );
    }
}

#[test]
fn records_are_replaced_and_appended() {
    let folder = folder();
    let file = numbers(folder.path(), 9);
    publish(&file, "index,value\n4,zz\n9,ab\n")
        .unwrap()
        .unwrap();
    let report = publish(&file, "index,value\n10,cd\n9,ef\n")
        .unwrap()
        .unwrap();
    assert_eq!(
        (report.metadata.entries, report.metadata.records),
        (3, Some(11))
    );
    let check = |served: &Served| {
        for (index, expected) in [
            (0, *b"\0\0"),
            (4, *b"zz"),
            (8, [8, 8]),
            (9, *b"ef"),
            (10, *b"cd"),
        ] {
            assert_eq!(
                served.get(Wanted::Index(index)).unwrap().unwrap(),
                expected,
                "{index}"
            );
        }
        assert_eq!(
            served.get(Wanted::Index(11)).unwrap_err().code(),
            "index_out_of_range"
        );
    };
    check(&Served::open(&file));
    let error = publish(&file, "index,value\n12,xx\n")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("line 2: record 12 is new: expected 11"),
        "{error}"
    );
    let report = merged(&file);
    assert_eq!((report.counts.replaced, report.counts.inserted), (1, 2));
    check(&Served::open(&file));
}

#[test]
fn changes_during_a_merge_are_the_delta_of_the_next_version() {
    let folder = folder();
    let file = words(folder.path(), 500);
    publish(&file, "word,meaning,gone\nword 1,new,\nword 2,,yes\n").unwrap();
    let later = "word,meaning,gone\nword 1,newest,\nword 2,back,\nword 3,,yes\n";
    let meanwhile = Meanwhile::at("writing", || drop(publish(&file, later).unwrap().unwrap()));
    merge(
        &MergeOptions::new(&file),
        &mut Run::new(&mut fresh(), &meanwhile),
    )
    .unwrap();
    let served = Served::open(&file);
    assert_eq!(served.delta.as_ref().unwrap().metadata.entries, 3);
    for (word, expected) in [
        ("word 1", Some("newest")),
        ("word 2", Some("back")),
        ("word 3", None),
        ("word 4", Some("meaning 4")),
    ] {
        assert_eq!(served.word(word).as_deref(), expected, "{word}");
    }
}

#[test]
fn a_version_is_kept_with_its_delta() {
    let folder = folder();
    let file = words(folder.path(), 100);
    let version = Snapshot::open(&file).unwrap().server.version();
    publish(&file, "word,meaning\nword 1,new\n").unwrap();
    merge(
        &MergeOptions {
            keep: Some(1),
            ..MergeOptions::new(&file)
        },
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap();
    assert!(delta_file(&file, version).unwrap().exists());
    let back = papir_store::RollbackOptions::new(&file, papir_store::Earlier::Newest);
    let error = papir_store::rollback(&back, &mut Run::new(&mut fresh(), &NoProgress))
        .unwrap_err()
        .to_string();
    assert!(error.contains("which has a delta beside it"), "{error}");
    let backup = folder.path().join("backup.pir");
    std::fs::copy(folder.path().join(format!("words.pir.{version}")), &backup).unwrap();
    std::fs::rename(
        delta_file(&file, version).unwrap(),
        delta_file(&backup, version).unwrap(),
    )
    .unwrap();
    let back = papir_store::RollbackOptions::new(&file, papir_store::Earlier::File(backup.clone()));
    let error = papir_store::rollback(&back, &mut Run::new(&mut fresh(), &NoProgress))
        .unwrap_err()
        .to_string();
    assert!(error.contains("which has a delta beside it"), "{error}");
    std::fs::rename(
        delta_file(&backup, version).unwrap(),
        delta_file(&file, version).unwrap(),
    )
    .unwrap();
    // The next version that is kept pushes the first one and its delta out.
    publish(&file, "word,meaning\nword 2,new\n").unwrap();
    merge(
        &MergeOptions {
            keep: Some(1),
            ..MergeOptions::new(&file)
        },
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap();
    assert!(!delta_file(&file, version).unwrap().exists());
}

#[test]
fn records_are_appended_and_the_snapshot_stays() {
    let folder = folder();
    let file = numbers(folder.path(), 9);
    let before = fs::read(&file).unwrap();
    let appending = |name: &str, content: &[u8]| AppendOptions {
        values: vec!["v".into()],
        ..AppendOptions::new(&file, source(folder.path(), name, content))
    };
    let appended =
        |options: &AppendOptions| append(options, &mut Run::new(&mut fresh(), &NoProgress));
    let report = appended(&appending("more.bin", b"abcd")).unwrap().unwrap();
    assert_eq!((report.rows, report.metadata.records), (2, Some(11)));
    let report = appended(&appending("more.csv", b"v\nef\ng\n"))
        .unwrap()
        .unwrap();
    assert_eq!((report.rows, report.metadata.records), (2, Some(13)));
    assert_eq!(fs::read(&file).unwrap(), before, "the snapshot stays");
    let served = Served::open(&file);
    for (index, expected) in [
        (8, [8, 8]),
        (9, *b"ab"),
        (10, *b"cd"),
        (11, *b"ef"),
        (12, *b"g\0"),
    ] {
        assert_eq!(
            served.get(Wanted::Index(index)).unwrap().unwrap(),
            expected,
            "{index}"
        );
    }
    assert_eq!(
        served.get(Wanted::Index(13)).unwrap_err().code(),
        "index_out_of_range"
    );

    let several = AppendOptions {
        more: vec![source(folder.path(), "b.tsv", "v\nk\n")],
        format: Some(Format::Tsv),
        ..appending("a.tsv", b"v\nh\ni\n")
    };
    let report = appended(&several).unwrap().unwrap();
    assert_eq!((report.rows, report.metadata.records), (3, Some(16)));
    let several_raw = AppendOptions {
        more: vec!["b.bin".into()],
        ..appending("a.bin", b"ab")
    };
    let error = appended(&several_raw).unwrap_err().to_string();
    assert!(error.contains("several raw sources"), "{error}");

    assert!(appended(&appending("none.csv", b"v\n")).unwrap().is_none());
    let error = |options: &AppendOptions| appended(options).unwrap_err().to_string();
    let long = error(&appending("long.csv", b"v\nab\nabc\n"));
    assert!(
        long.contains("long.csv") && long.contains("line 3"),
        "{long}"
    );
    assert!(
        error(&appending("odd.bin", b"abc")).contains("3 bytes"),
        "a part of a record"
    );
    let full = AppendOptions {
        most: Some(50),
        ..appending("full.bin", &[1; 60])
    };
    assert!(error(&full).contains("30 changes of 60 bytes") && Served::open(&file).delta.is_some());
    let keyed = AppendOptions {
        file: words(folder.path(), 5),
        ..appending("more.bin", b"ab")
    };
    assert!(error(&keyed).contains("which has keys"));
}

#[test]
fn deltas_of_killed_merges_are_removed_and_those_of_kept_versions_stay() {
    let folder = folder();
    let file = words(folder.path(), 100);
    publish(&file, "word,meaning\nword 1,new\n").unwrap();
    let kept = Snapshot::open(&file).unwrap().server.version();
    merge(
        &MergeOptions {
            keep: Some(1),
            ..MergeOptions::new(&file)
        },
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap();
    publish(&file, "word,meaning\nword 2,new\n").unwrap();
    let name =
        |end: &str| file.with_file_name(format!("{}.{end}", file.file_name().unwrap().display()));
    let stray = name("0123456789abcdef.delta");
    let other = name("0123.delta");
    for path in [&stray, &other] {
        fs::write(path, "left").unwrap();
    }
    merged(&file);
    assert!(
        !stray.exists() && other.exists(),
        "only what has the name of a delta"
    );
    assert!(delta_file(&file, kept).unwrap().exists());
}

#[test]
fn what_would_lose_changes_is_refused() {
    let folder = folder();
    let file = words(folder.path(), 100);
    publish(&file, "word,meaning\nword 1,new\n").unwrap();
    let refused = |error: Error| {
        let text = error.to_string();
        assert!(
            text.contains("1 changes beside it") && text.contains("papir merge"),
            "{text}"
        );
    };
    let changes = changes(&file, "word,meaning\nword 1,newer\n");
    refused(
        update(&changes, &mut Run::new(&mut fresh(), &NoProgress))
            .map(drop)
            .unwrap_err(),
    );
    let key: papir_checkpoint::SigningKey =
        "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
            .parse()
            .unwrap();
    refused(
        papir_store::sign(
            &file,
            &Sign::new(key),
            &mut Run::new(&mut fresh(), &NoProgress),
        )
        .map(drop)
        .unwrap_err(),
    );
    let path = delta_file(&file, Snapshot::open(&file).unwrap().server.version()).unwrap();
    let error = Snapshot::open(&path).map(drop).unwrap_err().to_string();
    assert!(
        error.contains("a delta, which is served beside its base"),
        "{error}"
    );
    assert_eq!(Served::open(&file).word("word 1").as_deref(), Some("new"));
}

#[test]
fn too_many_changes_are_refused_and_lose_nothing() {
    let folder = folder();
    let file = words(folder.path(), 100);
    publish(&file, "word,meaning\nword 1,new\n").unwrap();
    let rows: String = (0..40).map(|i| format!("fresh {i},{i}\n")).collect();
    let options = changes(&file, &format!("word,meaning\n{rows}"));
    let error = update_delta(
        &options,
        Some(100),
        &mut Run::new(&mut fresh(), &NoProgress),
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.contains("41 changes of ") && error.contains("at most 100 bytes: merge them first"),
        "{error}"
    );
    let served = Served::open(&file);
    assert_eq!(
        (served.word("word 1").as_deref(), served.word("fresh 1")),
        (Some("new"), None)
    );
}

#[test]
fn bases_that_cannot_have_a_delta_say_why() {
    let folder = folder();
    for (scheme, reason) in [
        ("zip", "whose clients register"),
        ("depir", "thousands of records"),
    ] {
        let records: Vec<u8> = (0..64).collect();
        let mut options = options(&source(folder.path(), "numbers.bin", records));
        options.record_bytes = Some(1);
        options.scheme = scheme.to_owned();
        run(&options).unwrap();
        let error = publish(&options.out, "index,value\n1,x\n")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("a delta beside") && error.contains(reason),
            "{error}"
        );
    }
    let csv = source(folder.path(), "words.csv", "k,v\na,1\nb,2\n");
    let verifiable = BuildOptions {
        verifiable: true,
        ..keyed(&csv, "k", &["v"])
    };
    run(&verifiable).unwrap();
    let error = publish(&verifiable.out, "k,v\na,2\n")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("a verifiable database without a signature"),
        "{error}"
    );
}

#[test]
fn damaged_and_foreign_deltas_are_found() {
    let folder = folder();
    let file = words(folder.path(), 100);
    publish(&file, "word,meaning\nword 1,new\n").unwrap();
    let version = Snapshot::open(&file).unwrap().server.version();
    let path = delta_file(&file, version).unwrap();
    let bytes = fs::read(&path).unwrap();
    let opened = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        Delta::of(&file, version, &OpenOptions::default()).map(|delta| delta.is_some())
    };
    for at in (0..bytes.len()).step_by(bytes.len() / 97 + 1) {
        let mut wrong = bytes.clone();
        wrong[at] ^= 1;
        let error = opened(&wrong).unwrap_err().to_string();
        assert!(error.contains(".delta"), "{at}: {error}");
    }
    assert!(opened(&bytes[..bytes.len() / 2]).is_err() && opened(&bytes[..9]).is_err());
    assert!(opened(&bytes).unwrap());
    let other = papir_core::Version([9; 8]);
    fs::copy(&path, delta_file(&file, other).unwrap()).unwrap();
    let error = Delta::of(&file, other, &OpenOptions::default())
        .map(drop)
        .unwrap_err();
    assert_eq!(error.code(), "wrong_version", "{error}");
}

/// A step of the life of a database with a delta.
#[derive(Clone, Debug)]
enum Step {
    /// Publishes rows: words by number, and their values unless they are deleted.
    Publish(Vec<(u8, Option<u8>)>),
    Merge,
    /// A merge that ends at the beginning of a stage.
    Killed(&'static str),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let value = prop_oneof![1 => Just(None), 2 => (0u8..200).prop_map(Some)];
    let rows = vec((0u8..40, value), 1..12);
    let stages = ["opening", "changing keys", "writing", "hashing keys"];
    let step = prop_oneof![
        4 => rows.prop_map(Step::Publish),
        2 => Just(Step::Merge),
        1 => proptest::sample::select(stages.to_vec()).prop_map(Step::Killed),
    ];
    vec(step, 1..8)
}

/// Panics at the beginning of a stage.
struct Killer(&'static str);

impl Progress for Killer {
    fn stage(&self, name: &str, _total: u64) {
        assert!(name != self.0, "killed");
    }

    fn advance(&self, _steps: u64) {}
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// For any sequence of changes, merges and killed merges: every lookup returns what a map holds.
    #[test]
    fn a_database_with_deltas_is_a_map(steps in steps()) {
        let folder = folder();
        let file = words(folder.path(), 20);
        let mut map: BTreeMap<String, String> =
            (0..20).map(|i| (format!("word {i}"), format!("meaning {i}"))).collect();
        for step in steps {
            match step {
                Step::Publish(rows) => {
                    let mut text = "word,meaning,gone\n".to_owned();
                    for (word, value) in rows {
                        let word = format!("word {word}");
                        match value {
                            Some(value) => {
                                text += &format!("{word},value {value},\n");
                                map.insert(word, format!("value {value}"));
                            }
                            None => {
                                text += &format!("{word},,yes\n");
                                map.remove(&word);
                            }
                        }
                    }
                    publish(&file, &text).unwrap().unwrap();
                }
                Step::Merge => match merge(&MergeOptions::new(&file), &mut Run::new(&mut fresh(), &NoProgress)) {
                    Ok(_) => {}
                    Err(error) => assert!(map.is_empty(), "{error}"),
                },
                Step::Killed(stage) => {
                    let killed = || drop(merge(&MergeOptions::new(&file), &mut Run::new(&mut fresh(), &Killer(stage))));
                    drop(catch_unwind(AssertUnwindSafe(killed)));
                }
            }
            let served = Served::open(&file);
            for i in 0..42 {
                let word = format!("word {i}");
                assert_eq!(served.word(&word), map.get(&word).cloned(), "{word}");
            }
        }
    }
}
