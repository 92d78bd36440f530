//! Old versions are answered for a while after a swap, then refused and dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::faulty::{Fault, FaultyDatabase};
use crate::support::transports::{AnyConnection, over_both_transports};
use crate::support::{
    self, Reply, Running, config, get, indexed, key, keyed, lookup, prepared, records, rng, send,
    until, value,
};
use papir_lookup::Lookup;
use papir_server::{Database, ServerConfig};

over_both_transports! {
    a_client_of_an_old_version_moves_to_the_newest,
    no_lookup_fails_while_versions_are_swapped_under_load,
}

const LONG: Duration = Duration::from_secs(600);

fn start(keep_old: Duration, database: Database) -> Running {
    Running::start(
        ServerConfig {
            keep_old,
            max_queued: 1000,
            ..config()
        },
        vec![database],
    )
}

/// A table of 50 records, and a handle that shows when it is dropped.
fn held() -> (Database, Arc<()>) {
    let share = Arc::new(());
    let fault = Fault::Held(Arc::clone(&share));
    let server = FaultyDatabase {
        inner: prepared("plain", &records(50)),
        scheme: 0,
        fault,
    };
    (Database::new("table", Box::new(server), None), share)
}

/// A query for a version, with or without the version header.
fn ask(server: &Running, lookup: &Lookup, header: bool) -> Reply {
    let query = lookup
        .prepare_index(7, &mut rng())
        .unwrap()
        .queries()
        .concat();
    let version = lookup.version().to_string();
    let headers = [("papir-version", version.as_str())];
    let url = format!("{}/v1/databases/table/query", server.url());
    send("POST", &url, if header { &headers } else { &[] }, &query)
}

#[test]
fn the_previous_version_is_answered_by_its_own_database() {
    let server = start(LONG, indexed("table", "simple", 300));
    let old = lookup(&server.url(), "table");
    // Another shape, so that queries and answers differ in length.
    server.handle.replace(indexed("table", "plain", 9)).unwrap();
    let new = lookup(&server.url(), "table");
    assert_ne!(
        old.version(),
        new.version(),
        "the public part is the newest"
    );
    for (lookup, version) in [
        (&old, old.version().to_string()),
        (&new, new.version().to_string()),
    ] {
        for header in [true, false] {
            let reply = ask(&server, lookup, header);
            assert_eq!(
                reply.status,
                200,
                "{version} {header} {:?}",
                String::from_utf8_lossy(&reply.body)
            );
            assert_eq!(reply.header("papir-version"), Some(version.as_str()));
        }
    }
    let pending = old.prepare_index(7, &mut rng()).unwrap();
    let url = format!("{}/v1/databases/table/query", server.url());
    let answer = send("POST", &url, &[], &pending.queries().concat()).body;
    assert_eq!(pending.finish(&[answer]).unwrap(), Some(support::record(7)));

    let info = get(&format!("{}/v1/databases/table", server.url())).json();
    assert_eq!(info["version"], new.version().to_string());
    let previous = info["previous_versions"].as_array().unwrap();
    assert_eq!(previous.len(), 1);
    assert_eq!(previous[0]["version"], old.version().to_string());
    assert!(
        (1..=600).contains(&previous[0]["seconds_left"].as_u64().unwrap()),
        "{info}"
    );
    let old = old.describe().sizes;
    let new = new.describe().sizes;
    assert_eq!(info["memory"]["versions"], 2);
    assert_eq!(info["memory"]["encoded"], old.database + new.database);
}

#[test]
fn contradictory_header_and_envelope_are_refused() {
    let server = start(LONG, indexed("table", "plain", 50));
    let old = lookup(&server.url(), "table");
    server
        .handle
        .replace(indexed("table", "plain", 50))
        .unwrap();
    let new = lookup(&server.url(), "table");
    let query = old.prepare_index(7, &mut rng()).unwrap().queries().concat();
    let url = format!("{}/v1/databases/table/query", server.url());
    let reply = send(
        "POST",
        &url,
        &[("papir-version", &new.version().to_string())],
        &query,
    );
    assert_eq!(
        (reply.status, reply.code().as_str()),
        (409, "wrong_version")
    );
    assert_eq!(
        reply.header("papir-version"),
        Some(new.version().to_string().as_str())
    );
    // Queries for two versions in one body: the database of the first query refuses the second.
    let both = [
        query,
        new.prepare_index(7, &mut rng()).unwrap().queries().concat(),
    ]
    .concat();
    let reply = send("POST", &url, &[], &both);
    assert_eq!(
        (reply.status, reply.code().as_str()),
        (409, "wrong_version")
    );
    assert_eq!(
        reply.header("papir-version"),
        Some(new.version().to_string().as_str()),
        "not the newest version"
    );
}

