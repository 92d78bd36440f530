//! Snapshot files replaced while the service runs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::files::{build, serving};
use crate::support::process::runs_alone;
use crate::support::{self, Running, config, get, key, keyed, prepared_keys, until, value};
use papir_server::{Database, DatabaseConfig, Error, ServerConfig};
use rustix::process::{Signal, getpid, kill_process};
use tempfile::TempDir;

fn serve(paths: &[&Path]) -> Result<Running, Error> {
    Running::start_files(serving(paths))
}

fn version(server: &Running) -> String {
    get(&format!("{}/v1/databases/words", server.url())).json()["version"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn hang_up() {
    kill_process(getpid(), Signal::HUP).unwrap();
}

/// Runs in its own process, since a signal reaches every service in a process.
#[test]
fn sighup_reloads_the_snapshot() {
    if !runs_alone("reload::sighup_reloads_the_snapshot") {
        return;
    }
    let directory = TempDir::new().unwrap();
    let path = build(directory.path(), "words.papir", 100, "old");
    let server = serve(&[&path]).unwrap();
    let mut connection = support::open(&server.url(), Some("words")).unwrap();
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "old")));
    let before = version(&server);
    // Larger, so that queries and answers differ in length.
    build(directory.path(), "words.papir", 5000, "new and longer");
    assert_eq!(
        version(&server),
        before,
        "nothing changes before the signal"
    );
    hang_up();
    until("the snapshot is reloaded", || version(&server) != before);
    // The client holds the old version. It is refused, fetches the new version and retries by
    // itself.
    let requests = connection.costs().requests;
    assert_eq!(
        connection.get_key(&key(7)).unwrap(),
        Some(value(7, "new and longer"))
    );
    assert_eq!(connection.costs().requests, requests + 2);
    assert_eq!(
        connection.get_key(&key(4999)).unwrap(),
        Some(value(4999, "new and longer"))
    );
    assert_eq!(connection.costs().requests, requests + 3);
}

#[test]
fn a_snapshot_that_fails_to_load_keeps_the_old_one() {
    let directory = TempDir::new().unwrap();
    let path = build(directory.path(), "words.papir", 100, "old");
    let server = serve(&[&path]).unwrap();
    let before = version(&server);
    let reload = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime
            .block_on(server.handle.reload())
            .unwrap()
            .pop()
            .unwrap()
    };
    let new = build(directory.path(), "new.papir", 100, "new");
    let mut bytes = std::fs::read(&new).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    for damaged in [&bytes[..], &bytes[..100], b"", b"no snapshot"] {
        std::fs::write(&new, damaged).unwrap();
        std::fs::rename(&new, &path).unwrap();
        let reloaded = reload();
        let message = reloaded.outcome.unwrap_err().to_string();
        assert!(
            message.contains("`words`") && message.contains("words.papir"),
            "{message}"
        );
        assert_eq!(
            (reloaded.name.as_str(), version(&server)),
            ("words", before.clone())
        );
    }
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(reload().outcome, Err(Error::Load { .. })));
    let mut connection = support::open(&server.url(), None).unwrap();
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "old")));
    build(directory.path(), "words.papir", 100, "new");
    let loaded = reload().outcome.unwrap();
    assert_eq!(loaded.to_string(), version(&server));
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "new")));
}

#[test]
fn continuous_lookups_survive_many_swaps() {
    let server = Running::start(
        ServerConfig {
            max_queued: 1000,
            ..config()
        },
        vec![keyed("words", "plain", "0")],
    );
    let done = AtomicBool::new(false);
    let newest = AtomicUsize::new(0);
    let lookups: [AtomicUsize; 4] = Default::default();
    thread::scope(|scope| {
        for (client, own) in (0..).zip(&lookups) {
            let url = server.url();
            let done = &done;
            let newest = &newest;
            scope.spawn(move || {
                let mut connection = support::open(&url, None).unwrap();
                while !done.load(Ordering::Relaxed) {
                    let oldest = newest.load(Ordering::SeqCst);
                    let found = connection
                        .get_key(&key(client))
                        .expect("a lookup failed")
                        .expect("a key is gone");
                    let swap = swap_of(found);
                    assert!(
                        swap >= oldest,
                        "value of swap {swap} after swap {oldest} was done"
                    );
                    own.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for swap in 1..=20 {
            more_of_each(&lookups, 3);
            let (prepared, layout) = prepared_keys("plain", 1000 + swap as u64, &swap.to_string());
            server
                .handle
                .replace(Database::new("words", prepared, Some(layout)))
                .unwrap();
            newest.store(swap, Ordering::SeqCst);
        }
        more_of_each(&lookups, 3);
        done.store(true, Ordering::Relaxed);
    });
}

/// The number of the swap that a value comes from.
fn swap_of(value: Vec<u8>) -> usize {
    String::from_utf8(value)
        .unwrap()
        .rsplit('-')
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

/// Waits until every client has completed `count` more lookups. A client follows only a few swaps
/// during one lookup.
fn more_of_each(lookups: &[AtomicUsize], count: usize) {
    let start = Instant::now();
    for one in lookups {
        let goal = one.load(Ordering::SeqCst) + count;
        while one.load(Ordering::SeqCst) < goal {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "lookups have stalled"
            );
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn invalid_snapshots_are_named() {
    let directory = TempDir::new().unwrap();
    let path = build(directory.path(), "words.papir", 10, "a");
    let other = directory.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let twin = build(&other, "words.papir", 10, "b");
    let message = serve(&[&path, &twin]).map(drop).unwrap_err().to_string();
    assert!(
        message.contains(path.to_str().unwrap()) && message.contains(twin.to_str().unwrap()),
        "{message}"
    );
    let missing = directory.path().join("missing.papir");
    let message = serve(&[&path, &missing]).map(drop).unwrap_err().to_string();
    assert!(message.contains("missing.papir"), "{message}");
    let databases = vec![DatabaseConfig::new(&path, None)];
    let private = ServerConfig {
        databases,
        allow_not_private: false,
        ..config()
    };
    let message = Running::start_files(private)
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("`words`") && message.contains("plain is not private"),
        "{message}"
    );
}
