//! Filters of keys: their route, and clients that use them.

use std::path::Path;
use std::time::Duration;

use papir_client::{Connection, Error, Freshness, Options, PrefilterUse, Schedule};
use papir_lookup::Bundle;
use papir_lookup::prefilter::Prefilter;
use papir_server::ServerConfig;
use tempfile::TempDir;

use crate::deltas::publish;
use crate::support::canned::{Canned, CannedServer};
use crate::support::files::{
    build, build_filtered, build_filtered_with, build_verifiable_filtered, serving,
};
use crate::support::tap::{Tap, header};
use crate::support::transports::{AnyConnection, over_both_transports};
use crate::support::{Running, get, key, send, stateless, until, value};

over_both_transports! {
    nothing_is_sent_for_excluded_keys,
    a_client_may_ignore_the_filter,
    a_filter_is_fetched_once,
    new_keys_are_found_although_nothing_was_sent,
    a_filter_that_the_public_part_does_not_state_is_refused,
    a_root_alone_covers_no_filter,
    a_client_that_hides_times_refuses_lookups_at_once,
}

fn start(file: &Path) -> Running {
    let config: ServerConfig = serving(&[file]);
    Running::start_files(config).unwrap()
}

/// Options of a client that stores nothing, and accepts the scheme of the tests.
fn options() -> Options {
    Options {
        allow_not_private: true,
        ..stateless()
    }
}

/// The number of requests among these heads whose path has this part.
fn count(heads: &[String], part: &str) -> usize {
    heads.iter().filter(|head| head.contains(part)).count()
}

fn nothing_is_sent_for_excluded_keys<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let server = start(&build_filtered(folder.path(), "words.pir", 300, "a"));
    let tap = Tap::passing(server.address);
    let mut connection = C::open_with(&tap.url(), &options()).unwrap();
    assert_eq!(count(&tap.take(), "/prefilter?version="), 1);

    assert_eq!(connection.get_key(b"absent").unwrap(), None);
    let absent = [b"one", b"two"];
    let found = connection.get_keys(&absent).unwrap();
    assert!(found.iter().all(Option::is_none) && found.len() == 2);
    assert_eq!(tap.take(), [""; 0]);
    assert_eq!(connection.costs().requests, 0);

    let mixed = [b"none".to_vec(), key(7), b"other".to_vec(), key(299)];
    let expected = [None, Some(value(7, "a")), None, Some(value(299, "a"))];
    assert_eq!(connection.get_keys(&mixed).unwrap(), expected);
    assert_eq!(count(&tap.take(), "/query"), 1);
    assert_eq!(connection.costs().requests, 1);
}

fn a_client_may_ignore_the_filter<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let server = start(&build_filtered(folder.path(), "words.pir", 300, "a"));
    let tap = Tap::passing(server.address);
    let ignoring = Options {
        prefilter: PrefilterUse::Ignore,
        ..options()
    };
    let mut connection = C::open_with(&tap.url(), &ignoring).unwrap();

    assert_eq!(connection.get_key(b"absent").unwrap(), None);
    let heads = tap.take();
    assert_eq!(
        (count(&heads, "/prefilter"), count(&heads, "/query")),
        (0, 1)
    );
}

fn a_filter_is_fetched_once<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    // Long enough to be stored.
    let server = start(&build_filtered(folder.path(), "words.pir", 8000, "a"));
    let tap = Tap::passing(server.address);
    let storing = Options {
        no_cache: false,
        state: Some(folder.path().join("state")),
        ..options()
    };

    let first = C::open_with(&tap.url(), &storing).unwrap();
    let stated = first.lookup().stated_prefilter().unwrap().bytes;
    assert!(first.costs().public_bytes > stated && stated > 16 << 10);
    assert_eq!(count(&tap.take(), "/prefilter"), 1);

    let mut second = C::open_with(&tap.url(), &storing).unwrap();
    assert_eq!(count(&tap.take(), "/prefilter"), 0);
    assert_eq!(second.get_key(b"absent").unwrap(), None);
    assert_eq!(tap.take(), [""; 0]);
}

