//! Overload, slow and vanished clients, and answers that panic.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::faulty::{Fault, FaultyDatabase, Latch};
use crate::support::process::{open_files, runs_alone};
use crate::support::{
    self, Running, config, get, lookup, own_address, post, prepared, record, records, rng, until,
};
use papir_server::{Database, Protection, ServerConfig};

/// A service with one table of 50 records and faulty answers.
fn faulty(config: ServerConfig, fault: Fault) -> Running {
    let server = FaultyDatabase {
        inner: prepared("plain", &records(50)),
        scheme: 0,
        fault,
    };
    Running::start(config, vec![Database::new("table", Box::new(server), None)])
}

/// A service that waits very long for headers, and for requests when it stops.
fn patient() -> ServerConfig {
    let long = Duration::from_secs(600);
    let protection = Protection {
        header_timeout: long,
        ..Protection::default()
    };
    ServerConfig {
        protection,
        stop_timeout: long,
        ..config()
    }
}

fn query_url(server: &Running) -> String {
    format!("{}/v1/databases/table/query", server.url())
}

fn query(server: &Running) -> Vec<u8> {
    lookup(&server.url(), "table")
        .prepare_index(7, &mut rng())
        .unwrap()
        .queries()
        .concat()
}

fn metrics(server: &Running) -> String {
    String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap()
}

/// The number of query requests that ended with this code.
fn count(server: &Running, code: &str) -> u64 {
    let name = format!("papir_query_requests_total{{database=\"table\",code=\"{code}\"}} ");
    let text = metrics(server);
    let found = text
        .lines()
        .find_map(|line| line.strip_prefix(name.as_str()));
    found.map_or(0, |number| number.parse().unwrap())
}

#[test]
fn requests_beyond_capacity_are_told_to_retry() {
    let latch = Latch::default();
    let config = ServerConfig {
        max_concurrent: 1,
        max_queued: 2,
        ..config()
    };
    let server = faulty(config, Fault::Wait(latch.clone()));
    let url = query_url(&server);
    let body = query(&server);
    thread::scope(|scope| {
        let post = || post(&url, &body);
        let first = scope.spawn(post);
        latch.wait_for(1);
        let later: Vec<_> = (0..8).map(|_| scope.spawn(post)).collect();
        // Six of eight are refused. The two that wait can end only after the latch is released.
        until("six are refused", || {
            later.iter().filter(|one| one.is_finished()).count() >= 6
        });
        assert_eq!(
            get(&format!("{}/healthz", server.url())).status,
            200,
            "the rest of the service answers"
        );
        latch.release();
        let replies: Vec<_> = later.into_iter().map(|one| one.join().unwrap()).collect();
        let refused: Vec<_> = replies.iter().filter(|reply| reply.status == 429).collect();
        assert_eq!(refused.len(), 6);
        for reply in refused {
            assert_eq!(reply.code(), "busy");
            assert_eq!(reply.header("retry-after"), Some("1"));
        }
        assert_eq!(
            replies.iter().filter(|reply| reply.status == 200).count(),
            2
        );
        assert_eq!(first.join().unwrap().status, 200);
    });
    assert_eq!(post(&url, &body).status, 200, "permits are released");
}

#[test]
fn a_client_waits_as_long_as_a_busy_server_advises() {
    let latch = Latch::default();
    let config = ServerConfig {
        max_concurrent: 1,
        max_queued: 0,
        ..config()
    };
    let server = faulty(config, Fault::Wait(latch.clone()));
    let url = query_url(&server);
    let body = query(&server);
    let mut connection = support::open(&server.url(), None).unwrap();
    thread::scope(|scope| {
        let first = scope.spawn(|| post(&url, &body));
        latch.wait_for(1);
        let second = scope.spawn(move || (Instant::now(), connection.get_index(3)));
        // Once or, if this machine is slow, already again.
        until("the second is refused", || count(&server, "busy") >= 1);
        latch.release();
        let (start, got) = second.join().unwrap();
        assert_eq!(got.unwrap(), record(3));
        assert!(
            start.elapsed() >= Duration::from_secs(1),
            "the client retried before the advised second was over"
        );
        assert_eq!(first.join().unwrap().status, 200);
    });
}

#[test]
fn a_panic_is_an_internal_error_and_the_service_continues() {
    let server = faulty(config(), Fault::Panic);
    let url = query_url(&server);
    let body = query(&server);
    for _ in 0..70 {
        let reply = post(&url, &body);
        assert_eq!((reply.status, reply.code().as_str()), (500, "internal"));
        assert!(
            !reply.json().to_string().contains("on purpose"),
            "the panic's message is not revealed"
        );
    }
    let table = Database::new("table", prepared("plain", &records(50)), None);
    server.handle.replace(table).unwrap();
    assert_eq!(
        support::open(&server.url(), None)
            .unwrap()
            .get_index(4)
            .unwrap(),
        record(4)
    );
}

