//! Registered clients: keys, tickets, quotas, expiry and persistence.

use std::thread;
use std::time::{Duration, Instant};

use crate::support::clients::{
    Client, SMALL, clients_url, prepared_stateful, registered, registry, start, start_with,
    stateful, unregistered,
};
use crate::support::faulty::{Fault, FaultyDatabase, Latch};
use crate::support::{self, Running, config, get, indexed, post, send};
use papir_core::envelope::{self, Header, Kind};
use papir_server::{Database, Error, RegistryConfig, ServerConfig, StoredRegistry};
use tempfile::TempDir;

fn gone(client: &Client) -> bool {
    let reply = get(&client.at(""));
    assert!(reply.status == 200 || (reply.status == 410 && reply.code() == "client_gone"));
    reply.status == 410
}

#[test]
fn a_registered_client_queries_and_its_status_reflects_it() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut client = registered(&server);
    client.wait_for("tickets_ready", 1);
    let status = client.status();
    assert_eq!(
        (&status["status"], &status["keys_bytes"]),
        (&"registered".into(), &(SMALL + 32).into())
    );
    assert_eq!(
        (&status["next_ticket"], &status["tickets_ahead"]),
        (&0.into(), &1.into())
    );
    let month = 30 * 24 * 3600;
    assert_eq!(
        status["expires"].as_u64().unwrap() - status["used"].as_u64().unwrap(),
        month
    );
    for index in [0, 49, 7, 7, 20, 3] {
        client.check(index);
    }
    client.wait_for("tickets_ready", 4);
    assert_eq!(
        (
            &client.status()["next_ticket"],
            &client.status()["tickets_used"]
        ),
        (&6.into(), &6.into())
    );
    assert_eq!(client.status()["tickets_ahead"], 4);

    let metrics = String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap();
    for (name, state, count) in [
        ("clients", "registered", 1),
        ("clients", "uploading", 0),
        ("tickets", "ready", 4),
        ("tickets", "used", 6),
    ] {
        let line = format!("papir_{name}{{database=\"table\",state=\"{state}\"}} {count}\n");
        assert!(metrics.contains(&line), "no {line} in {metrics}");
    }

    assert_eq!(send("DELETE", &client.at(""), &[], &[]).status, 204);
    assert!(gone(&client));
    assert_eq!(
        send("DELETE", &client.at(""), &[], &[]).code(),
        "client_gone"
    );
    let query = client.query(1);
    assert_eq!(client.ask(&query).code(), "client_gone");
}

#[test]
fn only_the_identical_query_is_answered_again() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut client = registered(&server);
    let backup = client.client.save_state(&client.state).unwrap();
    let first = client.query(7);
    let reply = client.ask(&first);
    assert_eq!(reply.status, 200);
    for _ in 0..2 {
        assert!(
            client.ask(&first).body == reply.body,
            "a retry returns the same bytes"
        );
    }
    // The previous state, as in a restored backup: a different query with the same ticket.
    client.state = client.client.load_state(&backup).unwrap();
    let second = client.query(8);
    assert_eq!((first.ticket, second.ticket), (0, 0));
    let refused = client.ask(&second);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (410, "ticket_used")
    );
    assert!(
        client.ask(&first).body == reply.body,
        "the refusal changed nothing"
    );
    client.check(9);
}