fn new_keys_are_found_although_nothing_was_sent<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let file = build_filtered(folder.path(), "words.pir", 50, "a");
    let server = Running::start_files(ServerConfig {
        watch: Some(Duration::from_millis(20)),
        ..serving(&[&file])
    })
    .unwrap();
    let fresh = Options {
        freshness: Freshness(Duration::ZERO),
        ..options()
    };
    let mut connection = C::open_with(&server.url(), &fresh).unwrap();
    assert_eq!(connection.get_key(&key(60)).unwrap(), None);

    publish(&file, "b", &[60], &[8]);
    let url = format!("{}/v1/databases/words", server.url());
    until("the delta is served", || {
        get(&url).json().get("delta").is_some()
    });
    assert_eq!(connection.get_key(&key(60)).unwrap(), Some(value(60, "b")));
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "a")));

    let asked = connection.costs().requests;
    assert_eq!(connection.get_key(&key(61)).unwrap(), None);
    assert_eq!(connection.costs().requests, asked, "neither filter has it");
    // A removed key is in both filters until a merge.
    assert_eq!(connection.get_key(&key(8)).unwrap(), None);
    assert_eq!(connection.costs().requests, asked + 1);
}

fn a_filter_that_the_public_part_does_not_state_is_refused<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let server = start(&build_filtered(folder.path(), "words.pir", 300, "a"));
    let honest = server.url();
    let liar = CannedServer::start(move |request| {
        let (_, route) = request.split_once(' ').unwrap();
        let reply = get(&format!("{honest}{route}"));
        let version = reply.header("papir-version").map(str::to_owned);
        let mut body = reply.body;
        if route.contains("/prefilter") {
            let last = body.len() - 1;
            body[last] ^= 1;
        }

        Canned {
            status: reply.status,
            headers: version
                .map(|version| ("papir-version", version))
                .into_iter()
                .collect(),
            body,
            ..Canned::default()
        }
    });

    let error = C::open_with(&liar.url(), &options()).err().unwrap();
    assert_eq!(error.code(), "unexpected");
    let text = error.to_string();
    for part in ["/prefilter", "as in the public part"] {
        assert!(text.contains(part), "{text}");
    }

    let ignoring = Options {
        prefilter: PrefilterUse::Ignore,
        ..options()
    };
    C::open_with(&liar.url(), &ignoring).unwrap();
}

fn a_root_alone_covers_no_filter<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let signed = build_verifiable_filtered(folder.path(), "words.pir", Some(1_800_000_000));
    let server = start(&signed);
    let trusting = C::open_with(&server.url(), &options()).unwrap();
    assert!(
        trusting.lookup().prefilter().is_some(),
        "the owner signed it"
    );

    let root = trusting.lookup().root();
    let rooted = Options { root, ..options() };
    let mut connection = C::open_with(&server.url(), &rooted).unwrap();
    assert!(connection.lookup().prefilter().is_none());
    assert_eq!(connection.get_key(b"absent").unwrap(), None);
    assert_eq!(connection.costs().requests, 1);

    let unsigned = build_verifiable_filtered(folder.path(), "others.pir", None);
    let server = start(&unsigned);
    let connection = C::open_with(&server.url(), &options()).unwrap();
    assert!(connection.lookup().prefilter().is_none());
}

fn a_client_that_hides_times_refuses_lookups_at_once<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let server = start(&build_filtered(folder.path(), "words.pir", 50, "a"));
    let tap = Tap::passing(server.address);
    let hiding = Options {
        hide_times: true,
        ..options()
    };
    let mut connection = C::open_with(&tap.url(), &hiding).unwrap();
    tap.take();

    for key in [key(7), b"absent".to_vec()] {
        let error = connection.get_key(&key).unwrap_err();
        assert!(matches!(error, Error::Unscheduled { .. }), "{error}");
        assert!(error.to_string().contains("probably present"), "{error}");
    }
    assert_eq!(tap.take(), [""; 0]);
}

/// The lengths of the queries of a schedule that looks up a key of the database and one that the
/// filter excludes.
fn scheduled_lengths(tap: &Tap, prefilter: PrefilterUse) -> Vec<String> {
    let hiding = Options {
        prefilter,
        hide_times: true,
        ..stateless()
    };
    let connection = Connection::open_with(&tap.url(), &hiding).unwrap();
    tap.take();

    let scheduled = connection
        .schedule(Schedule {
            every: Duration::from_millis(20),
            batch: 2,
        })
        .unwrap();
    let absent = scheduled.submit_key(b"absent").unwrap();
    let present = scheduled.submit_key(&key(7)).unwrap();
    assert_eq!(absent.wait().unwrap(), None);
    assert_eq!(present.wait().unwrap(), Some(value(7, "a")));
    // One more slot, of dummies alone: a key that is in no filter.
    until("a slot of dummies", || scheduled.costs().requests > 1);
    drop(scheduled);

    let heads = tap.take();
    let queries = heads.iter().filter(|head| head.contains("/query"));
    queries.map(|head| header(head, "content-length")).collect()
}

