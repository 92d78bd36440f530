//! Databases prepared for batches, from build to update.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::support::{Folder, Service, fails_with, papir, succeeds};

/// 3,000 words in small buckets, for batches of 8.
fn build(folder: &Folder) -> String {
    let rows: String = (0..3000)
        .map(|i| format!("word {i},meaning {i}\n"))
        .collect();
    let source = folder.write("words.csv", format!("word,meaning\n{rows}"));
    let out = folder.path("words.papir");
    let options = [
        "--key", "word", "--value", "meaning", "--scheme", "simple", "--batch", "8", "--room", "10",
    ];
    succeeds(&[&["build", &source, "--out", &out][..], &options].concat());
    out
}

/// Looks up a file of keys; returns the results and the costs.
fn batch(service: &Service, keys: &str) -> (Vec<serde_json::Value>, serde_json::Value) {
    let output = papir(&["get", &service.url, "--batch", keys, "--json", "-v"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let costs = String::from_utf8(output.stderr).unwrap();
    let found = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    (
        found,
        serde_json::from_str(costs.lines().last().unwrap()).unwrap(),
    )
}

#[test]
fn a_file_of_keys_is_looked_up_in_one_batch() {
    let folder = Folder::new();
    let words = build(&folder);
    let described = succeeds(&["inspect", &words]);
    assert!(
        described.contains("simple-batch") && described.contains("records a batch"),
        "{described}"
    );
    let service = Service::start(&[&words], &[]);
    let many = folder.write(
        "many.txt",
        "word 5\nword 2999\nnone\r\nword 5\nword 7\nword 8\nword 9\n",
    );
    let one = folder.write("one.txt", "word 11");
    let (found, costs) = batch(&service, &many);
    let values: Vec<_> = found
        .iter()
        .map(|line| line["value"].as_str().unwrap_or("-"))
        .collect();
    assert_eq!(
        values,
        [
            "meaning 5",
            "meaning 2999",
            "-",
            "meaning 5",
            "meaning 7",
            "meaning 8",
            "meaning 9"
        ]
    );
    assert_eq!(costs["requests"], 1);
    let (found, fewer) = batch(&service, &one);
    assert_eq!(found[0]["value"], "meaning 11");
    for bytes in ["upload_bytes", "download_bytes"] {
        assert_eq!(
            costs[bytes], fewer[bytes],
            "the length of a batch depends on its content"
        );
    }
    assert_eq!(succeeds(&["get", &service.url, "word 12"]), "meaning 12");
    drop(service);

    // The capacity survives updates, including those that need other buckets.
    let more: String = (0..2000).map(|i| format!("more {i},new {i}\n")).collect();
    let changes = folder.write(
        "changes.csv",
        format!("word,meaning\nword 5,changed\n{more}"),
    );
    succeeds(&["update", &words, "--from", &changes]);
    assert!(succeeds(&["inspect", &words]).contains("simple-batch"));
    let service = Service::start(&[&words], &[]);
    let (found, costs) = batch(&service, &many);
    assert_eq!(
        (&found[0]["value"], &costs["requests"]),
        (&"changed".into(), &1.into())
    );
}

/// Doubly-efficient PIR answers thousands of indices with one evaluation; all are returned,
/// including repeated ones.
#[test]
fn depir_looks_up_a_file_of_numbers_in_one_query() {
    let folder = Folder::new();
    let numbers = folder.numbers(90, "depir");
    let described = succeeds(&["inspect", &numbers]);
    assert!(described.contains("depir (private)"), "{described}");
    let service = Service::start(&[&numbers], &[]);
    let lines: Vec<String> = (0..300).map(|i| (i * 7 % 90).to_string()).collect();
    let many = folder.write("many.txt", lines.join("\n"));
    let one = folder.write("one.txt", "7");
    let (found, costs) = batch(&service, &many);
    assert_eq!((found.len(), &costs["requests"]), (300, &1.into()));
    let (_, fewer) = batch(&service, &one);
    for bytes in ["upload_bytes", "download_bytes"] {
        assert_eq!(
            costs[bytes], fewer[bytes],
            "the length of a query depends on its content"
        );
    }
    for (line, record) in lines.iter().zip(&found) {
        let number: u32 = line.parse().unwrap();
        let expected = String::from_utf8(number.to_le_bytes().to_vec()).unwrap();
        assert_eq!(
            (&record["index"], &record["value"]),
            (&number.into(), &expected.into())
        );
    }
    let outside = folder.write("outside.txt", "3\n90\n");
    fails_with(
        &["get", &service.url, "--batch", &outside],
        &["90", "out of range"],
    );
}

/// The files of a folder with the times of their last change.
fn changed_at(folder: &str) -> Vec<(PathBuf, SystemTime)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            let file = file.unwrap();
            (file.path(), file.metadata().unwrap().modified().unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Writes the numbers 10 to 29, each in two bytes.
fn two_digits(folder: &Folder) -> String {
    let raw: String = (10..30).map(|number| number.to_string()).collect();
    folder.write("numbers.bin", raw)
}

/// The arguments that build a database of these numbers.
fn build_numbers<'a>(source: &'a str, out: &'a str) -> [&'a str; 8] {
    [
        "build",
        source,
        "--out",
        out,
        "--format",
        "raw",
        "--record-bytes",
        "2",
    ]
}

/// Tables are made once and kept in their folder, belong to the snapshot, and answer what lines answer;
/// damaged ones are found when the database is opened.
#[test]
fn depir_answers_by_tables() {
    let folder = Folder::new();
    let source = two_digits(&folder);
    let out = folder.path("n.papir");
    let kept = folder.path("tables");
    let tables = [
        "--scheme",
        "depir",
        "--tabulated",
        "all",
        "--steps",
        "two",
        "--tables",
        &kept,
    ];
    let with_tables = [&build_numbers(&source, &out)[..], &tables].concat();
    succeeds(&with_tables);
    assert!(succeeds(&["inspect", &out]).contains("tables of"));

    // An interrupted build continues with the missing table.
    let before = changed_at(&kept);
    assert!(before.len() > 3);
    fs::remove_file(&before[0].0).unwrap();
    succeeds(&with_tables);
    let after = changed_at(&kept);
    assert_eq!(
        (&after[1..], after.len()),
        (&before[1..], before.len()),
        "made again"
    );
    assert_ne!(after[0].1, before[0].1);

    // The snapshot needs the folder no longer.
    fs::remove_dir_all(&kept).unwrap();
    let service = Service::start(&[&out], &[]);
    let numbers = folder.write("many.txt", "3\n19\n3\n0\n");
    let (found, costs) = batch(&service, &numbers);
    let values: Vec<_> = found
        .iter()
        .map(|line| line["value"].as_str().unwrap())
        .collect();
    assert_eq!(
        (values, &costs["requests"]),
        (vec!["13", "29", "13", "10"], &1.into())
    );
    drop(service);

    // An update keeps the tables' kind.
    let changes = folder.write("changes.csv", "index,value\n3,zz\n");
    succeeds(&["update", &out, "--from", &changes]);
    assert!(succeeds(&["inspect", &out]).contains("tables of"));

    // A flipped byte of the last table.
    let mut bytes = fs::read(&out).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&out, bytes).unwrap();
    fails_with(&["serve", "--check-config", &out], &["damaged"]);
}

/// Tables at the paper's points are longer, and answer what the others answer.
#[test]
fn depir_answers_at_the_papers_points() {
    let folder = Folder::new();
    let source = two_digits(&folder);
    let on_lines = folder.path("lines.papir");
    let out = folder.path("n.papir");
    let tables = ["--scheme", "depir", "--tabulated", "2", "--steps", "two"];
    succeeds(&[&build_numbers(&source, &on_lines)[..], &tables].concat());
    let build = [&build_numbers(&source, &out)[..], &tables].concat();
    succeeds(&[&build[..], &["--paper-points"]].concat());

    let of_paper = "the paper's points";
    assert!(succeeds(&["inspect", &out]).contains(of_paper));
    assert!(!succeeds(&["inspect", &on_lines]).contains(of_paper));
    let bytes = |path: &str| fs::metadata(path).unwrap().len();
    assert!(bytes(&out) > bytes(&on_lines));

    let service = Service::start(&[&out], &[]);
    let numbers = folder.write("many.txt", "3\n19\n0\n");
    let (found, _) = batch(&service, &numbers);
    let values: Vec<_> = found
        .iter()
        .map(|line| line["value"].as_str().unwrap())
        .collect();
    assert_eq!(values, ["13", "29", "10"]);
    drop(service);

    // An update keeps the points.
    let changes = folder.write("changes.csv", "index,value\n3,zz\n");
    succeeds(&["update", &out, "--from", &changes]);
    assert!(succeeds(&["inspect", &out]).contains(of_paper));
}

#[test]
fn options_of_tables_are_refused_where_nothing_is_tabulated() {
    let folder = Folder::new();
    let source = two_digits(&folder);
    let out = folder.path("n.papir");
    let build = build_numbers(&source, &out);
    let refused = |more: &[&str], words: &[&str]| {
        fails_with(&[&build[..], &["--scheme", "depir"], more].concat(), words);
    };
    refused(&["--tabulated", "17"], &["no ring and tables"]);
    refused(&["--tabulated", "some"], &["a number, or all"]);
    refused(&["--tabulated", "1", "--goal", "balanced"], &["--goal"]);
    refused(&["--tables", &folder.path("tables")], &["--tabulated"]);
    refused(&["--paper-points"], &["--tabulated"]);
    fails_with(
        &[&build[..], &["--tabulated", "all"]].concat(),
        &["inspire", "no tables of values"],
    );
}

/// A database whose queries take more than a minute is built only with the operator's agreement.
#[test]
fn slow_queries_need_an_agreement() {
    let folder = Folder::new();
    let source = folder.write("long.bin", vec![7; 400_000 * 32]);
    let out = folder.path("long.papir");
    let build = [
        "build",
        &source,
        "--out",
        &out,
        "--format",
        "raw",
        "--record-bytes",
        "32",
        "--scheme",
        "depir",
    ];
    fails_with(
        &build,
        &["seconds", "at most 60, or --yes", "products", "of messages"],
    );
    assert!(!Path::new(&out).exists());
    let output = papir(&[&build[..], &["--yes"]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("min"), "{said}");
}

/// Small databases are fetched whole: the file is small, lookups and batches of keys take one short
/// exchange each, and a new version is fetched again.
#[test]
fn a_downloaded_database_is_looked_up_at_home() {
    let folder = Folder::new();
    let rows: String = (0..1000).map(|i| format!("key {i},value {i}\n")).collect();
    let source = folder.write("words.csv", format!("word,meaning\n{rows}"));
    let words = folder.path("words.papir");
    let columns = [
        "--key", "word", "--value", "meaning", "--scheme", "download",
    ];
    let built = succeeds(&[&["build", &source, "--out", &words], &columns[..]].concat());
    assert!(
        built.contains("perfect") && built.contains("never"),
        "{built}"
    );
    let length = fs::metadata(&words).unwrap().len();
    assert!(length < 64 << 10, "1,000 short values take {length} bytes");
    // With another scheme, a build says so.
    let other = papir(&[
        "build",
        &source,
        "--key",
        "word",
        "--scheme",
        "inspire",
        "--out",
        &folder.path("set.papir"),
    ]);
    let said = String::from_utf8(other.stderr).unwrap();
    assert!(
        said.contains("one lookup sends") && said.contains("--scheme download"),
        "{said}"
    );
    let service = Service::start(&[&words], &[]);
    assert_eq!(succeeds(&["get", &service.url, "key 7"]), "value 7");
    let many: String = (0..500).map(|i| format!("key {}\n", i * 3)).collect();
    let many = folder.write("many.txt", many);
    let (found, costs) = batch(&service, &many);
    assert_eq!(found.len(), 500);
    assert_eq!(
        (&found[5]["value"], &found[499]["value"]),
        (&"value 15".into(), &serde_json::Value::Null)
    );
    assert!(costs["upload_bytes"].as_u64().unwrap() < 100, "{costs}");
    let changes = folder.write("changes.csv", "word,meaning\nkey 7,changed\n");
    succeeds(&["update", &words, "--from", &changes]);
    let service = Service::start(&[&words], &[]);
    assert_eq!(succeeds(&["get", &service.url, "key 7"]), "changed");
}

/// A query to the database has room for thousands of keys, but each of them needs one to the delta.
#[test]
fn a_delta_divides_the_keys_of_a_downloaded_database_among_requests() {
    let folder = Folder::new();
    let rows: String = (0..900).map(|i| format!("key {i},value {i}\n")).collect();
    let source = folder.write("words.csv", format!("word,meaning\n{rows}"));
    let words = folder.path("words.papir");
    let columns = [
        "--key", "word", "--value", "meaning", "--scheme", "download",
    ];
    succeeds(&[&["build", &source, "--out", &words], &columns[..]].concat());
    let changes = folder.write("changes.csv", "word,meaning\nkey 7,changed\n");
    succeeds(&["update", &words, "--from", &changes, "--delta"]);

    let service = Service::start(&[&words], &[]);
    let many: String = (0..900).map(|i| format!("key {i}\n")).collect();
    let (found, costs) = batch(&service, &folder.write("many.txt", many));
    assert_eq!((found.len(), &found[7]["value"]), (900, &"changed".into()));
    assert_eq!(found[899]["value"], "value 899");
    assert!(costs["requests"].as_u64().unwrap() >= 2, "{costs}");
}

#[test]
fn invalid_batches_are_refused_in_one_line() {
    let folder = Folder::new();
    let source = folder.write("words.csv", "word,meaning\na,b\n");
    let build = |more: &[&str], parts: &[&str]| {
        let base = [
            "build",
            &source,
            "--key",
            "word",
            "--value",
            "meaning",
            "--out",
            &folder.path("x.papir"),
        ];
        fails_with(&[&base[..], more].concat(), parts);
    };
    build(&["--batch", "0"], &["0", "1 to 1024"]);
    build(&["--batch", "1025"], &["1025", "1 to 1024"]);
    build(
        &["--batch", "8", "--scheme", "zip"],
        &["zip", "inspire, simple, download for batches"],
    );
    build(&["--batch", "8", "--scheme", "auto"], &["--batch"]);
    let numbers = folder.numbers(9, "simple");
    let service = Service::start(&[&numbers], &[]);
    let empty = folder.write("empty.txt", "");
    fails_with(
        &["get", &service.url, "--batch", &empty],
        &["empty.txt", "empty"],
    );
    let utf_16 = folder.write("utf-16.txt", b"\xff\xfe3\0\n\0");
    fails_with(
        &["get", &service.url, "--batch", &utf_16],
        &["utf-16.txt", "line 1: UTF-16"],
    );
    let wrong = folder.write("wrong.txt", "3\nfour\n");
    fails_with(
        &["get", &service.url, "--batch", &wrong],
        &["wrong.txt", "line 2", "four"],
    );
    // A database that is not prepared for batches is queried one record at a time.
    let right = folder.write("right.txt", "3\n8\n");
    assert_eq!(
        succeeds(&["get", &service.url, "--batch", &right])
            .lines()
            .count(),
        2
    );
}