#[test]
fn an_expired_version_is_refused_and_dropped() {
    let (database, share) = held();
    let server = start(Duration::from_millis(300), database);
    let old = lookup(&server.url(), "table");
    assert_eq!(ask(&server, &old, true).status, 200);
    // Other lengths, so that old queries cannot be parsed as new ones.
    server
        .handle
        .replace(indexed("table", "simple", 300))
        .unwrap();
    // It is dropped without any request.
    until("the old database is dropped", || {
        Arc::strong_count(&share) == 1
    });
    let newest = lookup(&server.url(), "table").version().to_string();
    for header in [true, false] {
        let reply = ask(&server, &old, header);
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (409, "wrong_version"),
            "{header}"
        );
        assert_eq!(reply.header("papir-version"), Some(newest.as_str()));
        assert_eq!(reply.json()["version"], newest);
    }
    let info = get(&format!("{}/v1/databases/table", server.url())).json();
    assert!(
        info["previous_versions"].as_array().unwrap().is_empty(),
        "{info}"
    );
}

fn a_client_of_an_old_version_moves_to_the_newest<C: AnyConnection>() {
    let server = start(Duration::from_millis(300), keyed("words", "plain", "old"));
    let mut connection = C::open_even_if_not_private(&server.url(), None).unwrap();
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "old")));
    server
        .handle
        .replace(keyed("words", "plain", "new"))
        .unwrap();
    let url = format!("{}/v1/databases/words", server.url());
    until("the old version has expired", || {
        get(&url).json()["previous_versions"]
            .as_array()
            .unwrap()
            .is_empty()
    });
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "new")));
}

#[test]
fn frequent_swaps_keep_at_most_two_old_versions() {
    let (first, share) = held();
    let server = start(LONG, first);
    let mut shares = vec![share];
    let mut lookups = vec![lookup(&server.url(), "table")];
    for _ in 0..5 {
        let (database, share) = held();
        server.handle.replace(database).unwrap();
        shares.push(share);
        lookups.push(lookup(&server.url(), "table"));
    }
    let alive: Vec<_> = shares
        .iter()
        .map(|share| Arc::strong_count(share) > 1)
        .collect();
    assert_eq!(alive, [false, false, false, true, true, true]);
    let statuses: Vec<_> = lookups
        .iter()
        .map(|lookup| ask(&server, lookup, false).status)
        .collect();
    assert_eq!(statuses, [409, 409, 409, 200, 200, 200]);
}

#[test]
fn a_version_loaded_again_is_kept_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = support::files::build(directory.path(), "words.papir", 50, "a");
    let config = ServerConfig {
        keep_old: LONG,
        ..support::files::serving(&[&path])
    };
    let server = Running::start_files(config).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for _ in 0..3 {
        runtime
            .block_on(server.handle.reload())
            .unwrap()
            .pop()
            .unwrap()
            .outcome
            .unwrap();
    }
    let info = get(&format!("{}/v1/databases/words", server.url())).json();
    assert_eq!(info["memory"]["versions"], 1);
    assert_eq!(
        info["memory"]["snapshot"],
        std::fs::metadata(&path).unwrap().len()
    );
}

/// Stops the clients even if the test fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Swaps as fast as the clients allow: each completes one lookup between swaps. No lookup fails,
/// although more versions are swapped than are kept.
fn no_lookup_fails_while_versions_are_swapped_under_load<C: AnyConnection>() {
    let server = start(LONG, keyed("words", "plain", "0"));
    let done = AtomicBool::new(false);
    let lookups: [AtomicUsize; 4] = Default::default();
    thread::scope(|scope| {
        let _ends = Done(&done);
        for (client, own) in (0..).zip(&lookups) {
            let url = server.url();
            let done = &done;
            scope.spawn(move || {
                let mut connection = C::open_even_if_not_private(&url, None).unwrap();
                while !done.load(Ordering::Relaxed) {
                    let found = connection.get_key(&key(client)).expect("a lookup failed");
                    let found = String::from_utf8(found.expect("a key is gone")).unwrap();
                    assert!(found.starts_with(&format!("value-{client}-")), "{found}");
                    own.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for swap in 1..=20 {
            for one in &lookups {
                let goal = one.load(Ordering::SeqCst) + 1;
                until("a lookup", || one.load(Ordering::SeqCst) >= goal);
            }
            server
                .handle
                .replace(keyed("words", "plain", &swap.to_string()))
                .unwrap();
        }
    });
    assert!(lookups.iter().all(|one| one.load(Ordering::SeqCst) >= 20));
}
