//! A service of a database with a delta: publication, traffic, versions, refusals, merges.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use papir_client::{Connection, Freshness, Options};
use papir_core::{NoProgress, Run};
use papir_server::{ClientLimits, Protection, ServerConfig};
use papir_store::{MergeOptions, Sign, UpdateOptions, merge, update_delta};

use crate::support::files::{build, build_signed, build_with, owner, serving};
use crate::support::proxy::Proxy;
use crate::support::{self, Running, get, key, lookup, post, rng, send, stateless, value};

const EVERY: Duration = Duration::from_millis(20);

/// Publishes values with this salt for some keys, and deletes others.
pub(crate) fn publish(file: &Path, salt: &str, set: &[u64], deleted: &[u64]) {
    publish_by(file, salt, set, deleted, None);
}

/// Like [`publish`], for a signed database.
fn publish_by(file: &Path, salt: &str, set: &[u64], deleted: &[u64], sign: Option<Sign>) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let mut rows: String = set
        .iter()
        .map(|&i| format!("{},{},\n", text(key(i)), text(value(i, salt))))
        .collect();
    rows.extend(deleted.iter().map(|&i| format!("{},,yes\n", text(key(i)))));
    let changes = file.with_extension(format!("{salt}.csv"));
    fs::write(&changes, format!("key,value,gone\n{rows}")).unwrap();
    let options = UpdateOptions {
        delete: Some("gone".into()),
        sign,
        ..UpdateOptions::new(file, changes)
    };
    update_delta(&options, None, &mut Run::new(&mut rng(), &NoProgress))
        .unwrap()
        .unwrap();
}

pub(crate) fn merge_delta(file: &Path, sign: Option<Sign>) {
    merge(
        &MergeOptions {
            sign,
            ..MergeOptions::new(file)
        },
        &mut Run::new(&mut rng(), &NoProgress),
    )
    .unwrap();
}

fn info(server: &Running) -> serde_json::Value {
    get(&format!("{}/v1/databases/words", server.url())).json()
}

/// Waits until the service serves other versions than these.
fn until_changed(server: &Running, before: &serde_json::Value) -> serde_json::Value {
    let versions =
        |info: &serde_json::Value| (info["version"].clone(), info["delta"]["version"].clone());
    let begin = Instant::now();
    loop {
        let now = info(server);
        if versions(&now) != versions(before) {
            return now;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "not in 60 s");
        thread::sleep(Duration::from_millis(5));
    }
}

fn watching(file: &Path, keep_old: Duration) -> Running {
    let config = ServerConfig {
        watch: Some(EVERY),
        keep_old,
        ..serving(&[file])
    };
    Running::start_files(config).unwrap()
}

#[test]
fn changes_are_answered_and_merged_without_a_gap() {
    let directory = tempfile::tempdir().unwrap();
    let file = build(directory.path(), "words.papir", 50, "a");
    let server = watching(&file, Duration::ZERO);
    let mut connection = support::open(&server.url(), Some("words")).unwrap();
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "a")));
    let mut before = info(&server);
    assert!(
        before.get("delta").is_none() && before["failure_log2"].is_null(),
        "{before}"
    );

    publish(&file, "b", &[7, 60], &[8]);
    let changed = until_changed(&server, &before);
    assert_eq!(
        (&changed["version"], &changed["delta"]["entries"]),
        (&before["version"], &3.into())
    );
    assert!(
        changed["failure_log2"].as_f64() <= Some(-40.0),
        "that of the delta: {changed}"
    );
    let keys = [7, 8, 9, 60, 61].map(key);
    let expected = [
        Some(value(7, "b")),
        None,
        Some(value(9, "a")),
        Some(value(60, "b")),
        None,
    ];
    for (key, expected) in keys.iter().zip(&expected) {
        assert_eq!(connection.get_key(key).unwrap(), *expected);
    }
    assert_eq!(
        connection.get_keys(&keys).unwrap(),
        expected,
        "as one request"
    );
    let metrics = String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap();
    assert!(
        metrics.contains("papir_delta_entries{database=\"words\"} 3"),
        "{metrics}"
    );

    // Only the delta's public part is fetched for its next version.
    before = changed;
    let fetched = connection.costs().public_bytes;
    publish(&file, "c", &[9], &[]);
    before = until_changed(&server, &before);
    assert_eq!(connection.get_key(&key(9)).unwrap(), Some(value(9, "c")));
    let fetched = connection.costs().public_bytes - fetched;
    assert_eq!(fetched, before["delta"]["public"].as_u64().unwrap());
    assert!(fetched < 512, "{fetched}");

    merge_delta(&file, None);
    let merged = until_changed(&server, &before);
    assert!(
        merged.get("delta").is_none() && merged["version"] != before["version"],
        "{merged}"
    );
    for (key, expected) in keys.iter().zip([
        &expected[0],
        &None,
        &Some(value(9, "c")),
        &expected[3],
        &None,
    ]) {
        assert_eq!(connection.get_key(key).unwrap(), *expected);
    }
}

