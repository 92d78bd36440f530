//! `papir update`, and answers of a server after an update.

use std::fs;

#[cfg(unix)]
use rustix::process::Signal;

#[cfg(unix)]
use crate::support::send;
use crate::support::{Folder, Service, fails_with, papir, succeeds, until};

const OPEN: &str = "--allow-not-private";

/// Builds a database of words and meanings; `more` are further arguments.
fn build(folder: &Folder, more: &[&str]) -> String {
    let rows: String = (0..500)
        .map(|i| format!("word {i},meaning {i}\n"))
        .collect();
    let source = folder.write("words.csv", format!("word,meaning\n{rows}"));
    let out = folder.path("words.papir");
    let arguments = [
        "build", &source, "--out", &out, "--key", "word", "--value", "meaning", "--room", "10",
    ];
    succeeds(&[&arguments[..], more].concat());
    out
}

/// The value of the output line with this name.
fn value<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text
        .lines()
        .find(|line| line.starts_with(name))
        .unwrap_or_else(|| panic!("no {name} in {text}"));
    line[name.len()..].trim()
}

#[test]
fn a_private_database_is_updated_and_served() {
    let folder = Folder::new();
    let words = build(&folder, &["--scheme", "inspire"]);
    let changes = "{\"word\":\"word 1\",\"meaning\":\"set\"}\n{\"word\":\"word 2\",\"_delete\":true}\n\
                   {\"word\":\"fresh\",\"meaning\":\"added\"}\n";
    let changes = folder.write("changes.jsonl", changes);
    let output = succeeds(&["update", &words, "--from", &changes]);
    assert_eq!(value(&output, "changes"), "1 new, 1 replaced, 1 deleted");
    assert!(value(&output, "done").contains("(predicted)"), "{output}");
    assert!(value(&output, "keys").starts_with("500,"), "{output}");

    let service = Service::start(&[&words], &[]);
    let get = |key: &str| papir(&["get", &service.url, key]);
    assert_eq!(get("word 1").stdout, b"set");
    assert_eq!(get("fresh").stdout, b"added");
    assert_eq!(get("word 2").status.code(), Some(1));
    assert_eq!(get("word 3").stdout, b"meaning 3");

    let json = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&succeeds(
            &[&["update", &words, "--json", "--from"], arguments].concat(),
        ))
        .unwrap()
    };
    let same = folder.write("same.csv", "word,meaning\nword 1,set\n");
    let unchanged = json(&[&same, "--out", &folder.path("next.papir")]);
    assert_eq!(
        (&unchanged["mode"], &unchanged["sequence"]),
        (&"unchanged".into(), &serde_json::Value::Null)
    );
    let next = json(&[&changes, "--out", &folder.path("next.papir")]);
    assert_eq!(
        (&next["changes"]["replaced"], &next["changes"]["absent"]),
        (&2.into(), &1.into()),
        "{next}"
    );
    assert!(
        next["seconds"].as_f64() > Some(0.0) && next["version"].is_string(),
        "{next}"
    );

    let inspected = succeeds(&["inspect", &words]);
    assert!(
        value(&inspected, "updated").starts_with("1 times, last 20"),
        "{inspected}"
    );
    assert!(
        value(&inspected, "owner's keys").starts_with("7.81 KiB for updates"),
        "{inspected}"
    );
}

#[cfg(unix)]
#[test]
fn a_running_server_loads_an_update_on_sighup() {
    let folder = Folder::new();
    let words = build(&folder, &["--scheme", "plain", "--insecure-plain"]);
    let service = Service::start(&[&words], &[OPEN]);
    let get = |key: &str| papir(&["get", &service.url, OPEN, key]);
    let changes = folder.write(
        "changes.csv",
        "word,meaning,gone\nword 7,lucky,\nword 8,,1\n",
    );
    succeeds(&[
        "update",
        &words,
        "--from",
        &changes,
        "--delete-column",
        "gone",
    ]);
    assert_eq!(get("word 7").stdout, b"meaning 7");
    send(Signal::HUP, &service);
    until("the new version is served", || {
        get("word 7").stdout == b"lucky"
    });
    assert_eq!(get("word 8").status.code(), Some(1));
}

#[test]
fn records_by_number_are_set_from_columns_of_any_name() {
    let folder = Folder::new();
    let numbers = folder.numbers(9, "plain");
    let changes = folder.write("changes.txt", "n,to\n3,abcd\n9,efgh\n");
    let next = folder.path("next.papir");
    let update = [
        "update", &numbers, "--from", &changes, "--format", "csv", "--key", "n", "--value", "to",
    ];
    let output = succeeds(&[&update[..], &["--out", &next]].concat());
    assert_eq!(
        value(&output, "done"),
        "prepared all records again: 9 become 10"
    );
    let service = Service::start(&[&next], &[OPEN]);
    let get = |index: &str| succeeds(&["get", &service.url, OPEN, "--index", index]);
    assert_eq!((get("3").as_str(), get("9").as_str()), ("abcd", "efgh"));
    fails_with(
        &["update", &numbers, "--from", &changes, "--format", "csv"],
        &["changes.txt", "`index`"],
    );
}

