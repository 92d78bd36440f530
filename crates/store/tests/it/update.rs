//! Updates, from file to lookup, and errors that name the line.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{by_index, by_key, folder, keyed, options, rng, run, source};
use papir_core::{NoProgress, Run};
use papir_lookup::update::ChangeCounts;
use papir_store::{
    BuildOptions, Error, Format, Snapshot, UpdateOptions, UpdateReport, Way, update,
};

/// Updates the snapshot with a file of changes of this name and content.
fn change(snapshot: &Path, name: &str, text: &str) -> Result<UpdateReport, Error> {
    change_with(UpdateOptions::new(
        snapshot,
        source(snapshot.parent().unwrap(), name, text),
    ))
}

fn change_with(options: UpdateOptions) -> Result<UpdateReport, Error> {
    update(&options, &mut Run::new(&mut rng(7), &NoProgress))
}

/// The error of an update. Checks that it leaves the snapshot unchanged and no other file behind.
fn refused(snapshot: &Path, name: &str, text: &str) -> String {
    let before = fs::read(snapshot).unwrap();
    let files = names(snapshot.parent().unwrap());
    let error = change(snapshot, name, text).unwrap_err().to_string();
    assert_eq!(fs::read(snapshot).unwrap(), before);
    let left: Vec<_> = names(snapshot.parent().unwrap())
        .into_iter()
        .filter(|file| file != name && !files.contains(file))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    error
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn words(count: u64) -> String {
    (0..count)
        .map(|i| format!("word {i},meaning {:04}\n", i * i % 10_000))
        .collect()
}

fn built(folder: &Path, count: u64, scheme: &str) -> BuildOptions {
    let csv = format!("word,meaning\n{}", words(count));
    let mut options = keyed(&source(folder, "words.csv", csv), "word", &["meaning"]);
    options.scheme = scheme.to_owned();
    options.room = 10;
    options.bucket = Some(papir_lookup::BucketTarget::default());
    run(&options).unwrap();
    options
}

#[test]
fn one_update_at_a_time() {
    let folder = folder();
    let path = source(folder.path(), "a.csv", "k,v\na,1\n");
    let options = keyed(&path, "k", &["v"]);
    run(&options).unwrap();
    let changes = source(folder.path(), "changes.csv", "k,v\nb,2\n");
    let update = || {
        papir_store::update(
            &UpdateOptions::new(&options.out, &changes),
            &mut Run::new(&mut rng(4), &NoProgress),
        )
    };
    let other = std::fs::File::open(&options.out).unwrap();
    other.lock().unwrap();
    let message = update().unwrap_err().to_string();
    assert!(message.contains("another update"), "{message}");
    drop(other);
    assert_eq!(update().unwrap().counts.inserted, 1);
}

#[test]
fn keys_are_set_added_and_deleted_under_several_schemes() {
    for scheme in ["plain", "simple", "inspire"] {
        let folder = folder();
        let options = built(folder.path(), 3000, scheme);
        let before = Snapshot::open(&options.out).unwrap();
        let csv = "word,meaning,gone\nword 1,set one 1234\nword 2,,yes\nnew word,added\nword 1,meaning 9999,\n\
                   no word,,true\n";
        // Every row has as many fields as the header.
        let csv = csv
            .replace("1234\n", "1234,\n")
            .replace("added\n", "added,0\n");
        let changes = source(folder.path(), "changes.csv", csv);
        let options = UpdateOptions {
            delete: Some("gone".to_owned()),
            ..UpdateOptions::new(&options.out, changes)
        };
        let report = change_with(options.clone()).unwrap();
        let counts = ChangeCounts {
            inserted: 1,
            replaced: 1,
            deleted: 1,
            absent: 1,
            superseded: 1,
        };
        assert_eq!(report.counts, counts);
        let after = Snapshot::open(&options.file).unwrap();
        assert_eq!(after.metadata, report.metadata);
        assert_eq!(after.server.describe(), report.description);
        assert_eq!(after.file_bytes, report.snapshot_bytes);
        let found =
            ["word 1", "word 2", "new word", "word 0", "no word"].map(|key| by_key(&after, key));
        let expected = ["meaning 9999", "", "added", "meaning 0000", ""];
        assert!(
            found
                .iter()
                .map(|value| value.as_deref().unwrap_or_default())
                .eq(expected.map(str::as_bytes))
        );
        assert_eq!(
            found.map(|value| value.is_some()),
            [true, false, true, true, false]
        );
        assert_ne!(after.server.version(), before.server.version());
        assert_eq!(by_key(&before, "word 2").unwrap(), b"meaning 0004");

        let old = before.metadata;
        let new = after.metadata;
        assert_eq!(
            (&new.name, &new.source, &new.created),
            (&old.name, &old.source, &old.created)
        );
        assert_eq!((old.updates, old.updated, new.updates), (0, None, 1));
        assert!(new.updated.is_some());
        assert_eq!(new.keyword.unwrap().entries, 3000);
    }
}

#[test]
fn values_of_another_length_rebuild_the_table_with_room() {
    let folder = folder();
    let options = built(folder.path(), 2000, "plain");
    let before = Snapshot::open(&options.out).unwrap().metadata;
    // All meanings have 12 bytes.
    let report = change(&options.out, "changes.csv", "word,meaning\nword 7,short\n").unwrap();
    let text = report.way.to_string();
    assert!(
        text.starts_with("rebuilt: the value on line 2 has 5 bytes"),
        "{text}"
    );
    assert!(
        text.ends_with("with 5 % free room for later keys"),
        "{text}"
    );
    let after = Snapshot::open(&options.out).unwrap();
    assert_eq!(by_key(&after, "word 7").unwrap(), b"short");
    assert_eq!(by_key(&after, "word 1999").unwrap(), b"meaning 6001");
    let keyword = after.metadata.keyword.unwrap();
    let tagged = before.keyword.unwrap().tagged_bytes - 7;
    assert_eq!((keyword.entries, keyword.tagged_bytes), (2000, tagged));
    // Now values of any length up to 255 bytes need no rebuild.
    let report = change(
        &options.out,
        "changes.csv",
        "word,meaning\nword 8,a much longer meaning\n",
    )
    .unwrap();
    assert!(
        matches!(report.way, Way::Updated { .. } | Way::SetUp { .. }),
        "{}",
        report.way
    );
    assert_eq!(report.metadata.keyword.unwrap().tagged_bytes, tagged + 9);
    assert_eq!(report.metadata.updates, 2);
}

#[test]
fn updates_without_changes_write_no_file() {
    let folder = folder();
    let options = built(folder.path(), 100, "plain");
    let before = fs::read(&options.out).unwrap();
    for text in ["", "word,meaning\n", "word,meaning\nword 3,meaning 0009\n"] {
        let report = change(&options.out, "changes.csv", text).unwrap();
        assert_eq!(report.way, Way::Unchanged);
        assert_eq!(
            report.way.to_string(),
            "nothing to change: the file stays unchanged"
        );
        assert_eq!(fs::read(&options.out).unwrap(), before);
    }
    let report = change(
        &options.out,
        "changes.jsonl",
        "{\"word\":\"none\",\"_delete\":true}\n",
    )
    .unwrap();
    assert_eq!((report.way, report.counts.absent), (Way::Unchanged, 1));
}

#[test]
fn updates_to_another_file_and_requested_rebuilds() {
    let folder = folder();
    let options = built(folder.path(), 500, "plain");
    let before = fs::read(&options.out).unwrap();
    let changes = source(
        folder.path(),
        "changes.jsonl",
        "{\"w\":\"word 3\",\"m\":\"meaning 3333\"}\n",
    );
    let out = folder.path().join("next.pir");
    let options = UpdateOptions {
        key: Some("w".to_owned()),
        values: vec!["m".to_owned()],
        out: Some(out.clone()),
        rebuild: true,
        ..UpdateOptions::new(&options.out, changes)
    };
    let report = change_with(options.clone()).unwrap();
    assert!(
        matches!(report.way, Way::Rebuilt { reason: None, .. }),
        "{}",
        report.way
    );
    assert_eq!(fs::read(&options.file).unwrap(), before);
    let next = Snapshot::open(&out).unwrap();
    assert_eq!(by_key(&next, "word 3").unwrap(), b"meaning 3333");
    assert_eq!(next.metadata.name, "words");
}

/// Seven records of three bytes from a raw file.
fn numbers(folder: &Path, scheme: &str) -> PathBuf {
    let mut options = options(&source(folder, "numbers.bin", "aaabbbcccdddeeefffggg"));
    (options.format, options.record_bytes) = (Some(Format::Raw), Some(3));
    options.scheme = scheme.to_owned();
    run(&options).unwrap();
    options.out
}

#[test]
fn records_are_replaced_by_index_and_appended() {
    for scheme in ["plain", "simple"] {
        let folder = folder();
        let file = numbers(folder.path(), scheme);
        let report = change(&file, "c.csv", "index,value\n2,x\n6,yyy\n2,CC\n").unwrap();
        assert_eq!((report.counts.replaced, report.counts.superseded), (2, 1));
        let snapshot = Snapshot::open(&file).unwrap();
        let all: Vec<_> = (0..7).map(|i| by_index(&snapshot, i)).collect();
        assert_eq!(all.concat(), b"aaabbbCC\0dddeeefffyyy");
        let report = change(
            &file,
            "c.jsonl",
            "{\"index\":8,\"value\":\"i\"}\n{\"index\":7,\"value\":\"hhh\"}\n",
        );
        let report = report.unwrap();
        assert_eq!(
            report.way,
            Way::Extended {
                before: 7,
                records: 9
            }
        );
        assert_eq!(
            report.way.to_string(),
            "prepared all records again: 7 become 9"
        );
        let snapshot = Snapshot::open(&file).unwrap();
        let all: Vec<_> = (0..9).map(|i| by_index(&snapshot, i)).collect();
        assert_eq!(all.concat(), b"aaabbbCC\0dddeeefffyyyhhhi\0\0");
        assert_eq!(snapshot.metadata.updates, 2);
    }
}

/// Options of seven records of three bytes, with rows first.
fn rows_first(folder: &Path) -> BuildOptions {
    let numbers = source(folder, "numbers.bin", "aaabbbcccdddeeefffggg");
    BuildOptions {
        format: Some(Format::Raw),
        record_bytes: Some(3),
        rows_first: true,
        ..options(&numbers)
    }
}

#[test]
fn rows_stay_first_in_later_versions() {
    let folder = folder();
    let options = BuildOptions {
        scheme: "simple".to_owned(),
        ..rows_first(folder.path())
    };
    run(&options).unwrap();

    let order = |snapshot: &Snapshot| {
        let parameters = snapshot.server.describe().parameters;
        let order = parameters.into_iter().find(|(name, _)| *name == "order");
        order.map(|(_, value)| value)
    };
    let built = Snapshot::open(&options.out).unwrap();
    assert_eq!(order(&built).as_deref(), Some("rows first"));
    drop(built);

    // Changed under the same parameters, and prepared again under others.
    for (name, text, expected) in [
        ("c.csv", "index,value\n2,CCC\n", "aaabbbCCCdddeeefffggg"),
        ("d.csv", "index,value\n7,hhh\n", "aaabbbCCCdddeeefffggghhh"),
    ] {
        change(&options.out, name, text).unwrap();
        let snapshot = Snapshot::open(&options.out).unwrap();
        assert_eq!(order(&snapshot).as_deref(), Some("rows first"));
        let count = expected.len() as u64 / 3;
        let all: Vec<_> = (0..count).map(|i| by_index(&snapshot, i)).collect();
        assert_eq!(all.concat(), expected.as_bytes());
    }
}

#[test]
fn rows_first_is_refused_where_there_is_no_order() {
    let folder = folder();
    let mut options = rows_first(folder.path());
    for (scheme, batch) in [("inspire", None), ("plain", None), ("simple", Some(4))] {
        options.scheme = scheme.to_owned();
        options.batch = batch;
        let refused = run(&options).unwrap_err().to_string();
        assert!(refused.contains("rows first"), "{scheme}: {refused}");
    }
}

#[test]
fn invalid_changes_of_records_are_refused_by_line() {
    let folder = folder();
    let file = numbers(folder.path(), "plain");
    let refused = |name: &str, text: &str| refused(&file, name, text);
    let error = refused(
        "c.jsonl",
        "{\"index\":1,\"value\":\"a\"}\n{\"index\":2,\"_delete\":true}\n",
    );
    assert!(
        error.contains("c.jsonl, line 2: record 2 is deleted: expected a value"),
        "{error}"
    );
    let error = refused("c.csv", "index,value\n7,a\n9,b\n");
    assert!(
        error.contains("c.csv, line 3: record 9 is new: expected 8"),
        "{error}"
    );
    let error = refused("c.csv", "index,value\n1,toolong\n");
    assert!(
        error.contains("c.csv, line 2: the value has 7 bytes: expected at most 3"),
        "{error}"
    );
    for key in ["x", "-1", "", "1.5", "99999999999999999999"] {
        let error = refused("c.csv", &format!("index,value\n{key},a\n"));
        assert!(
            error.contains(&format!(
                "line 2: the key is `{key}`: expected the number of a record, 0 to 6"
            )),
            "{error}"
        );
    }
    assert!(refused("c.csv", "number,value\n1,a\n").contains("no column `index`"));
}

#[test]
fn invalid_changes_of_keys_are_refused() {
    let folder = folder();
    let file = built(folder.path(), 3, "plain").out;
    let refused = |name: &str, text: &str| refused(&file, name, text);
    assert!(refused("c.csv", "key,meaning\na,b\n").contains("no column `word`"));
    let all: String = (0..3)
        .map(|i| format!("{{\"word\":\"word {i}\",\"_delete\":1}}\n"))
        .collect();
    assert!(refused("c.jsonl", &all).starts_with("changes that delete every key: expected"));
    let long = format!("word,meaning\na,{}\n", "x".repeat(262_145));
    assert!(
        refused("c.csv", &long)
            .contains("line 2: the value has 262145 bytes: expected at most 262144")
    );
    let list = refused("c.txt", "word,meaning\n");
    assert!(
        list.contains("list source for a database with values"),
        "{list}"
    );
    let table = refused("c.parquet", "");
    assert!(
        table.contains("expected csv, tsv, jsonl, list, pairs or hosts"),
        "{table}"
    );
    let missing = UpdateOptions::new(&file, folder.path().join("missing.csv"));
    assert_eq!(change_with(missing).unwrap_err().code(), "io");

    let mut damaged = fs::read(&file).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&file, damaged).unwrap();
    assert!(refused("c.csv", "word,meaning\na,b\n").contains("is damaged"));
}

