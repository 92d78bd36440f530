//! Clients behind proxies that rewrite paths, buffer, limit, cut or show pages of their own.
#![cfg(feature = "blocking")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../clients/mod.rs"]
mod clients;
#[allow(dead_code, unused_imports)]
#[path = "../core/peer/mod.rs"]
mod peer;
#[allow(unreachable_pub)]
mod proxy;
#[allow(dead_code)]
#[path = "../core/ticket_table.rs"]
mod ticket_table;

use papir_client::{Error, Options, Schemes};
use papir_core::erased::Erased;
use papir_core::{Goal, NoProgress, RecordBuffer};
use papir_protocol::{limit, media};
use papir_schemes::registry;
use papir_testkit::stateful::{self, Stateful};
use tempfile::TempDir;

use clients::{CLIENTS, Client, single_try};
use peer::{Peer, record, records, rng, simple};
use proxy::{FakeProxy, Manner};

const MIB: usize = 1 << 20;

static STATEFUL: Erased<Stateful> =
    Erased::allowing_insecure(papir_core::NotPrivate::acknowledged());

/// Options of a client that registers, with its state in a folder.
fn registering(folder: &TempDir) -> Options {
    Options {
        allow_not_private: true,
        schemes: Schemes::and(vec![&STATEFUL]),
        state: Some(folder.path().to_owned()),
        ..single_try()
    }
}

fn small() -> Peer {
    Peer::new(simple(1))
}

/// A service whose clients register keys of more than two parts.
fn with_long_keys() -> Peer {
    let length = limit::PART_BYTES as u64 * 2 + 1;
    Peer::new(stateful::setup(&records(1), length, &mut rng(1)).unwrap())
}

fn long_record(index: u64) -> Vec<u8> {
    vec![index as u8; 1024]
}

/// A service whose clients download more than 2 MiB.
fn with_long_public_part() -> Peer {
    let records = RecordBuffer::from_records((0..64).map(long_record)).unwrap();
    let scheme = registry::by_name("simple").unwrap();
    let server = scheme.setup(&records, Goal::Balanced, &mut rng(1), &NoProgress);
    let server = server.unwrap();
    assert!(server.public().len() > 2 * MIB, "{}", server.public().len());
    Peer::new(server)
}

/// Returns the error of a lookup through a proxy that treats one route by a manner.
fn error(look_up: Client, route: &'static str, manner: Manner) -> Error {
    let proxy = FakeProxy::start(route, manner, small);
    look_up(&proxy.url, &single_try()).unwrap_err()
}

#[test]
fn a_service_below_a_path_is_found_with_and_without_slashes_at_the_end() {
    for (name, look_up) in CLIENTS {
        let proxy = FakeProxy::start("", Manner::Passes, small);
        for end in [
            "",
            "/",
            "//",
            "/v1/databases",
            "/v1/databases/",
            "/v1/databases/table",
            "/v1/databases/table/",
            "//v1/databases/table",
        ] {
            let url = format!("{}{end}", proxy.url);
            let found = look_up(&url, &single_try());
            assert_eq!(found.unwrap(), record(1, 3), "{name}: {end}");
            // Without a name the list is read as well.
            let expected = if end.contains("table") { 3 } else { 4 };
            assert_eq!(proxy.take().len(), expected, "{name}: {end}");
        }
    }
}

#[test]
fn long_responses_pass_a_proxy_that_buffers() {
    for (name, look_up) in CLIENTS {
        let proxy = FakeProxy::start("", Manner::Buffers(MIB), with_long_public_part);
        let found = look_up(&proxy.url, &single_try()).unwrap();
        assert_eq!(found, long_record(3), "{name}");
    }
}

#[test]
fn long_keys_pass_a_proxy_in_parts() {
    for (name, look_up) in CLIENTS {
        for manner in [
            Manner::Buffers(MIB),
            Manner::LimitsBodies(limit::PART_BYTES),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let proxy = FakeProxy::start("", manner, with_long_keys);
            let found = look_up(&proxy.url, &registering(&folder)).unwrap();
            assert_eq!(found, record(1, 3), "{name}");

            let asked = proxy.take();
            let parts = asked.iter().filter(|line| line.starts_with("PATCH "));
            assert_eq!(parts.count(), 3, "{name}: {asked:?}");
        }
    }
}

