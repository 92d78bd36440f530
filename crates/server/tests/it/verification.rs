//! Snapshots that are verified while they are served.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use papir_server::ServerConfig;
use papir_store::Verify;
use tempfile::TempDir;

use crate::deltas::publish;
use crate::support::files::{build, serving};
use crate::support::{self, Running, get, key, until, value};

/// A snapshot of 6 MB, so that it has a section whose chunks are verified later.
fn long(folder: &Path, name: &str, letter: &str) -> PathBuf {
    build(folder, name, 6000, &letter.repeat(1000))
}

/// Flips a bit in the middle of the longest section.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let next = path.with_extension("next");
    fs::write(&next, bytes).unwrap();
    fs::rename(next, path).unwrap();
}

fn lazy(path: &Path) -> Running {
    let config = ServerConfig {
        verify: Verify::Lazy,
        mapped: true,
        ..serving(&[path])
    };
    Running::start_files(config).unwrap()
}

fn version(server: &Running) -> Option<String> {
    get(&format!("{}/v1/databases/words", server.url())).json()["version"]
        .as_str()
        .map(str::to_owned)
}

fn status(server: &Running, path: &str) -> u16 {
    get(&format!("{}{path}", server.url())).status
}

fn metric(server: &Running, name: &str) -> String {
    let text = String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("{name}{{database=\"words\"}}")));
    line.unwrap().rsplit(' ').next().unwrap().to_owned()
}

/// Loads the files again. Returns the error, if there is one.
fn reload(server: &Running) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let reloaded = runtime
        .block_on(server.handle.reload())
        .unwrap()
        .pop()
        .unwrap();
    reloaded.outcome.err().map(|error| error.to_string())
}

#[test]
fn a_snapshot_is_answered_while_it_is_verified() {
    let folder = TempDir::new().unwrap();
    let server = lazy(&long(folder.path(), "words.papir", "a"));
    let mut connection = support::open(&server.url(), Some("words")).unwrap();
    assert_eq!(
        connection.get_key(&key(7)).unwrap(),
        Some(value(7, &"a".repeat(1000)))
    );
    until("verified", || {
        metric(&server, "papir_unverified_bytes") == "0"
    });
    assert_eq!(metric(&server, "papir_load_failing"), "0");
    assert_eq!(status(&server, "/readyz"), 200);
}

#[test]
fn a_damaged_snapshot_is_taken_out_and_stays_out_until_it_is_replaced() {
    let folder = TempDir::new().unwrap();
    let path = long(folder.path(), "words.papir", "a");
    damage(&path);
    let server = lazy(&path);
    until("taken out", || status(&server, "/readyz") == 503);
    assert_eq!(status(&server, "/v1/databases/words/public"), 503);
    until("counted", || metric(&server, "papir_load_failing") == "1");
    let error = reload(&server).unwrap();
    assert!(
        error.contains("words.papir: section `") && error.contains(" at bytes "),
        "{error}"
    );
    assert_eq!(
        status(&server, "/readyz"),
        503,
        "the same file is verified before it is served"
    );
    long(folder.path(), "words.papir", "b");
    assert_eq!(reload(&server), None);
    assert_eq!(status(&server, "/readyz"), 200);
    assert_eq!(metric(&server, "papir_load_failing"), "0");
}

#[test]
fn the_version_before_a_damaged_one_is_served_again() {
    let folder = TempDir::new().unwrap();
    let path = long(folder.path(), "words.papir", "a");
    let watch = Some(Duration::from_millis(20));
    let keep_old = Duration::from_secs(600);
    let config = ServerConfig {
        verify: Verify::Lazy,
        mapped: true,
        watch,
        keep_old,
        ..serving(&[&path])
    };
    let server = Running::start_files(config).unwrap();
    let first = version(&server).unwrap();
    until("verified", || {
        metric(&server, "papir_unverified_bytes") == "0"
    });
    let next = long(folder.path(), "next.papir", "b");
    damage(&next);
    fs::rename(next, &path).unwrap();
    until("taken out", || metric(&server, "papir_load_failing") == "1");
    assert_eq!(version(&server).unwrap(), first);
    let mut connection = support::open(&server.url(), Some("words")).unwrap();
    assert_eq!(
        connection.get_key(&key(7)).unwrap(),
        Some(value(7, &"a".repeat(1000)))
    );
    // Not loaded again by the next checks.
    let loads = |server: &Running| {
        let text = String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap();
        let count = text
            .lines()
            .filter(|line| line.starts_with("papir_loads_total"));
        count.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let before = loads(&server);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!((loads(&server), version(&server)), (before, Some(first)));
}

#[test]
fn a_delta_is_verified_before_it_is_answered() {
    let folder = TempDir::new().unwrap();
    let path = build(folder.path(), "words.papir", 50, "a");
    let server = lazy(&path);
    let before = version(&server).unwrap();
    publish(&path, "b", &[7], &[]);
    let mut files = fs::read_dir(folder.path())
        .unwrap()
        .flatten()
        .map(|one| one.path());
    let delta = files
        .find(|path| path.extension().is_some_and(|end| end == "delta"))
        .unwrap();
    let whole = fs::read(&delta).unwrap();
    damage(&delta);
    let error = reload(&server).unwrap();
    assert!(
        error.contains(".delta: section `scheme.") && error.contains(" at bytes "),
        "{error}"
    );
    let mut connection = support::open(&server.url(), Some("words")).unwrap();
    assert_eq!(
        connection.get_key(&key(7)).unwrap(),
        Some(value(7, "a")),
        "of version {before}"
    );
    fs::write(&delta, whole).unwrap();
    assert_eq!(reload(&server), None);
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "b")));
}
