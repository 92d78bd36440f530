//! `papir demo`, and its data.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use crate::support::{Folder, fails_with, papir, root, succeeds, text};

fn list(folder: &Folder, first: &str) -> String {
    let mut csv = format!("password,rank\n{first},1\nmonkey,2\n");
    for i in 3..500 {
        writeln!(csv, "word-{i},{i}").unwrap();
    }
    folder.write("list.csv", csv)
}

#[test]
fn the_demo_shows_both_sides_and_exits() {
    let folder = Folder::new();
    let text = succeeds(&["demo", "--data", &list(&folder, "dragon")]);
    for part in [
        "What the server saw",
        "What the clients got",
        "lengths are equal: yes",
        "not on the list",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    let got = |key: &str| {
        text.lines()
            .any(|line| line.split_whitespace().eq(key.split(' ')))
    };
    assert!(got("dragon rank 1") && got("monkey rank 2"), "{text}");
    assert!(!text.contains("word-3"), "{text}");
}

#[test]
fn the_demo_data_matches_its_readme() {
    let folder = root().join("demo/data");
    let data = fs::read_to_string(folder.join("common-passwords.csv")).unwrap();
    let rows: Vec<(&str, &str)> = data
        .lines()
        .map(|line| line.split_once(',').unwrap())
        .collect();
    assert_eq!((rows[0], rows.len()), (("password", "rank"), 30_001));
    let keys: BTreeSet<&str> = rows[1..].iter().map(|(key, _)| *key).collect();
    assert_eq!(keys.len(), 30_000, "a key occurs twice");
    let plain = |key: &str| {
        (1..=20).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
    };
    assert!(
        keys.iter()
            .all(|key| plain(key) && !key.contains(['"', ',']))
    );
    assert!(
        rows[1..]
            .iter()
            .zip(1..)
            .all(|((_, rank), expected)| rank.parse() == Ok(expected))
    );
    let licence = fs::read_to_string(folder.join("LICENSE.txt")).unwrap();
    assert!(licence.contains("Permission is hereby granted, free of charge"));

    let shown = succeeds(&["demo", "--data", text(&folder.join("common-passwords.csv"))]);
    assert!(
        shown.contains("30000, 0 duplicates left out") && shown.contains("rank 10\n"),
        "{shown}"
    );
}

#[test]
fn the_demo_fails_on_unexpected_results() {
    let folder = Folder::new();
    let output = papir(&["demo", "--data", &list(&folder, "wyvern")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("dragon"));
    fails_with(
        &["demo", "--data", &folder.path("missing.csv")],
        &["missing.csv"],
    );
}