#[test]
fn a_refused_query_uses_no_ticket() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut client = registered(&server);
    let other = registered(&server);
    client.wait_for("tickets_ready", 1);
    other.wait_for("tickets_ready", 1);
    let query = client.query(7);
    let url = format!("{}/v1/databases/table/query", server.url());
    let code = |headers: &[(&str, &str)], body: &[u8]| {
        let reply = send("POST", &url, headers, body);
        (reply.status, reply.code())
    };
    let id = ("papir-client", client.id.as_str());
    let damaged = [
        &query.bytes[..20],
        &[query.bytes[20] ^ 1],
        &query.bytes[21..],
    ]
    .concat();
    let header = Header {
        kind: Kind::Query,
        scheme: 0xfff0,
        version: papir_core::Version([9; 8]),
    };
    let old = envelope::seal(&header, &query.bytes[24..query.bytes.len() - 8]);
    for (headers, body, expected) in [
        (vec![], &query.bytes, (400, "no_client")),
        (
            vec![("papir-client", "nobody")],
            &query.bytes,
            (400, "malformed"),
        ),
        (
            vec![("papir-client", &*"0".repeat(32))],
            &query.bytes,
            (410, "client_gone"),
        ),
        (vec![id], &query.bytes, (400, "ticket_count")),
        (
            vec![id, ("papir-ticket", "0,1")],
            &query.bytes,
            (400, "ticket_count"),
        ),
        (
            vec![id, ("papir-ticket", "-1")],
            &query.bytes,
            (400, "malformed"),
        ),
        (
            vec![id, ("papir-ticket", "0")],
            &damaged,
            (400, "wrong_length"),
        ),
        (
            vec![("papir-client", &*"0".repeat(32)), ("papir-ticket", "0")],
            &old,
            (410, "client_gone"),
        ),
        (vec![id], &old, (409, "wrong_version")),
        (
            vec![id, ("papir-ticket", "18446744073709551615")],
            &query.bytes,
            (410, "ticket_used"),
        ),
    ] {
        let found = code(&headers, body);
        assert_eq!((found.0, found.1.as_str()), expected, "{headers:?}");
    }
    assert_eq!(client.status()["tickets_used"], 0);
    // A number with another client's id: numbers belong to one client, so both tickets stay unused.
    let theirs = other.ask_with("0", &query.bytes);
    assert!(
        theirs.status == 200,
        "the same number is another ticket of theirs"
    );
    client.check(1);
    assert_eq!(
        (
            client.status()["tickets_used"].clone(),
            other.status()["tickets_used"].clone()
        ),
        (1.into(), 1.into())
    );
}

/// The service has seen such a query, although it answers none of its version.
#[test]
fn a_query_for_another_version_claims_the_number() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut client = registered(&server);
    let queries = [client.query(7), client.query(8), client.query(9)];
    let version = papir_core::Version([9; 8]);
    let header = Header {
        kind: Kind::Query,
        scheme: 0xfff0,
        version,
    };
    let seal = |bytes: &[u8]| envelope::seal(&header, &bytes[24..bytes.len() - 8]);
    let url = format!("{}/v1/databases/table/query", server.url());
    let ask = |named: &[(&str, &str)], number: &str, body: &[u8]| {
        let client = [
            ("papir-client", client.id.as_str()),
            ("papir-ticket", number),
        ];
        let reply = send("POST", &url, &[&client[..], named].concat(), body);
        if reply.status == 200 {
            "answered".to_owned()
        } else {
            reply.code()
        }
    };
    // By the query's envelope, and by the header, before the body is read.
    assert_eq!(ask(&[], "0", &seal(&queries[0].bytes)), "wrong_version");
    assert_eq!(client.status()["next_ticket"], 1);
    assert_eq!(
        ask(
            &[("papir-version", &version.to_string())],
            "1",
            &queries[1].bytes
        ),
        "wrong_version"
    );
    assert_eq!(
        (
            &client.status()["next_ticket"],
            &client.status()["tickets_used"]
        ),
        (&2.into(), &2.into())
    );
    for number in ["0", "1"] {
        assert_eq!(ask(&[], number, &queries[0].bytes), "ticket_used");
    }
    client.wait_for("tickets_ready", 4);
    assert_eq!(ask(&[], "2", &queries[2].bytes), "answered");
    assert_eq!(
        ask(
            &[("papir-version", &version.to_string())],
            "2",
            &queries[2].bytes
        ),
        "wrong_version"
    );
    assert_eq!(
        ask(&[], "2", &queries[2].bytes),
        "answered",
        "the first claim stays"
    );
}

/// Queries may be lost before the service sees them, so that a client is far ahead. From the first
/// query with it, even a refused one, a number belongs to that query.
#[test]
fn a_query_that_waits_for_its_ticket_claims_the_number() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut client = registered(&server);
    client.wait_for("tickets_ready", 1);
    (0..77).for_each(|_| drop(client.query(1)));
    let query = client.query(7);
    let other = client.query(8);
    let ask = |bytes: &[u8]| {
        let reply = client.ask_with("77", bytes);
        if reply.status == 200 {
            "answered".to_owned()
        } else {
            reply.code()
        }
    };
    assert_eq!(ask(&query.bytes), "no_ticket");
    assert_eq!(
        ask(&other.bytes),
        "ticket_used",
        "before the ticket is prepared"
    );
    assert_eq!(client.status()["next_ticket"], 78);
    let start = Instant::now();
    while ask(&query.bytes) == "no_ticket" {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "the ticket was not prepared"
        );
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(
        (ask(&query.bytes).as_str(), ask(&other.bytes).as_str()),
        ("answered", "ticket_used")
    );
}