#[test]
fn empty_and_invalid_updates_leave_the_file_unchanged() {
    let folder = Folder::new();
    let words = build(&folder, &["--scheme", "plain", "--insecure-plain"]);
    let before = fs::read(&words).unwrap();
    let output = succeeds(&[
        "update",
        &words,
        "--from",
        &folder.write("none.csv", "word,meaning\n"),
    ]);
    assert_eq!(
        value(&output, "done"),
        "nothing to change: the file stays unchanged"
    );
    let bad = folder.write("bad.csv", "word,meaning\na,b\nc\n");
    fails_with(&["update", &words, "--from", &bad], &["bad.csv", "line 3"]);
    fails_with(
        &["update", &words, "--from", &folder.path("missing.csv")],
        &["missing.csv"],
    );
    fails_with(
        &["update", &folder.path("missing.papir"), "--from", &bad],
        &["missing.papir"],
    );
    fails_with(&["update", &words], &["--from"]);
    fails_with(
        &["update", &words, "--from", &bad, "--delete-column", "gone"],
        &["`gone`"],
    );
    assert_eq!(fs::read(&words).unwrap(), before);
    let numbers = folder.write("n.bin", [1; 8]);
    let out = folder.path("n.papir");
    let room = [
        "build",
        &numbers,
        "--out",
        &out,
        "--format",
        "raw",
        "--record-bytes",
        "4",
        "--room",
        "5",
    ];
    fails_with(&room, &["room"]);
    fails_with(&[&room[..9], &["101"]].concat(), &["101"]);
}

#[test]
fn changes_are_read_from_other_text_and_several_files() {
    let folder = Folder::new();
    let words = build(&folder, &["--scheme", "plain", "--insecure-plain"]);
    folder.write("new1.csv", "word 1;one\n");
    folder.write("new2.csv", "new;two\n");
    let pattern = folder.path("new?.csv");
    let update = ["update", &words, "--from", &pattern, "--no-header"];
    let columns = ["--delimiter", ";", "--key", "1", "--value", "2"];
    let all = [&update[..], &columns].concat();
    succeeds(&all);

    let checked = [&all[..], &["--key-pattern", "word [0-9]+"]].concat();
    fails_with(&checked, &["new2.csv, line 1: the key `new` has 3 bytes"]);
    let list = folder.write("more.txt", "a\nb\n");
    fails_with(
        &["update", &words, "--from", &list],
        &["a list source for a database with values"],
    );
    let pairs = folder.write("more.txt", "word 1\tthree\n");
    let update = ["update", &words, "--from", &pairs, "--format", "pairs"];
    succeeds(&[&update[..], &["--separator", "\t"]].concat());
    let service = Service::start(&[&words], &[OPEN]);
    let get = |key: &str| succeeds(&["get", &service.url, OPEN, key]);
    assert_eq!(
        (get("word 1").as_str(), get("new").as_str()),
        ("three", "two")
    );
}

#[test]
fn changes_go_beside_the_file_and_are_merged_under_a_running_service() {
    let folder = Folder::new();
    let words = build(&folder, &["--scheme", "inspire"]);
    let service = Service::start(&[&words], &["--watch", "1"]);
    let get = |key: &str| papir(&["get", &service.url, key]);
    let before = fs::read(&words).unwrap();
    let changes = folder.write(
        "changes.csv",
        "word,meaning,gone\nword 1,set,\nword 2,,1\nfresh,added,\n",
    );
    let delta = |more: &[&str]| {
        let arguments = [
            "update",
            &words,
            "--from",
            &changes,
            "--delete-column",
            "gone",
            "--delta",
        ];
        succeeds(&[&arguments[..], more].concat())
    };
    let output = delta(&[]);
    assert_eq!(value(&output, "changes"), "3 rows");
    assert!(
        value(&output, "delta").starts_with("3 changes since version "),
        "{output}"
    );
    assert_eq!(fs::read(&words).unwrap(), before);
    until("the changes are answered", || {
        get("word 1").stdout == b"set"
    });
    assert_eq!(
        (get("fresh").stdout, get("word 2").status.code()),
        (b"added".to_vec(), Some(1))
    );
    assert_eq!(get("word 3").stdout, b"meaning 3");

    let again: serde_json::Value = serde_json::from_str(&delta(&["--json"])).unwrap();
    assert_eq!(
        (&again["mode"], &again["entries"], &again["superseded"]),
        (&"delta".into(), &3.into(), &3.into())
    );
    let inspected: serde_json::Value =
        serde_json::from_str(&succeeds(&["inspect", &words, "--json"])).unwrap();
    assert_eq!(inspected["delta"]["version"], again["version"]);
    assert!(value(&succeeds(&["inspect", &words]), "delta").starts_with("3 changes"));
    let whole = [
        "update",
        &words,
        "--from",
        &changes,
        "--delete-column",
        "gone",
    ];
    fails_with(&whole, &["with 3 changes beside it", "papir merge"]);

    let merged = succeeds(&["merge", &words]);
    assert_eq!(value(&merged, "changes"), "1 new, 1 replaced, 1 deleted");
    assert!(succeeds(&["merge", &words]).contains("nothing to change"));
    until("the merged changes are answered", || {
        get("word 1").stdout == b"set"
    });
    assert_eq!(
        (get("fresh").stdout, get("word 2").status.code()),
        (b"added".to_vec(), Some(1))
    );
}

#[test]
fn records_are_appended_beside_the_file() {
    let folder = Folder::new();
    let source = folder.write("notes.bin", "aabbcc");
    let out = folder.path("notes.papir");
    succeeds(&["build", &source, "--out", &out, "--record-bytes", "2"]);
    let more = folder.write("more.bin", "ddee");
    let appended = succeeds(&["append", &out, &more, "--json"]);
    let report: serde_json::Value = serde_json::from_str(&appended).unwrap();
    assert_eq!(
        (&report["mode"], &report["rows"]),
        (&"delta".into(), &2.into()),
        "{report}"
    );
    let service = Service::start(&[&out], &[]);
    assert_eq!(papir(&["get", &service.url, "--index", "4"]).stdout, b"ee");
    fails_with(
        &["append", &out, &folder.write("part.bin", "x")],
        &["part.bin", "1 bytes"],
    );
}
