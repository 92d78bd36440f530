//! `papir demo` on a small list.

use std::fmt::Write;

use crate::support::{Folder, fails_with, papir, succeeds};

fn list(folder: &Folder, first: &str) -> String {
    let mut csv = format!("password,rank\n{first},1\nmonkey,2\n");
    for i in 3..500 {
        writeln!(csv, "word-{i},{i}").unwrap();
    }
    folder.write("list.csv", csv)
}

#[test]
fn it_shows_both_sides_and_ends_by_itself() {
    let folder = Folder::new();
    let text = succeeds(&["demo", "--data", &list(&folder, "dragon")]);
    for part in ["What the server saw", "What the clients got", "lengths are equal: yes", "not on the list"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    let got = |key: &str| text.lines().any(|line| line.split_whitespace().eq(key.split(' ')));
    assert!(got("dragon rank 1") && got("monkey rank 2"), "{text}");
    assert!(!text.contains("word-3"), "{text}");
}

#[test]
fn it_fails_where_it_does_not_find_what_it_should() {
    let folder = Folder::new();
    let output = papir(&["demo", "--data", &list(&folder, "wyvern")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("dragon"));
    fails_with(&["demo", "--data", &folder.path("missing.csv")], &["missing.csv"]);
}