#[test]
fn a_slow_body_times_out() {
    let server = faulty(
        ServerConfig {
            body_timeout: Duration::from_millis(300),
            ..config()
        },
        Fault::Honest,
    );
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let head =
        "POST /v1/databases/table/query HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\nfive!";
    stream.write_all(head.as_bytes()).unwrap();
    let mut reply = String::new();
    // A read error means that the server did not give up.
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 408 "), "{reply}");
    assert!(reply.contains("\"code\":\"too_slow\""), "{reply}");
}

/// Uploads hold no place, so a hundred that never end leave the only place to others. Runs in its own
/// process, whose connections count as open files; where few are allowed, the uploads are fewer.
#[test]
fn bodies_that_trickle_keep_nobody_waiting() {
    if !runs_alone("pressure::bodies_that_trickle_keep_nobody_waiting") {
        return;
    }
    let uploads = (open_files() / 8).min(100);
    let config = ServerConfig {
        max_concurrent: 1,
        max_queued: 0,
        ..config()
    };
    let server = faulty(config, Fault::Honest);
    let head = "POST /v1/databases/table/query HTTP/1.1\r\nhost: x\r\ncontent-length: 17\r\n\r\nx";
    let trickling: Vec<TcpStream> = (0..uploads)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    let mut connection = support::open(&server.url(), None).unwrap();
    for index in 0..20 {
        assert_eq!(connection.get_index(index).unwrap(), record(index));
    }
    // A refusal would make the client wait.
    assert_eq!((count(&server, "ok"), count(&server, "busy")), (20, 0));
    drop(trickling);
}

#[test]
fn a_full_memory_for_bodies_refuses_and_recovers() {
    let latch = Latch::default();
    let length = query(&faulty(config(), Fault::Honest)).len();
    let config = ServerConfig {
        max_concurrent: 1,
        max_upload_bytes: 2 * length,
        ..config()
    };
    let server = faulty(config, Fault::Wait(latch.clone()));
    let url = query_url(&server);
    let body = query(&server);
    thread::scope(|scope| {
        let first = scope.spawn(|| post(&url, &body));
        latch.wait_for(1);
        // The body of the running request fills the client's share.
        let refused = post(&url, &body);
        assert_eq!((refused.status, refused.code().as_str()), (429, "busy"));
        assert!(metrics(&server).contains(&format!("papir_upload_bytes {}\n", body.len())));
        latch.release();
        assert_eq!(first.join().unwrap().status, 200);
    });
    assert_eq!(post(&url, &body).status, 200);
}

#[test]
fn vanished_clients_free_their_permits() {
    let latch = Latch::default();
    let config = ServerConfig {
        max_concurrent: 2,
        max_queued: 0,
        ..config()
    };
    let server = faulty(config, Fault::Wait(latch.clone()));
    let body = query(&server);
    let head = format!(
        "POST /v1/databases/table/query HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    // One client disconnects while sending its body, one while its answer is computed.
    let mut half = TcpStream::connect(server.address).unwrap();
    half.write_all(head.as_bytes()).unwrap();
    half.write_all(&body[..10]).unwrap();
    drop(half);
    let mut whole = TcpStream::connect(server.address).unwrap();
    whole.write_all(head.as_bytes()).unwrap();
    whole.write_all(&body).unwrap();
    latch.wait_for(1);
    drop(whole);
    latch.release();
    let mut connection = support::open(&server.url(), None).unwrap();
    for i in 0..20 {
        assert_eq!(connection.get_index(i).unwrap(), record(i));
    }
}

#[test]
fn a_stop_finishes_running_requests_and_accepts_no_new_ones() {
    let latch = Latch::default();
    let body_timeout = Duration::from_secs(600);
    let config = ServerConfig {
        listen: own_address(),
        body_timeout,
        ..patient()
    };
    let mut server = faulty(config, Fault::Wait(latch.clone()));
    let url = query_url(&server);
    let body = query(&server);
    // A silent connection does not delay the stop.
    let _silent = TcpStream::connect(server.address).unwrap();
    thread::scope(|scope| {
        let running = scope.spawn(|| post(&url, &body));
        latch.wait_for(1);
        server.begin_stop();
        until("connections are refused", || {
            TcpStream::connect(server.address).is_err()
        });
        assert!(!running.is_finished());
        latch.release();
        assert_eq!(running.join().unwrap().status, 200);
    });
    let start = Instant::now();
    server.finish();
    // Waiting for the silent connection would take all the time that it has.
    assert!(
        start.elapsed() < Duration::from_secs(300),
        "stopping took {:?}",
        start.elapsed()
    );
}

#[test]
fn an_incomplete_request_delays_a_stop_only_briefly() {
    let config = ServerConfig {
        body_timeout: Duration::from_millis(200),
        ..patient()
    };
    let server = faulty(config, Fault::Honest);
    let mut half = TcpStream::connect(server.address).unwrap();
    half.write_all(b"GET /healthz HTTP/1.1\r\nho").unwrap();
    // Connections are accepted in their order, so the incomplete one was before this one.
    assert_eq!(get(&format!("{}/healthz", server.url())).status, 200);

    let start = Instant::now();
    server.finish();
    assert!(
        start.elapsed() < Duration::from_secs(300),
        "stopping took {:?}",
        start.elapsed()
    );
}