#[test]
fn a_schedule_sends_the_same_with_a_filter() {
    let folder = TempDir::new().unwrap();
    let file = build_filtered_with("simple", folder.path(), "words.pir", 300, "a");
    let server = start(&file);
    let tap = Tap::passing(server.address);

    let mut using = scheduled_lengths(&tap, PrefilterUse::Use);
    let mut ignoring = scheduled_lengths(&tap, PrefilterUse::Ignore);
    assert!(using.len() > 1 && ignoring.len() > 1);
    using.dedup();
    ignoring.dedup();
    assert_eq!((using.len(), &using), (1, &ignoring));
}

#[test]
fn the_filter_that_the_public_part_states_is_served() {
    let folder = TempDir::new().unwrap();
    let file = build_filtered(folder.path(), "words.pir", 300, "a");
    let server = start(&file);
    let url = format!("{}/v1/databases/words", server.url());

    let info = get(&url).json();
    let public = get(&format!("{url}/public"));
    assert_eq!(info["sizes"]["bundle"], public.body.len());
    let bundle = Bundle::decode(&public.body).unwrap();
    let stated = bundle.prefilter.unwrap();
    assert_eq!(info["prefilter"]["bits"], stated.bits);
    assert_eq!(info["prefilter"]["bytes"], stated.bytes);
    let hash = blake3::Hash::from_bytes(stated.hash).to_string();
    assert_eq!(info["prefilter"]["blake3"], hash);

    let reply = get(&format!("{url}/prefilter"));
    assert_eq!(reply.status, 200);
    let version = info["version"].as_str().unwrap();
    assert_eq!(reply.header("papir-version"), Some(version));
    let filter = Prefilter::verified(reply.body, &stated).unwrap();
    let layout = bundle.keyword.unwrap();
    assert!((0..300).all(|number| filter.may_have_vartime(&layout, &key(number))));
    assert!(!filter.may_have_vartime(&layout, b"absent"));

    let tag = format!("\"{version}\"");
    let headers = [("if-none-match", tag.as_str())];
    let confirmed = send("GET", &format!("{url}/prefilter"), &headers, &[]);
    assert_eq!((confirmed.status, confirmed.body.len()), (304, 0));
}

#[test]
fn a_delta_has_its_filter_in_its_public_part() {
    let folder = TempDir::new().unwrap();
    let file = build_filtered(folder.path(), "words.pir", 300, "a");
    let without = start(&file);
    let url = format!("{}/v1/databases/words", without.url());
    let before = get(&format!("{url}/prefilter")).body;
    drop(without);

    publish(&file, "b", &[1], &[2]);
    let server = start(&file);
    let url = format!("{}/v1/databases/words", server.url());
    let info = get(&url).json();
    let delta = info["delta"]["version"].as_str().unwrap();

    // Of either version, the filter is that of the base.
    for address in [
        format!("{url}/prefilter"),
        format!("{url}/prefilter?version={delta}"),
    ] {
        let reply = get(&address);
        assert!(reply.body == before, "{address}");
        assert_eq!(reply.header("papir-version"), info["version"].as_str());
    }
    let part = get(&format!("{url}/public?version={delta}")).body;
    let part = papir_lookup::delta::DeltaPart::decode(&part).unwrap();
    assert_eq!(part.prefilter.unwrap().keys(), 2);
}

#[test]
fn a_database_without_a_filter_has_none() {
    let folder = TempDir::new().unwrap();
    let server = start(&build(folder.path(), "words.pir", 300, "a"));
    let url = format!("{}/v1/databases/words", server.url());
    assert!(get(&url).json().get("prefilter").is_none());

    let reply = get(&format!("{url}/prefilter"));
    assert_eq!((reply.status, reply.code()), (404, "no_prefilter".into()));
    let other = get(&format!("{url}/prefilter?version=0000000000000000"));
    assert_eq!((other.status, other.code()), (409, "wrong_version".into()));
}