#[test]
fn each_query_of_a_request_uses_one_ticket() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut client = registered(&server);
    client.check(1);
    client.wait_for("tickets_ready", 4);
    let queries = [client.query(3), client.query(5), client.query(7)];
    let body: Vec<u8> = queries
        .iter()
        .flat_map(|query| query.bytes.clone())
        .collect();
    let reply = client.ask_with("1, 2,3", &body);
    assert_eq!(reply.status, 200);
    let answers = reply.body.chunks(reply.body.len() / 3);
    for ((query, answer), index) in queries.into_iter().zip(answers).zip([3, 5, 7]) {
        assert_eq!(
            client.client.extract(query.secret, answer).unwrap(),
            [support::record(index)]
        );
    }
    assert_eq!(client.status()["tickets_used"], 4);
}

#[test]
fn rejected_keys_leave_no_trace() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let client = unregistered(&server);
    let url = clients_url(&server);
    let mut bad = client.keys.clone();
    bad[40] ^= 1;
    let payload: Vec<u8> = bad[24..bad.len() - 8].to_vec();
    let version = client.client.version();
    let sealed = |kind, scheme| {
        envelope::seal(
            &Header {
                kind,
                scheme,
                version,
            },
            &payload,
        )
    };
    for (body, code) in [
        (bad.clone(), "checksum"),
        (sealed(Kind::Keys, 0xfff0), "malformed"),
        (sealed(Kind::Keys, 3), "wrong_scheme"),
        (sealed(Kind::Query, 0xfff0), "malformed"),
        (client.keys[1..].to_vec(), "wrong_length"),
        ([&client.keys[..], &[0]].concat(), "wrong_length"),
        (Vec::new(), "wrong_length"),
    ] {
        let reply = post(&url, &body);
        assert_eq!((reply.status, reply.code().as_str()), (400, code));
    }
    for (length, code) in [
        ("431", "wrong_length"),
        ("18446744073709551615", "wrong_length"),
        ("x", "malformed"),
    ] {
        let reply = send("POST", &url, &[("papir-upload-length", length)], &[]);
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (400, code),
            "{length}"
        );
    }
    let list = get(&url).json();
    assert_eq!(
        (
            list["clients"].as_array().unwrap().len(),
            &list["counts"]["bytes"]
        ),
        (0, &0.into())
    );
    assert_eq!(
        std::fs::read_dir(directory.path().join("keys"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn keys_for_another_version_are_refused_before_their_length_is_checked() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let old = unregistered(&server);
    let version = old.client.version().to_string();
    let newest = server
        .handle
        .replace(stateful(SMALL + 8, 2))
        .unwrap()
        .to_string();
    let length = old.keys.len().to_string();
    let post =
        |headers: &[(&str, &str)], body: &[u8]| send("POST", &clients_url(&server), headers, body);
    for reply in [
        post(&[("papir-version", &version)], &old.keys),
        post(
            &[
                ("papir-version", &version),
                ("papir-upload-length", &length),
            ],
            &[],
        ),
    ] {
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (409, "wrong_version")
        );
        assert_eq!(reply.header("papir-version"), Some(newest.as_str()));
    }
    assert_eq!(post(&[], &old.keys).code(), "wrong_length");
    assert_eq!(
        post(&[("papir-version", "seven")], &old.keys).code(),
        "malformed"
    );
    let new = unregistered(&server);
    assert_eq!(post(&[("papir-version", &newest)], &new.keys).status, 201);
}

#[test]
fn an_upload_resumes_even_after_a_restart() {
    let directory = TempDir::new().unwrap();
    let large = 9 << 20;
    let server = start_with(registry(directory.path()), stateful(large, 1));
    let mut client = unregistered(&server);
    assert_eq!(
        (client.register().status, client.register().code().as_str()),
        (413, "too_long")
    );
    client.begin();
    let part = client.status()["part_bytes"].as_u64().unwrap() as usize;
    assert_eq!(client.part(0, part + 1).code(), "too_long");
    assert_eq!(client.part(0, part).status, 200);
    let wrong = client.part(0, 100);
    assert_eq!((wrong.status, wrong.code().as_str()), (409, "wrong_offset"));
    assert_eq!(
        wrong.header("papir-upload-offset"),
        Some(part.to_string().as_str())
    );
    let query = client.query(0);
    let early = client.ask_with("0", &query.bytes);
    assert_eq!(
        (early.status, early.code().as_str()),
        (409, "upload_incomplete")
    );
    server.finish();

    let server = start_with(registry(directory.path()), stateful(large, 1));
    let mut client = client.moved_to(&server);
    let head = send("HEAD", &client.at("/keys"), &[], &[]);
    assert_eq!(
        head.header("papir-upload-offset"),
        Some(part.to_string().as_str())
    );
    assert_eq!(
        head.header("papir-upload-length"),
        Some(client.keys.len().to_string().as_str())
    );
    assert_eq!(client.part(part, 2 * part).status, 200);
    assert_eq!(client.status()["status"], "uploading");
    assert_eq!(
        client.part(2 * part, client.keys.len()).json()["status"],
        "registered"
    );
    assert_eq!(
        client.part(2 * part, client.keys.len()).code(),
        "already_registered"
    );
    assert_eq!(client.ask(&query).status, 200);
    client.check(8);
}

#[test]
fn an_empty_part_changes_nothing() {
    let directory = TempDir::new().unwrap();
    let server = start_with(registry(directory.path()), stateful(100_000, 1));
    let mut client = unregistered(&server);
    client.begin();
    assert_eq!(
        [client.part(0, 0).status, client.part(0, 0).status],
        [200; 2]
    );
    assert_eq!(
        client.part(0, client.keys.len()).json()["status"],
        "registered"
    );
}

#[test]
fn a_client_is_not_removed_by_way_of_another_database() {
    let directory = TempDir::new().unwrap();
    let config = ServerConfig {
        registry: Some(registry(directory.path())),
        ..config()
    };
    let other = Database::new("other", prepared_stateful(SMALL, 2), None);
    let server = Running::start(config, vec![stateful(SMALL, 1), other]);
    let mut client = registered(&server);
    let elsewhere = format!("{}/v1/databases/other/clients/{}", server.url(), client.id);
    assert_eq!(send("DELETE", &elsewhere, &[], &[]).code(), "client_gone");
    assert_eq!(
        std::fs::read_dir(directory.path().join("keys"))
            .unwrap()
            .count(),
        1
    );
    client.check(3);
}

#[test]
fn a_damaged_part_is_detected_at_the_end_of_an_upload() {
    let directory = TempDir::new().unwrap();
    let server = start_with(registry(directory.path()), stateful(100_000, 1));
    let mut client = unregistered(&server);
    client.begin();
    assert_eq!(client.part(0, 50_000).status, 200);
    client.keys[70_000] ^= 1;
    let refused = client.part(50_000, client.keys.len());
    assert_eq!((refused.status, refused.code().as_str()), (400, "checksum"));
    assert!(gone(&client));
    assert_eq!(
        std::fs::read_dir(directory.path().join("keys"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn a_registry_survives_a_restart() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut client = registered(&server);
    let used = client.query(7);
    let reply = client.ask(&used);
    let backup = client.client.save_state(&client.state).unwrap();
    client.wait_for("tickets_ready", 4);
    let status = client.status();
    server.finish();

    let server = start(registry(directory.path()));
    let mut client = client.moved_to(&server);
    assert_eq!(client.status(), status);
    assert!(
        client.ask(&used).body == reply.body,
        "a retry after a restart"
    );
    let other = client.query(8);
    let stolen = client.ask_with("0", &other.bytes);
    assert_eq!(stolen.code(), "ticket_used");
    client.state = client.client.load_state(&backup).unwrap();
    client.check(9);
}

#[test]
fn a_new_version_keeps_compatible_keys_and_refuses_others() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut client = registered(&server);
    client.check(1);
    client.wait_for("tickets_ready", 4);
    let old = client.query(2);
    server.handle.replace(stateful(SMALL, 2)).unwrap();
    assert_eq!(client.ask(&old).code(), "wrong_version");
    let state = client.client.save_state(&client.state).unwrap();
    let fresh = unregistered(&server);
    client.state = fresh.client.load_state(&state).unwrap();
    client.client = fresh.client;
    client.check(3);
    assert_eq!(
        client.status()["next_ticket"],
        3,
        "a number is used in one version only"
    );

    server.handle.replace(stateful(SMALL + 1, 3)).unwrap();
    let mut moved = unregistered(&server);
    moved.id.clone_from(&client.id);
    let named = moved.client.version().to_string();
    let status = send("GET", &moved.at(""), &[("papir-version", &named)], &[]);
    assert_eq!(
        (status.status, status.code().as_str()),
        (410, "client_gone")
    );
    let query = moved.query(4);
    let reply = moved.ask_with("9", &query.bytes);
    assert_eq!((reply.status, reply.code().as_str()), (410, "client_gone"));
    // The version that accepted the keys may still be answered, so the client stays until it
    // expires.
    assert!(!gone(&moved));
}

#[test]
fn clients_expire_and_a_full_registry_refuses_others() {
    let directory = TempDir::new().unwrap();
    let short = RegistryConfig {
        upload_ttl: Duration::from_millis(1),
        ..registry(directory.path())
    };
    let server = start(short.clone());
    let mut client = unregistered(&server);
    client.begin();
    let start_time = Instant::now();
    while !gone(&client) {
        assert!(
            start_time.elapsed() < Duration::from_secs(60),
            "the upload did not expire"
        );
    }
    server.finish();

    let server = start(RegistryConfig {
        max_clients: 2,
        ..registry(directory.path())
    });
    let mut first = registered(&server);
    let second = registered(&server);
    first.check(1);
    let third = unregistered(&server);
    let refused = third.register();
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (429, "registry_full")
    );
    // The second client will have had its 10 minutes for a query.
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((500..=600).contains(&wait), "{wait}");
    assert!(
        !gone(&first) && !gone(&second),
        "clients that are in use stay"
    );
    assert_eq!(send("DELETE", &second.at(""), &[], &[]).status, 204);
    assert_eq!(third.register().status, 201);
    server.finish();

    // A client has 432 bytes of keys. Both are of one network, which may have a quarter.
    let other = registry(&directory.path().join("other"));
    let server = start(RegistryConfig {
        max_bytes: 1700,
        ..other
    });
    let _fourth = registered(&server);
    let fifth = unregistered(&server);
    assert_eq!(fifth.register().code(), "registry_full");
    server.finish();

    let server = start(RegistryConfig {
        max_bytes: 100,
        ..registry(&directory.path().join("small"))
    });
    let reply = unregistered(&server).register();
    assert_eq!((reply.status, reply.code().as_str()), (413, "over_quota"));
}

#[test]
fn tickets_have_a_share_of_the_time_while_queries_run() {
    let directory = TempDir::new().unwrap();
    let latch = Latch::default();
    let waiting = |fault| FaultyDatabase {
        inner: prepared_stateful(SMALL, 1),
        scheme: 0xfff0,
        fault,
    };
    let server = start_with(
        registry(directory.path()),
        Database::new("table", Box::new(waiting(Fault::Honest)), None),
    );
    let mut client = registered(&server);
    client.check(9);
    client.wait_for("tickets_ready", 4);
    let table = Database::new("table", Box::new(waiting(Fault::Wait(latch.clone()))), None);
    server.handle.replace(table).unwrap();
    let queries: Vec<_> = (0..4).map(|index| client.query(index)).collect();
    let late = client.query(9);
    let sender = client.sender();
    let first = queries[0].bytes.clone();
    thread::scope(|scope| {
        let asked = scope.spawn(|| sender.ask(1, &first).status);
        latch.wait_for(1);
        // Ticket 5 is prepared, although the first query is running.
        let begin = Instant::now();
        while client.status()["tickets_ready"] != 4 && begin.elapsed() < Duration::from_secs(90) {
            thread::sleep(Duration::from_millis(5));
        }
        let ready = client.status()["tickets_ready"].clone();
        latch.release();
        assert_eq!(asked.join().unwrap(), 200);
        assert_eq!(ready, 4);
    });
    assert_eq!(client.ask(&late).status, 200);
}

#[test]
fn a_query_of_another_version_is_told_the_newest() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let client = registered(&server);
    let other = send(
        "GET",
        &client.at(""),
        &[("papir-version", "0123456789abcdef")],
        &[],
    );
    assert_eq!(
        (other.status, other.code().as_str()),
        (409, "wrong_version")
    );
}

#[test]
fn clients_query_in_parallel() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    thread::scope(|scope| {
        for number in 0..4u64 {
            let server = &server;
            scope.spawn(move || {
                let mut client = registered(server);
                (0..5).for_each(|i| client.check(number * 10 + i));
            });
        }
    });
    let mut client = registered(&server);
    let queries: Vec<_> = (0..8)
        .map(|index| client.query(index))
        .map(|one| (one.ticket, one.bytes))
        .collect();
    let sender = client.sender();
    thread::scope(|scope| {
        // In reverse: numbers may arrive in any order.
        for (ticket, bytes) in queries.iter().rev() {
            scope.spawn(|| assert_eq!(sender.ask(*ticket, bytes).status, 200));
        }
    });
    assert_eq!(client.status()["next_ticket"], 8);
    let racing: Vec<_> = (0..4)
        .map(|index| {
            let backup = client.client.save_state(&client.state).unwrap();
            let query = client.query(index);
            client.state = client.client.load_state(&backup).unwrap();
            query
        })
        .collect();
    let racing: Vec<_> = racing
        .into_iter()
        .map(|one| (one.ticket, one.bytes))
        .collect();
    let statuses: Vec<u16> = thread::scope(|scope| {
        let ask = |(ticket, bytes): &(u64, Vec<u8>)| sender.ask(*ticket, bytes).status;
        let all: Vec<_> = racing
            .iter()
            .map(|one| scope.spawn(move || ask(one)))
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(
        statuses.iter().filter(|status| **status == 200).count(),
        1,
        "{statuses:?}"
    );
    assert_eq!(
        statuses.iter().filter(|status| **status == 410).count(),
        3,
        "{statuses:?}"
    );
}

#[test]
fn the_list_of_clients_is_reserved_for_the_operator() {
    let directory = TempDir::new().unwrap();
    let server = start(RegistryConfig {
        allow_list: false,
        ..registry(directory.path())
    });
    let reply = get(&clients_url(&server));
    assert_eq!((reply.status, reply.code().as_str()), (403, "not_allowed"));
    let mut client = registered(&server);
    client.check(1);
    client.wait_for("tickets_ready", 4);
    assert!(
        StoredRegistry::open(&registry(directory.path()).place).is_err(),
        "a running service has it open"
    );
    server.finish();

    let offline = StoredRegistry::open(&registry(directory.path()).place).unwrap();
    let databases = offline.list().unwrap();
    let [(name, counts, clients)] = databases.as_slice() else {
        panic!("{databases:?}")
    };
    assert_eq!(
        (name.as_str(), clients[0].id.as_str()),
        ("table", client.id.as_str())
    );
    assert_eq!(
        (counts.registered, counts.tickets_ready, counts.tickets_used),
        (1, 4, 1)
    );
    assert_eq!(counts.bytes, SMALL + 32 + 5 * (8 + 16 + 24));
    assert!(offline.evict(&client.id).unwrap() && !offline.evict(&client.id).unwrap());
    drop(offline);
    let server = start(registry(directory.path()));
    assert!(gone(&client.moved_to(&server)));
    assert!(StoredRegistry::open(&registry(&directory.path().join("none")).place).is_err());
}

#[test]
fn databases_without_client_keys_and_services_without_a_registry_refuse_clients() {
    let directory = TempDir::new().unwrap();
    let config = ServerConfig {
        registry: Some(registry(directory.path())),
        ..config()
    };
    let server = Running::start(config, vec![indexed("table", "plain", 10)]);
    for reply in [
        post(&clients_url(&server), b"keys"),
        get(&clients_url(&server)),
    ] {
        assert_eq!((reply.status, reply.code().as_str()), (404, "no_registry"));
    }
    let refused = Running::try_start(support::config(), vec![stateful(SMALL, 1)]);
    let error = refused.err().unwrap();
    assert!(matches!(error, Error::NeedsRegistry { .. }), "{error}");
    assert!(error.to_string().contains("--registry"), "{error}");
    let plain = Running::start(support::config(), vec![indexed("table", "plain", 10)]);
    assert!(matches!(
        plain.handle.replace(stateful(SMALL, 1)),
        Err(Error::NeedsRegistry { .. })
    ));
}

#[test]
#[ignore = "long"]
fn keys_of_200_mib_are_registered() {
    let directory = TempDir::new().unwrap();
    let server = start_with(registry(directory.path()), stateful(200 << 20, 1));
    let mut client = unregistered(&server);
    client.begin();
    let start = Instant::now();
    let part = client.status()["part_bytes"].as_u64().unwrap() as usize;
    for offset in (0..client.keys.len()).step_by(part) {
        assert_eq!(
            client
                .part(offset, client.keys.len().min(offset + part))
                .status,
            200
        );
    }
    println!("uploaded and accepted in {:?}", start.elapsed());
    client.check(3);
    server.finish();
    let server = start_with(registry(directory.path()), stateful(200 << 20, 1));
    let mut client = client.moved_to(&server);
    let start = Instant::now();
    client.check(4);
    println!("first answer after a restart in {:?}", start.elapsed());
    let start = Instant::now();
    client.check(5);
    println!("second in {:?}", start.elapsed());
}
