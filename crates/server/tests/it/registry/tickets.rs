//! Tickets: one query each, whatever is asked, and in parallel.

use std::thread;
use std::time::{Duration, Instant};

use papir_core::envelope::{self, Header, Kind};
use papir_core::scheme::SENT_AHEAD;
use papir_server::Database;
use tempfile::TempDir;

use crate::support::clients::{
    SMALL, assert_answered_once, prepared_stateful, registered, registry, start, start_with,
};
use crate::support::faulty::{Fault, FaultyDatabase, Latch};
use crate::support::{self, Running, send};

#[test]
fn only_the_identical_query_is_answered_again() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut client = registered(&server);
    let backup = client.registration().save_state(&client.state).unwrap();
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
    client.state = client.registration().load_state(&backup).unwrap();
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
    refuses_wrong_headers(&server, &client.id, &query.bytes);
    refuses_wrong_queries(&server, &client.id, &query.bytes);
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

/// Checks that a query with these headers is refused with a status and a code.
#[track_caller]
fn refuses(server: &Running, headers: &[(&str, &str)], body: &[u8], refusal: (u16, &str)) {
    let url = format!("{}/v1/databases/table/query", server.url());
    let reply = send("POST", &url, headers, body);
    let found = (reply.status, reply.code());
    assert_eq!((found.0, found.1.as_str()), refusal, "{headers:?}");
}

/// A valid query of a client, with ids and numbers that are missing or wrong.
fn refuses_wrong_headers(server: &Running, id: &str, query: &[u8]) {
    let own = ("papir-client", id);
    let unknown = "0".repeat(32);
    for (headers, refusal) in [
        (vec![], (400, "no_client")),
        (vec![("papir-client", "nobody")], (400, "malformed")),
        (
            vec![("papir-client", unknown.as_str())],
            (410, "client_gone"),
        ),
        (vec![own], (400, "ticket_count")),
        (vec![own, ("papir-ticket", "0,1")], (400, "ticket_count")),
        (vec![own, ("papir-ticket", "-1")], (400, "malformed")),
        (vec![own, ("papir-ticket", "+0")], (400, "malformed")),
        (vec![own, ("papir-ticket", "00")], (400, "malformed")),
        (
            vec![own, ("papir-ticket", "18446744073709551615")],
            (410, "ticket_used"),
        ),
    ] {
        refuses(server, &headers, query, refusal);
    }
}

/// A query of a client that is damaged, and one for another version.
fn refuses_wrong_queries(server: &Running, id: &str, query: &[u8]) {
    let own = ("papir-client", id);
    let number = ("papir-ticket", "0");
    let damaged = [&query[..20], &[query[20] ^ 1], &query[21..]].concat();
    refuses(server, &[own, number], &damaged, (400, "wrong_length"));

    let header = Header {
        kind: Kind::Query,
        scheme: 0xfff0,
        version: papir_core::Version([9; 8]),
    };
    let old = envelope::seal(&header, &query[24..query.len() - 8]);
    let unknown = "0".repeat(32);
    let of_unknown = [("papir-client", unknown.as_str()), number];
    refuses(server, &of_unknown, &old, (410, "client_gone"));
    refuses(server, &[own], &old, (409, "wrong_version"));
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

/// The service has seen both queries, although it answers neither.
#[test]
fn a_number_of_the_wrong_kind_leaves_no_other_unclaimed() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut client = registered(&server);
    client.wait_for("tickets_ready", 1);
    let queries = [client.query(7), client.query(8)];
    let other = client.query(9);
    let body = [&queries[0].bytes[..], &queries[1].bytes].concat();

    // The second query is whole, so its number cannot be that of a key that was sent ahead.
    let refused = client.ask_with(&format!("0,{}", SENT_AHEAD + 1), &body);
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (410, "ticket_used")
    );
    assert_eq!(client.status()["next_ticket"], 1);

    let second = client.ask_with("0", &other.bytes);
    assert_eq!(
        (second.status, second.code().as_str()),
        (410, "ticket_used"),
        "the number belongs to the first query"
    );
    assert_eq!(client.ask_with("0", &queries[0].bytes).status, 200);
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
            let backup = client.registration().save_state(&client.state).unwrap();
            let query = client.query(index);
            client.state = client.registration().load_state(&backup).unwrap();
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
    assert_answered_once(&statuses);
}