/// Renames the section of the ids in the table of sections and updates the checksums.
fn without_ids(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let number = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
    };
    let table = number(&bytes, 16);
    let length = number(&bytes, 24);
    let name = b"owner.keys";
    let position = table
        + bytes[table..]
            .windows(name.len())
            .position(|window| window == name)
            .unwrap();
    bytes[position..position + name.len()].copy_from_slice(b"other.keys");
    let sum = blake3::hash(&bytes[table..table + length]);
    bytes[40..56].copy_from_slice(&sum.as_bytes()[..16]);
    let sum = blake3::hash(&bytes[..56]);
    bytes[56..64].copy_from_slice(&sum.as_bytes()[..8]);
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_snapshot_without_ids_can_be_served_but_not_updated() {
    let folder = folder();
    let file = built(folder.path(), 30, "plain").out;
    without_ids(&file);
    assert_eq!(
        by_key(&Snapshot::open(&file).unwrap(), "word 3").unwrap(),
        b"meaning 0009"
    );
    let error = refused(&file, "c.csv", "word,meaning\na,b\n");
    assert!(
        error.contains("without the ids of its keys: expected") && error.contains("build it again"),
        "{error}"
    );
}

#[test]
fn several_files_of_changes_are_one() {
    let folder = folder();
    let rows = |name: &str, rows: &str| {
        let text = format!("word\tmeaning\n{rows}");
        source(folder.path(), name, text)
    };
    let first = rows("1", "word 1\tone\nword 2\ttwo\n");
    let second = rows("2", "word 2\t2\nnew\t3\n");
    let file = built(folder.path(), 30, "plain").out;

    // The content of the first tells the format.
    let changes = UpdateOptions {
        more: vec![second],
        ..UpdateOptions::new(&file, first)
    };
    let counts = change_with(changes).unwrap().counts;
    assert_eq!((counts.inserted, counts.replaced), (1, 2));
    let after = Snapshot::open(&file).unwrap();
    let found = ["word 1", "word 2", "new"].map(|key| by_key(&after, key).unwrap());
    assert_eq!(found, [&b"one"[..], b"2", b"3"]);

    let csv = source(folder.path(), "a.csv", "word,meaning\n");
    let mixed = UpdateOptions {
        more: vec![rows("b.tsv", "")],
        ..UpdateOptions::new(&file, csv)
    };
    let error = change_with(mixed).unwrap_err().to_string();
    assert!(error.contains("b.tsv among several files: tsv"), "{error}");
}