#[test]
fn traffic_is_the_same_for_keys_in_base_delta_both_and_neither() {
    let directory = tempfile::tempdir().unwrap();
    let file = build(directory.path(), "words.papir", 50, "a");
    publish(&file, "b", &[7, 60], &[8]);
    let server = watching(&file, Duration::ZERO);
    let proxy = Proxy::to(server.address);
    let wanted = [key(3), key(60), key(7), key(8), key(70), vec![b'x'; 5000]];
    proxy.assert_same_traffic(Some("words"), &wanted);
}

/// A service whose clients may send `burst` queries, and then one an hour.
fn limited(file: &Path, burst: u32) -> Running {
    let limits = ClientLimits {
        rate: Some("1/h".parse().unwrap()),
        burst,
        per_client: 0,
    };
    let config = ServerConfig {
        protection: Protection {
            limits,
            ..Protection::default()
        },
        ..serving(&[file])
    };
    Running::start_files(config).unwrap()
}

/// The bodies are no queries, and cost as much as queries of their length.
#[test]
fn queries_to_a_delta_count_for_the_rate() {
    const BURST: u32 = 20;
    let directory = tempfile::tempdir().unwrap();
    let file = build_with("simple", directory.path(), "words.papir", 50, "a");
    publish(&file, "b", &[7], &[]);

    for lookups in [1, 3] {
        let server = limited(&file, BURST);
        let described = info(&server);
        let number = |value: &serde_json::Value| value.as_u64().unwrap();
        let of_base = number(&described["lookups_per_key"]);
        let of_delta = number(&described["delta"]["queries_per_lookup"]);
        let base_bytes = of_base * number(&described["sizes"]["query"]);
        let delta_bytes = of_delta * number(&described["delta"]["query"]);
        let body = vec![0; usize::try_from(lookups * (base_bytes + delta_bytes)).unwrap()];

        let url = format!("{}/v1/databases/words/query", server.url());
        let admitted = (0..BURST).take_while(|_| post(&url, &body).status != 429);
        let cost = lookups * (of_base + of_delta);
        assert_eq!(
            admitted.count() as u64,
            u64::from(BURST).div_ceil(cost),
            "the last one may overdraw the bucket"
        );
    }
}

#[test]
fn a_client_that_does_not_ask_the_delta_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = build(directory.path(), "words.papir", 50, "a");
    // Even while old versions are answered.
    let server = watching(&file, Duration::from_secs(600));
    let url = format!("{}/v1/databases/words/query", server.url());
    let lookup = lookup(&server.url(), "words");
    let base_only = lookup
        .prepare_key(&key(7), &mut rng())
        .unwrap()
        .queries()
        .concat();
    assert_eq!(post(&url, &base_only).status, 200);
    let before = info(&server);
    publish(&file, "b", &[7], &[]);
    let described = until_changed(&server, &before);
    let [base, delta] =
        [&described["version"], &described["delta"]["version"]].map(|one| one.as_str().unwrap());
    for headers in [&[][..], &[("papir-version", base)]] {
        let reply = send("POST", &url, headers, &base_only);
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (409, "wrong_version")
        );
        assert_eq!(
            reply.header("papir-version"),
            Some(delta),
            "the version to ask"
        );
    }
    // As if it were for the version with the delta, and as many bytes as two lookups.
    let named = send("POST", &url, &[("papir-version", delta)], &base_only);
    assert_eq!(
        (named.status, named.code().as_str()),
        (409, "wrong_version")
    );
    assert_eq!(
        post(&url, &[&base_only[..], &base_only].concat()).status,
        409
    );
    let junk = vec![7; base_only.len()];
    assert_eq!(
        send("POST", &url, &[("papir-version", delta)], &junk).code(),
        "wrong_length"
    );
}

#[test]
fn old_deltas_are_answered_for_a_while() {
    let directory = tempfile::tempdir().unwrap();
    let file = build(directory.path(), "words.papir", 50, "a");
    publish(&file, "b", &[7], &[]);
    let server = watching(&file, Duration::from_secs(600));
    let mut old = fresh_within(&server, Duration::MAX);
    assert_eq!(old.get_key(&key(7)).unwrap(), Some(value(7, "b")));
    // More than the number of old snapshots that are kept.
    for salt in ["c", "d", "e", "f"] {
        let before = info(&server);
        publish(&file, salt, &[7], &[]);
        until_changed(&server, &before);
    }
    let requests = old.costs().requests;
    assert_eq!(
        old.get_key(&key(7)).unwrap(),
        Some(value(7, "b")),
        "of its version"
    );
    assert_eq!(
        old.costs().requests,
        requests + 1,
        "without a change of version"
    );
    let described = info(&server);
    assert_eq!(
        described["previous_versions"].as_array().unwrap().len(),
        4,
        "{described}"
    );
    assert_eq!(described["memory"]["versions"], 5, "{described}");
    // One snapshot, and five deltas.
    let file_bytes = fs::metadata(&file).unwrap().len();
    let delta = fs::read_dir(directory.path())
        .unwrap()
        .flatten()
        .find(|one| one.file_name().to_string_lossy().ends_with(".delta"));
    let delta_bytes = delta.unwrap().metadata().unwrap().len();
    let held = described["memory"]["snapshot"].as_u64().unwrap();
    assert!(
        held.abs_diff(file_bytes + 5 * delta_bytes) < file_bytes,
        "{held}"
    );
}