#[test]
fn bodies_above_a_proxys_limit_are_errors_with_their_length() {
    for (name, look_up) in CLIENTS {
        let folder = tempfile::tempdir().unwrap();
        let most = limit::PART_BYTES - 1;
        let proxy = FakeProxy::start("", Manner::LimitsBodies(most), with_long_keys);
        let of_keys = look_up(&proxy.url, &registering(&folder)).unwrap_err();
        let length = limit::PART_BYTES;
        let expected =
            format!("the request of {length} bytes exceeds the limit of a server or proxy");
        assert!(of_keys.to_string().contains(&expected), "{name}: {of_keys}");

        let of_query = error(*look_up, "/query", Manner::LimitsBodies(16));
        for error in [of_keys, of_query] {
            assert!(
                matches!(error, Error::Http { status: 413, .. }),
                "{name}: {error}"
            );
            assert_eq!(
                (error.code(), error.is_retryable()),
                ("too_long", false),
                "{name}"
            );
            let text = error.to_string();
            assert!(
                text.contains("expected a limit of at least "),
                "{name}: {text}"
            );
        }
    }
}

#[test]
fn connections_that_a_proxy_cuts_are_errors_with_bytes_and_seconds() {
    for (name, look_up) in CLIENTS {
        for (route, manner, expected) in [
            (
                "/query",
                Manner::CutsBefore,
                " s without a response (the request has ",
            ),
            ("/query", Manner::CutsWithin(0), "broke off after 0 of "),
            (
                "/public",
                Manner::CutsWithin(1000),
                "broke off after 1000 of ",
            ),
        ] {
            let error = error(*look_up, route, manner);
            assert_eq!(error.code(), "transport", "{name} {manner:?}: {error}");
            assert!(error.is_retryable(), "{name} {manner:?}: {error}");

            let text = error.to_string();
            assert!(text.contains(expected), "{name} {manner:?}: {text}");
            // The proxy waits for a tenth of a second.
            assert!(!text.contains(" 0.0 s"), "{name} {manner:?}: {text}");
        }
    }
}

#[test]
fn pages_in_place_of_responses_are_named_as_such() {
    let in_place_of_json = "an HTML page: expected JSON of a papir service";
    let in_place_of_bytes = "an HTML page: expected bytes of a papir service";
    for (name, look_up) in CLIENTS {
        for (route, media, expected) in [
            ("/v1/databases", "text/html", in_place_of_json),
            // Some proxies send the page with the type that the client could expect.
            ("/v1/databases", media::JSON, in_place_of_json),
            ("/table", "text/html; charset=utf-8", in_place_of_json),
            (
                "/public",
                "text/html",
                "an HTML page without a papir-version header",
            ),
            ("/query", "text/html", in_place_of_bytes),
        ] {
            let error = error(*look_up, route, Manner::ShowsPage(200, media));
            assert_eq!(error.code(), "unexpected", "{name} {route}: {error}");
            assert!(!error.is_retryable(), "{name} {route}: {error}");
            let text = error.to_string();
            assert!(text.contains(expected), "{name} {route}: {text}");
        }
    }
}

#[test]
fn pages_of_a_proxy_that_does_not_reach_the_service_are_worth_a_retry() {
    for (name, look_up) in CLIENTS {
        for route in ["/v1/databases", "/query"] {
            let error = error(*look_up, route, Manner::ShowsPage(502, "text/html"));
            assert!(error.is_retryable(), "{name} {route}: {error}");
            let text = error.to_string();
            let expected = "HTTP 502 (unknown): an HTML page of a server or proxy";
            assert!(text.contains(expected), "{name} {route}: {text}");
        }
    }
}

#[test]
fn a_page_in_place_of_a_registration_ends_the_lookup_before_its_query() {
    for (name, look_up) in CLIENTS {
        let folder = tempfile::tempdir().unwrap();
        let manner = Manner::ShowsPage(200, "text/html");
        let proxy = FakeProxy::start("/keys", manner, with_long_keys);
        let error = look_up(&proxy.url, &registering(&folder)).unwrap_err();

        assert_eq!(error.code(), "unexpected", "{name}: {error}");
        let asked = proxy.take();
        assert!(
            asked.iter().all(|line| !line.contains("/query")),
            "{name}: {asked:?}"
        );
    }
}