#[test]
fn a_bad_record_of_several_files_names_its_file() {
    let folder = folder();
    let records = source(folder.path(), "n.csv", "v\naa\nbb\n");
    let numbers = BuildOptions {
        values: vec!["v".to_owned()],
        scheme: "plain".to_owned(),
        allow_not_private: true,
        ..BuildOptions::new(&records, folder.path().join("n.papir"))
    };
    run(&numbers).unwrap();

    let changes = UpdateOptions {
        more: vec![source(folder.path(), "2.csv", "index,v\n9,dd\n")],
        ..UpdateOptions::new(
            &numbers.out,
            source(folder.path(), "1.csv", "index,v\n0,cc\n"),
        )
    };
    let error = change_with(changes).unwrap_err().to_string();
    assert!(error.contains("2.csv, line 2: record 9 is new"), "{error}");
}

#[test]
fn lists_are_changes_of_sets() {
    let folder = folder();
    let list = source(folder.path(), "a.txt", "a\nb\n");
    let set = BuildOptions {
        scheme: "plain".to_owned(),
        allow_not_private: true,
        ..BuildOptions::new(&list, folder.path().join("set.papir"))
    };
    run(&set).unwrap();

    let more = source(folder.path(), "more.txt", "# more\nc\na\n");
    let counts = change_with(UpdateOptions::new(&set.out, more.clone()))
        .unwrap()
        .counts;
    assert_eq!(counts.inserted, 1);
    let after = Snapshot::open(&set.out).unwrap();
    assert_eq!(by_key(&after, "c").unwrap(), b"");

    let deleting = UpdateOptions {
        delete: Some("gone".to_owned()),
        ..UpdateOptions::new(&set.out, more)
    };
    let error = change_with(deleting).unwrap_err().to_string();
    assert!(
        error.contains("columns of changes from a list source"),
        "{error}"
    );
}