/// A connection that looks for a newer version at this age of its own.
fn fresh_within(server: &Running, age: Duration) -> Connection {
    let options = Options {
        database: Some("words".into()),
        freshness: Freshness(age),
        allow_not_private: true,
        ..stateless()
    };
    Connection::open_with(&server.url(), &options).unwrap()
}

#[test]
fn a_connection_moves_to_newer_deltas_while_its_own_is_answered() {
    let directory = tempfile::tempdir().unwrap();
    let file = build(directory.path(), "words.papir", 50, "a");
    publish(&file, "b", &[7], &[]);
    let server = watching(&file, Duration::from_secs(600));
    let [mut at_once, mut later] =
        [Duration::ZERO, Duration::from_secs(600)].map(|age| fresh_within(&server, age));
    let version = |connection: &Connection| connection.lookup().version();
    let first = version(&at_once);
    let fetched = at_once.costs().public_bytes;
    assert_eq!(at_once.get_key(&key(7)).unwrap(), Some(value(7, "b")));
    assert_eq!(
        (version(&at_once), at_once.costs().public_bytes),
        (first, fetched),
        "nothing is fetched again"
    );

    let before = info(&server);
    publish(&file, "c", &[7], &[]);
    let before = until_changed(&server, &before);
    assert_eq!(at_once.get_key(&key(7)).unwrap(), Some(value(7, "c")));
    let fetched = at_once.costs().public_bytes - fetched;
    assert_eq!(
        fetched,
        before["delta"]["public"].as_u64().unwrap(),
        "the delta's public part alone"
    );
    assert_eq!(
        later.get_key(&key(7)).unwrap(),
        Some(value(7, "b")),
        "of its version"
    );
    assert_eq!(version(&later), first);

    // Also to a base without a delta, and on from it.
    merge_delta(&file, None);
    let merged = until_changed(&server, &before);
    assert_eq!(at_once.get_key(&key(7)).unwrap(), Some(value(7, "c")));
    assert_eq!(
        version(&at_once).to_string(),
        merged["version"].as_str().unwrap()
    );
    publish(&file, "d", &[7], &[]);
    until_changed(&server, &merged);
    assert_eq!(at_once.get_key(&key(7)).unwrap(), Some(value(7, "d")));
}

#[test]
fn each_public_part_is_fetched_by_its_version() {
    let directory = tempfile::tempdir().unwrap();
    let file = build(directory.path(), "words.papir", 50, "a");
    publish(&file, "b", &[7], &[]);
    let server = watching(&file, Duration::ZERO);
    let described = info(&server);
    let url = format!("{}/v1/databases/words/public", server.url());
    let of = |version: &str| get(&format!("{url}?version={version}"));
    let delta = of(described["delta"]["version"].as_str().unwrap());
    assert_eq!(
        delta.body.len() as u64,
        described["delta"]["public"].as_u64().unwrap()
    );
    assert_eq!(&delta.body[..4], b"PIRD");
    let base = of(described["version"].as_str().unwrap());
    assert_eq!((base.status, &base.body[..4]), (200, &b"PIRB"[..]));
    assert_eq!(
        get(&url).body,
        base.body,
        "the newest snapshot's by default"
    );
    assert_eq!(of("0123456789abcdef").status, 409);
}

#[test]
fn signed_deltas_are_checked_and_cost_a_client_their_public_part() {
    const START: u64 = 1_800_000_000;
    let directory = tempfile::tempdir().unwrap();
    let file = build_signed(directory.path(), "words.papir", "a", START);
    let sign = || {
        Some(Sign {
            time: Some(START),
            ..Sign::new(owner())
        })
    };
    publish_by(&file, "b", &[7, 60], &[8], sign());
    let server = watching(&file, Duration::ZERO);
    let state = Some(directory.path().join("state"));
    let options = Options {
        allow_not_private: true,
        state,
        ..Options::default()
    };
    let mut connection = Connection::open_with(&server.url(), &options).unwrap();
    let sequence = |connection: &Connection| connection.checkpoint().unwrap().leaf.sequence;
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "b")));
    assert_eq!(sequence(&connection), 1);
    assert_eq!(info(&server)["checkpoint"]["sequence"], 1);

    let before = info(&server);
    let fetched = connection.costs().public_bytes;
    publish_by(&file, "c", &[9], &[], sign());
    let changed = until_changed(&server, &before);
    assert_eq!(connection.get_key(&key(9)).unwrap(), Some(value(9, "c")));
    assert_eq!(connection.get_key(&key(8)).unwrap(), None);
    assert_eq!(sequence(&connection), 2);
    let fetched = connection.costs().public_bytes - fetched;
    assert_eq!(
        fetched,
        changed["delta"]["public"].as_u64().unwrap(),
        "not the snapshot's again"
    );

    merge_delta(&file, sign());
    until_changed(&server, &changed);
    assert_eq!(connection.get_key(&key(9)).unwrap(), Some(value(9, "c")));
    assert_eq!(sequence(&connection), 3);
}
