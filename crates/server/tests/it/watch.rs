//! Watching: replaced files are loaded, and invalid ones change nothing.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::support::files::{build, serving};
use crate::support::{self, Running, get, key, until, value};
use papir_server::ServerConfig;

const EVERY: Duration = Duration::from_millis(20);

fn counted(server: &Running, line: &str) -> u64 {
    let text = String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap();
    let found = text.lines().find_map(|one| one.strip_prefix(line));
    found
        .unwrap_or_else(|| panic!("no {line} in\n{text}"))
        .trim()
        .parse()
        .unwrap()
}

fn loads(server: &Running, outcome: &str) -> u64 {
    counted(
        server,
        &format!("papir_loads_total{{database=\"words\",outcome=\"{outcome}\"}}"),
    )
}

#[test]
fn replaced_files_are_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let path = build(directory.path(), "words.papir", 50, "a");
    let other = build(directory.path(), "other.papir", 50, "other");
    let config = ServerConfig {
        watch: Some(EVERY),
        ..serving(&[&path, &other])
    };
    let server = Running::start_files(config).unwrap();
    let mut connection = support::open(&server.url(), Some("words")).unwrap();
    let next = build(directory.path(), "next.papir", 50, "b");
    fs::rename(&next, &path).unwrap();
    until("the new file is loaded", || loads(&server, "ok") == 2);
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "b")));

    // An invalid file, then a missing one: each is tried once, and the old version stays.
    fs::write(&next, "no snapshot").unwrap();
    fs::rename(&next, &path).unwrap();
    until("the invalid file is tried", || {
        loads(&server, "failed") == 1
    });
    thread::sleep(EVERY * 10);
    assert_eq!(loads(&server, "failed"), 1, "it is tried only once");
    fs::remove_file(&path).unwrap();
    until("the missing file is noticed", || {
        loads(&server, "failed") == 2
    });
    thread::sleep(EVERY * 10);
    assert_eq!(loads(&server, "failed"), 2);
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "b")));

    build(directory.path(), "words.papir", 50, "c");
    until("the restored file is loaded", || loads(&server, "ok") == 3);
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "c")));
    let line = "papir_loads_total{database=\"other\",outcome=\"ok\"}";
    assert_eq!(
        counted(&server, line),
        1,
        "the other database's file is unchanged"
    );
}

#[test]
fn without_watching_nothing_is_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let path = build(directory.path(), "words.papir", 50, "a");
    let server = Running::start_files(serving(&[&path])).unwrap();
    build(directory.path(), "words.papir", 50, "b");
    thread::sleep(EVERY * 10);
    assert_eq!(loads(&server, "ok"), 1);
}
