//! `papir follow` and `papir serve --follow`.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Folder, Service, fails_with, papir, program, succeeds, until};

fn build(folder: &Folder) -> String {
    let rows: String = (0..200)
        .map(|i| format!("word {i},meaning {i}\n"))
        .collect();
    let source = folder.write("words.csv", format!("word,meaning\n{rows}"));
    let out = folder.path("words.papir");
    succeeds(&[
        "build", &source, "--out", &out, "--key", "word", "--value", "meaning", "--room", "10",
        "--scheme", "inspire",
    ]);
    out
}

fn append(file: &str, rows: &[(&str, Option<&str>)]) {
    let row = |(word, meaning): &(&str, Option<&str>)| match meaning {
        Some(meaning) => format!("{{\"word\":\"{word}\",\"meaning\":\"{meaning}\"}}\n"),
        None => format!("{{\"word\":\"{word}\",\"_delete\":true}}\n"),
    };
    let text: String = rows.iter().map(row).collect();
    OpenOptions::new()
        .append(true)
        .open(file)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

#[test]
fn a_service_follows_a_source_and_merges_in_the_background() {
    let folder = Folder::new();
    let words = build(&folder);
    let changes = folder.write("changes.jsonl", "");
    let more = [
        "--follow",
        &changes,
        "--every",
        "50ms",
        "--merge-at",
        "1",
        "--delta-bytes",
        "8KiB",
    ];
    let service = Service::start(&[&words], &more);
    let get = |key: &str| papir(&["get", &service.url, key]);
    append(
        &changes,
        &[
            ("word 1", Some("one")),
            ("word 2", None),
            ("fresh", Some("added")),
        ],
    );
    until("the changes are answered", || {
        get("word 1").stdout == b"one"
    });
    assert_eq!(
        (get("fresh").stdout, get("word 2").status.code()),
        (b"added".to_vec(), Some(1))
    );
    assert_eq!(get("word 3").stdout, b"meaning 3");
    let metric = |line: &str| {
        let text = succeeds(&["inspect", &words, "--json"]);
        let inspected: Value = serde_json::from_str(&text).unwrap();
        inspected[line].clone()
    };
    let first = metric("version");
    // 83 bytes are 1 per cent: each of the next versions starts a merge.
    let long = "m".repeat(90);
    append(&changes, &[("word 4", Some(&long))]);
    until("the delta is merged", || metric("version") != first);
    append(&changes, &[("word 5", Some("five"))]);
    until("the next change is answered", || {
        get("word 5").stdout == b"five"
    });
    for (key, expected) in [
        ("word 1", b"one".to_vec()),
        ("word 4", long.into_bytes()),
        ("fresh", b"added".to_vec()),
    ] {
        assert_eq!(get(key).stdout, expected, "{key}");
    }
    assert_eq!(get("word 2").status.code(), Some(1));
}

#[test]
fn a_service_follows_columns_of_other_names() {
    let folder = Folder::new();
    let words = build(&folder);
    let changes = folder.write("changes.txt", "key,text,gone\nword 1,one,\nword 2,,yes\n");
    let columns = [
        "--format",
        "csv",
        "--key",
        "key",
        "--value",
        "text",
        "--delete-column",
        "gone",
    ];
    let more = [&["--follow", &changes, "--every", "50ms"], &columns[..]].concat();
    let service = Service::start(&[&words], &more);
    let get = |key: &str| papir(&["get", &service.url, key]);
    until("the changes are answered", || {
        get("word 1").stdout == b"one"
    });
    assert_eq!(get("word 2").status.code(), Some(1));
    fails_with(
        &["serve", &words, "--format", "csv"],
        &["--format without a source to follow"],
    );
    fails_with(
        &["serve", &words, "--follow", "-"],
        &["standard input of no format: expected --format csv"],
    );
}

/// A follower that was away catches up with one version, not with one for each change.
#[test]
fn changes_that_arrived_meanwhile_become_one_version() {
    let folder = Folder::new();
    let words = build(&folder);
    let rows: String = (0..2000)
        .map(|i| format!("{{\"word\":\"word {}\",\"meaning\":\"{i}\"}}\n", i % 200))
        .collect();
    let changes = folder.write("changes.jsonl", rows);

    let follow = ["follow", &changes, "--publish", &words, "--once", "--json"];
    let output = succeeds(&follow);
    let events = output
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let published: Vec<Value> = events
        .filter(|event| event["event"] == "published")
        .collect();
    assert_eq!(published.len(), 1, "{output}");
    assert_eq!(published[0]["entries"], 200);
}

#[test]
fn standard_input_is_followed_until_it_ends() {
    let folder = Folder::new();
    let words = build(&folder);
    let mut child = program()
        .args([
            "follow",
            "-",
            "--format",
            "jsonl",
            "--publish",
            &words,
            "--every",
            "10ms",
            "--json",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"{\"word\":\"word 1\",\"meaning\":\"one\"}\n")
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(
        (&first["event"], &first["rows"], &first["entries"]),
        (&"published".into(), &1.into(), &1.into())
    );
    input
        .write_all(b"{\"word\":\"word 2\",\"meaning\":\"two\"}")
        .unwrap();
    drop(input);
    let second: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(
        (&second["rows"], &second["entries"]),
        (&1.into(), &2.into()),
        "without a line end"
    );
    assert!(child.wait().unwrap().success() && lines.next().is_none());
}

#[test]
fn standard_input_may_have_more_rows_than_a_delta() {
    let folder = Folder::new();
    let words = build(&folder);
    let mut child = program()
        .args([
            "follow",
            "-",
            "--format",
            "jsonl",
            "--publish",
            &words,
            "--every",
            "0s",
        ])
        .args(["--delta-bytes", "8KiB", "--merge-at", "75"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let row =
        |word: &str, meaning: &str| format!("{{\"word\":\"{word}\",\"meaning\":\"{meaning}\"}}\n");
    // First as many that change nothing, which fill a delta, too.
    let same = (0..500).map(|i| {
        row(
            &format!("word {}", i % 200),
            &format!("meaning {}", i % 200),
        )
    });
    let new = (0..500).map(|i| row(&format!("new {i}"), &format!("{i:020}")));
    child
        .stdin
        .take()
        .unwrap()
        .write_all(same.chain(new).collect::<String>().as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
    let service = Service::start(&[&words], &[]);
    for i in [0, 250, 499] {
        assert_eq!(
            succeeds(&["get", &service.url, &format!("new {i}")]),
            format!("{i:020}")
        );
    }
}

#[test]
fn a_file_is_followed_once_and_bad_rows_are_named_or_skipped() {
    let folder = Folder::new();
    let words = build(&folder);
    let changes = folder.write("changes.jsonl", "");
    append(&changes, &[("word 1", Some("one"))]);
    let follow = ["follow", &changes, "--publish", &words, "--once"];
    assert!(succeeds(&follow).contains(": 1 rows in "), "one version");
    assert_eq!(succeeds(&follow), "", "nothing twice");
    OpenOptions::new()
        .append(true)
        .open(&changes)
        .unwrap()
        .write_all(b"{\"word\":\"torn\"}\n")
        .unwrap();
    append(&changes, &[("word 2", Some("two"))]);
    fails_with(&follow, &["changes.jsonl, line 2: no column `meaning`"]);
    let output = succeeds(&[&follow[..], &["--skip-all-bad"]].concat());
    assert!(
        output.contains("skipped line 2: no column `meaning`") && output.contains(": 1 rows in "),
        "{output}"
    );
    fails_with(
        &["serve", &words, "--skip-all-bad"],
        &["--skip-all-bad without a source to follow"],
    );
    fails_with(
        &["serve", &words, "--every", "5s"],
        &["--every without a source to follow"],
    );
    let full = ["--delta-bytes", "20"];
    append(&changes, &[("word 3", Some("three"))]);
    fails_with(
        &[&follow[..], &full].concat(),
        &["at most 20 bytes: merge them first"],
    );
    let merged = succeeds(&[&follow[..], &full, &["--merge-at", "100"]].concat());
    assert!(
        merged.contains("merged into version ") && merged.contains(": 1 rows in "),
        "{merged}"
    );
}

#[test]
fn the_last_row_is_published_at_the_end_of_input_or_reported() {
    let folder = Folder::new();
    let words = build(&folder);
    let changes = "word,meaning\nword 1,one\nword 2,two";
    let mut child = program()
        .args(["follow", "-", "--format", "csv", "--publish", &words])
        .args(["--once", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(changes.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let rows: u64 = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["rows"]
                .as_u64()
                .unwrap()
        })
        .sum();
    assert_eq!(rows, 2);

    // The last row of a file may still be written, and an open quote may still be closed.
    for text in [changes.to_owned(), format!("{changes},\"\nword 3,")] {
        let source = folder.write("changes.csv", &text);
        let words = build(&folder);
        let follow = ["follow", &source, "--publish", &words, "--once"];
        let output = succeeds(&follow);
        assert!(output.contains(": 1 rows in "), "{output}");
        let bytes = text.len() - "word,meaning\nword 1,one\n".len();
        let waiting = format!("waiting: line 3: {bytes} bytes of a row");
        assert!(output.contains(&waiting), "{output}");
    }
}

#[test]
fn a_service_merges_what_another_program_publishes() {
    let folder = Folder::new();
    let words = build(&folder);
    let changes = folder.write("changes.jsonl", "");
    let service = Service::start(
        &[&words],
        &["--watch", "--merge-at", "1", "--delta-bytes", "8KiB"],
    );
    let version = || {
        let inspected: Value =
            serde_json::from_str(&succeeds(&["inspect", &words, "--json"])).unwrap();
        inspected["version"].clone()
    };
    let first = version();
    append(&changes, &[("word 1", Some("one"))]);
    succeeds(&["follow", &changes, "--publish", &words, "--once"]);
    let get = |key: &str| papir(&["get", &service.url, key]).stdout;
    until("the change is answered", || get("word 1") == b"one");
    assert_eq!(version(), first, "too few to merge");
    let long = "m".repeat(90);
    append(&changes, &[("word 2", Some(&long))]);
    succeeds(&["follow", &changes, "--publish", &words, "--once"]);
    until("the delta is merged", || version() != first);
    // The service loads the file once it is renamed.
    until("the merged file is answered", || {
        get("word 2") == long.as_bytes()
    });
    assert_eq!(get("word 1"), b"one");
}

#[test]
fn a_service_follows_a_table_of_postgresql() {
    let server = papir_testkit::postgres::Server::start("wal_level = logical\nfsync = off");
    server.sql(
        "papir",
        "CREATE TABLE words (word text PRIMARY KEY, meaning text)",
    );
    server.sql("papir", "CREATE PUBLICATION meanings FOR TABLE words");
    server.sql(
        "papir",
        "SELECT pg_create_logical_replication_slot('words', 'pgoutput')",
    );
    let folder = Folder::new();
    let words = build(&folder);
    // The superuser needs no password.
    let address = server.address("papir").replace("papir@", "postgres@");
    let more = [
        "--follow",
        &address,
        "--slot",
        "words",
        "--publication",
        "meanings",
        "--every",
        "50ms",
    ];
    let service = Service::start(&[&words], &more);
    server.sql(
        "papir",
        "INSERT INTO words VALUES ('word 1', 'one'), ('word 2', ''); DELETE FROM words WHERE word = 'word 2'",
    );
    let get = |key: &str| papir(&["get", &service.url, key]);
    until("the changes are answered", || {
        get("word 1").stdout == b"one"
    });
    assert_eq!(
        (get("word 2").status.code(), get("word 3").stdout),
        (Some(1), b"meaning 3".to_vec())
    );
    drop(service);
    server.sql("papir", "UPDATE words SET meaning = 'first'");
    let slot = ["--slot", "words", "--publication", "meanings"];
    let output = succeeds(
        &[
            &["follow", &address, "--publish", &words, "--once"],
            &slot[..],
        ]
        .concat(),
    );
    assert!(output.contains("1 rows"), "{output}");
    let changes = folder.write("changes.jsonl", "");
    fails_with(
        &["follow", &changes, "--publish", &words, "--slot", "words"],
        &[
            "--slot or --publication words with",
            "expected a source postgres://USER@HOST/DATABASE",
        ],
    );
    fails_with(
        &[
            "follow",
            &address,
            "--publish",
            &words,
            "--once",
            "--slot",
            "none",
        ],
        &["no slot `none`"],
    );
}
