//! Rows that arrived while a follower was away become few versions.

use crate::common::folder;
use crate::follow::{Source, check, step};

/// Bytes of rows that a follower publishes as one version.
const AT_ONCE: usize = 1 << 20;

/// Follows this many rows, each a change of one of 20 words, that arrived while nobody followed.
fn catches_up(rows: usize) {
    let folder = folder();
    let source = Source::new(folder.path(), "changes.jsonl");
    let mut text = String::new();
    let mut longest = 0;
    for row in 0..rows {
        let before = text.len();
        let word = row % 20;
        text += &format!("{{\"word\":\"word {word}\",\"meaning\":\"at {row}\"}}\n");
        longest = longest.max(text.len() - before);
    }
    source.append(&text);

    let mut follower = source.follower();
    let mut versions = 0;
    let mut published_rows = 0;
    loop {
        let taken = step(&mut follower).unwrap();
        if !taken.arrived {
            break;
        }

        let published = taken.published.unwrap();
        versions += 1;
        published_rows += published.rows;
        assert!(published.metadata.entries <= 20, "one for each word");
    }

    // Each version but the last has whole rows up to the limit, so that it lacks less than a row.
    let most = text.len().div_ceil(AT_ONCE - longest);
    assert!(versions <= most, "{versions} versions of {rows} rows");
    assert_eq!(published_rows, rows as u64);
    let newest = format!("at {}", rows - 1);
    let word = format!("word {}", (rows - 1) % 20);
    check(&source, &[(word.as_str(), Some(newest.as_str()))]);
}

#[test]
fn a_change_each_minute_of_a_day_becomes_one_version() {
    // 60 KB of rows, far below the limit of one version.
    catches_up(24 * 60);
}

#[test]
fn a_change_each_second_of_a_day_becomes_a_few_versions() {
    catches_up(24 * 3600);
}
