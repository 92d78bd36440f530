//! Per-client limits, and slow connections.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::faulty::{Fault, FaultyDatabase, Latch};
use crate::support::process::{open_files, runs_alone};
use crate::support::secured::{dial, exchange, source, token};
use crate::support::{
    self, Running, config, get, indexed, lookup, post, prepared, record, records, rng, send, until,
};
use chacha20::ChaCha20Rng;
use papir_core::scheme::Goal;
use papir_core::{NoProgress, RecordBuffer};
use papir_server::{ClientLimits, Database, Protection, Scope, ServerConfig};
use rand_core::SeedableRng;
use tempfile::TempDir;

fn limited(limits: ClientLimits) -> ServerConfig {
    ServerConfig {
        protection: Protection {
            limits,
            ..Protection::default()
        },
        ..config()
    }
}

fn rate(text: &str, burst: u32) -> ClientLimits {
    ClientLimits {
        rate: Some(text.parse().unwrap()),
        burst,
        per_client: 0,
    }
}

#[test]
fn beyond_the_rate_a_client_is_told_when_to_retry() {
    let server = Running::start(limited(rate("1/h", 3)), vec![indexed("table", "plain", 50)]);
    let url = format!("{}/v1/databases/table/public", server.url());
    for _ in 0..3 {
        assert_eq!(get(&url).status, 200);
    }
    let reply = get(&url);
    assert_eq!((reply.status, reply.code().as_str()), (429, "too_many"));
    let after: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((3000..=3600).contains(&after), "{after}");
    for free in [
        "/healthz",
        "/metrics",
        "/v1/databases",
        "/v1/databases/table",
    ] {
        assert_eq!(
            get(&format!("{}{free}", server.url())).status,
            200,
            "{free} is not counted"
        );
    }
}

#[test]
fn a_request_is_refused_before_its_body_is_sent() {
    let server = Running::start(limited(rate("1/h", 1)), vec![indexed("table", "plain", 50)]);
    assert_eq!(
        get(&format!("{}/v1/databases/table/public", server.url())).status,
        200
    );
    let head = "POST /v1/databases/table/query HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\
                expect: 100-continue\r\nconnection: close\r\n\r\n";
    let reply = exchange(server.address, head);
    assert!(
        reply.starts_with("HTTP/1.1 429 ") && reply.contains("retry-after: "),
        "{reply}"
    );
}

#[test]
fn each_query_of_a_batch_counts() {
    let server = Running::start(limited(rate("1/h", 5)), vec![indexed("table", "plain", 50)]);
    let lookup = lookup(&server.url(), "table");
    let query = lookup
        .prepare_index(7, &mut rng())
        .unwrap()
        .queries()
        .concat();
    let url = format!("{}/v1/databases/table/query", server.url());
    // The public part cost one request and the batch three: one is left.
    assert_eq!(post(&url, &query.repeat(3)).status, 200);
    assert_eq!(post(&url, &query).status, 200);
    assert_eq!(post(&url, &query).status, 429);
}

#[test]
fn clients_behind_a_trusted_proxy_are_limited_separately() {
    let start = |proxies: &str| {
        let mut config = limited(rate("1/h", 1));
        config.protection.proxies = proxies.parse().unwrap();
        Running::start(config, vec![indexed("table", "plain", 50)])
    };
    let ask = |server: &Running, forwarded: &str| {
        let headers = [("x-forwarded-for", forwarded)];
        send(
            "GET",
            &format!("{}/v1/databases/table/public", server.url()),
            &headers,
            b"",
        )
        .status
    };
    let trusted = start("127.0.0.0/8");
    let other = start("10.0.0.0/8");
    let asked = [
        "1.1.1.1",
        "1.1.1.1",
        "2.2.2.2",
        "3.3.3.3, 2.2.2.2",
        "me",
        "2.2.2.2, 127.0.0.9",
    ];
    assert_eq!(
        asked.map(|forwarded| ask(&trusted, forwarded)),
        [200, 429, 200, 429, 400, 429]
    );
    assert_eq!(
        asked.map(|forwarded| ask(&other, forwarded)),
        [200, 429, 429, 429, 429, 429]
    );
}

#[test]
fn tokens_are_limited_separately() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tokens.toml");
    let tokens: Vec<_> = ["a", "b"]
        .map(|name| token(&file, name, &[Scope::Query], None))
        .into();
    let mut config = limited(rate("1/h", 2));
    config.protection.tokens = source(&file);
    let server = Running::start(config, vec![indexed("table", "plain", 50)]);
    let ask = |token: &str| {
        let value = format!("Bearer {token}");
        let url = format!("{}/v1/databases/table/public", server.url());
        send("GET", &url, &[("authorization", &value)], b"").status
    };
    assert_eq!(
        [ask(&tokens[0]), ask(&tokens[0]), ask(&tokens[0])],
        [200, 200, 429]
    );
    assert_eq!(
        [ask("nobody"), ask("nobody"), ask("nobody")],
        [401, 401, 401]
    );
    assert_eq!(
        [ask(&tokens[1]), ask(&tokens[1]), ask(&tokens[1])],
        [200, 200, 429]
    );
}

#[test]
fn the_client_waits_as_long_as_advised() {
    let server = Running::start(limited(rate("2/s", 1)), vec![indexed("table", "plain", 50)]);
    // Public part and query exceed the burst.
    let mut connection = support::open(&server.url(), None).unwrap();
    assert_eq!(connection.get_index(7).unwrap(), record(7));
}

#[test]
fn concurrent_requests_count_until_they_are_answered() {
    let latch = Latch::default();
    let limits = ClientLimits {
        per_client: 1,
        ..ClientLimits::default()
    };
    let faulty = FaultyDatabase {
        inner: prepared("plain", &records(50)),
        scheme: 0,
        fault: Fault::Wait(latch.clone()),
    };
    let config = ServerConfig {
        max_concurrent: 2,
        ..limited(limits)
    };
    let server = Running::start(config, vec![Database::new("table", Box::new(faulty), None)]);
    let body = lookup(&server.url(), "table")
        .prepare_index(7, &mut rng())
        .unwrap()
        .queries()
        .concat();
    let url = format!("{}/v1/databases/table/query", server.url());
    let head = format!(
        "POST /v1/databases/table/query HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut vanishing = dial(server.address);
    vanishing
        .write_all(&[head.as_bytes(), &body].concat())
        .unwrap();
    latch.wait_for(1);
    assert_eq!(post(&url, &body).status, 429);
    // Disconnecting while the answer is computed gains nothing.
    drop(vanishing);
    until("the service knows that the client is gone", || {
        let metrics = String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap();
        metrics.contains("code=\"abandoned\"} 1\n")
    });
    let refused = post(&url, &body);
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("1"))
    );
    latch.release();
    until("the request is no longer counted", || {
        post(&url, &body).status == 200
    });
}

/// Short time limits for headers and for receiving responses, so that slow clients are cut off
/// soon. Tests whose clients must not be cut off do not use it: on a loaded machine any thread can
/// be slow.
fn short_timeouts() -> ServerConfig {
    let protection = Protection {
        header_timeout: Duration::from_millis(400),
        ..Protection::default()
    };
    ServerConfig {
        protection,
        body_timeout: Duration::from_millis(600),
        ..config()
    }
}

#[test]
fn slow_headers_are_cut_off() {
    let server = Running::start(short_timeouts(), vec![indexed("table", "plain", 50)]);
    for request in [
        "GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut stream = dial(server.address);
        let begin = Instant::now();
        let mut bytes = request.bytes().chain(std::iter::repeat(b'a'));
        // The connection is closed when a byte can no longer be sent.
        while stream.write_all(&[bytes.next().unwrap()]).is_ok() {
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "the connection stays open: {request}"
            );
            sleep(Duration::from_millis(40));
        }
    }
}

#[test]
fn an_idle_connection_is_closed_after_the_header_timeout() {
    // Only the time for headers is short: the response has all the time it needs.
    let config = ServerConfig {
        body_timeout: Duration::from_secs(300),
        ..short_timeouts()
    };
    let server = Running::start(config, vec![indexed("table", "plain", 50)]);
    // On a loaded machine it may be cut off before it sends anything; then retry.
    let spoken = (0..20).any(|_| {
        let mut stream = dial(server.address);
        let mut reply = String::new();
        let sent = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
        let ended = stream.read_to_string(&mut reply);
        let silent = matches!(&ended, Err(error) if error.kind() == ErrorKind::WouldBlock);
        assert!(!silent, "the idle connection was open after a minute");
        sent.is_ok() && ended.is_ok() && reply.starts_with("HTTP/1.1 200 ")
    });
    assert!(spoken);
}

/// Runs in its own process, whose connections count as open files. Where few of them are allowed, the
/// connections are fewer than a thousand.
#[test]
fn a_thousand_idle_connections_do_not_block_others() {
    if !runs_alone("limits::a_thousand_idle_connections_do_not_block_others") {
        return;
    }
    // For a moment, as many are open on the server's side as on this one.
    let accepted = (open_files() / 8).min(200);
    let kept = accepted * 5 / 2;
    let opened = accepted * 5;
    let protection = Protection {
        header_timeout: Duration::from_secs(600),
        max_connections: accepted,
        ..Protection::default()
    };
    let config = ServerConfig {
        protection,
        body_timeout: Duration::from_secs(300),
        ..config()
    };
    let server = Running::start(config, vec![indexed("table", "plain", 50)]);

    // None is used. Half of them stay open on this side, and a fifth at most on the server's.
    let mut idle = VecDeque::new();
    for count in 1..=opened {
        idle.push_back(dial(server.address));
        if idle.len() > kept {
            idle.pop_front();
        }
        if count % (opened / 4) == 0 {
            let mut connection = support::open(&server.url(), None).unwrap();
            assert_eq!(
                connection.get_index(7).unwrap(),
                record(7),
                "after {count} connections"
            );
        }
    }

    let is_closed = |mut stream: TcpStream| {
        stream.set_nonblocking(true).unwrap();
        !matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
    };
    let closed = || {
        idle.iter()
            .filter(|stream| is_closed(stream.try_clone().unwrap()))
            .count()
    };
    until("half of the connections are closed", || {
        closed() >= kept / 2
    });
}

/// Two records of 256 KiB. The version is always the same.
fn large() -> Database {
    let table = RecordBuffer::from_records((0..2).map(|_| vec![7; 256 << 10])).unwrap();
    let scheme = papir_schemes::registry::by_name("plain").unwrap();
    let scheme = scheme.allow_insecure(papir_core::NotPrivate::acknowledged());
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    Database::new(
        "table",
        scheme
            .setup(&table, Goal::default(), &mut rng, &NoProgress)
            .unwrap(),
        None,
    )
}

/// A request for the largest batch of [`large`], and the length of its answer: more than the socket buffers of
/// both sides hold.
fn largest_batch(server: &Running) -> (Vec<u8>, usize) {
    let query = lookup(&server.url(), "table")
        .prepare_index(1, &mut rng())
        .unwrap()
        .queries()
        .concat();
    let info = get(&format!("{}/v1/databases/table", server.url())).json();
    let batch = info["max_batch"].as_u64().unwrap() as usize;
    let answer = batch * info["sizes"]["answer"].as_u64().unwrap() as usize;
    assert!(answer > 12 << 20, "{answer}");
    let body = query.repeat(batch);
    let head = format!(
        "POST /v1/databases/table/query HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    ([head.as_bytes(), &body].concat(), answer)
}

#[test]
fn answers_that_are_not_received_take_memory() {
    // No stall of this machine may cut off the client that receives nothing.
    let body_timeout = Duration::from_secs(300);
    let config = ServerConfig {
        max_upload_bytes: 20 << 20,
        body_timeout,
        ..config()
    };
    let server = Running::start(config, vec![large()]);
    let (request, answer) = largest_batch(&server);
    let send = || {
        let mut stream = dial(server.address);
        stream.write_all(&request).unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        (String::from_utf8_lossy(&head).into_owned(), stream)
    };
    let (first, mut slow) = send();
    assert_eq!(first, "HTTP/1.1 200");
    assert_eq!(send().0, "HTTP/1.1 429");
    let metrics = String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap();
    assert!(
        metrics.contains(&format!("papir_answer_bytes {answer}\n")),
        "{metrics}"
    );
    let mut taken = Vec::new();
    slow.read_to_end(&mut taken).unwrap();
    assert!(taken.len() > answer);
    assert_eq!(send().0, "HTTP/1.1 200");
}

#[test]
fn a_stop_finishes_responses_that_are_being_sent() {
    let mut server = Running::start(config(), vec![large()]);
    let (request, answer) = largest_batch(&server);
    let mut stream = dial(server.address);
    stream.write_all(&request).unwrap();
    let mut part = vec![0; 1 << 20];
    let mut taken = 0;
    stream.read_exact(&mut part).unwrap();
    server.begin_stop();
    while taken < answer {
        sleep(Duration::from_millis(50));
        match stream.read(&mut part).unwrap() {
            0 => break,
            read => taken += read,
        }
    }
    stream.read_to_end(&mut part).unwrap();
    assert!(
        taken + part.len() > answer,
        "{taken} and {} bytes",
        part.len()
    );
    server.finish();
}

#[test]
fn a_response_that_the_peer_does_not_receive_is_aborted() {
    let server = Running::start(config(), vec![large()]);
    let (request, answer) = largest_batch(&server);
    let ask = |server: &Running| {
        let mut stream = dial(server.address);
        stream.write_all(&request).ok()?;
        let mut status = [0; 12];
        stream.read_exact(&mut status).ok()?;
        (status == *b"HTTP/1.1 200").then_some(stream)
    };
    let rest = |mut stream: TcpStream| {
        let mut taken = Vec::new();
        // A connection that is cut off may also be reset.
        let _ = stream.read_to_end(&mut taken);
        taken.len()
    };
    let prompt = rest(ask(&server).unwrap());
    assert!(prompt > answer, "{prompt} bytes");

    let config = ServerConfig {
        body_timeout: Duration::from_millis(600),
        ..config()
    };
    let impatient = Running::start(config, vec![large()]);
    // On a machine that stalls, the request may be cut off before its response begins; then retry.
    let stream = (0..20).find_map(|_| ask(&impatient)).unwrap();
    until("the service gives up", || {
        let metrics = String::from_utf8(get(&format!("{}/metrics", impatient.url())).body).unwrap();
        metrics.contains("papir_answer_bytes 0\n")
    });
    let late = rest(stream);
    assert!(late < answer, "{late} bytes");
}

/// An HTTP/2 frame.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let head = [0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream];
    [&head[..], payload].concat()
}

#[test]
fn an_http_2_peer_that_pings_but_receives_no_response_is_cut_off() {
    let server = Running::start(short_timeouts(), vec![indexed("table", "plain", 50)]);
    // SETTINGS with an initial window of 0; HEADERS of stream 1: GET, http, the path, :authority x.
    let path = b"/v1/databases";
    let fields = [
        &[0x82, 0x86, 0x04, path.len() as u8][..],
        path,
        &[0x01, 1],
        b"x",
    ]
    .concat();
    let begin = [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        &frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]),
        &frame(1, 0x05, 1, &fields),
    ]
    .concat();
    let mut stream = dial(server.address);
    let start = Instant::now();
    // The connection is closed when a ping can no longer be sent.
    let mut sent = stream.write_all(&begin);
    while sent.is_ok() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "the connection stays open"
        );
        sleep(Duration::from_millis(50));
        sent = stream.write_all(&frame(6, 0, 0, &[7; 8]));
    }
    let mut taken = Vec::new();
    // Responses sent before, which the reset may have discarded.
    let _ = stream.read_to_end(&mut taken);
    assert!(
        taken.is_empty() || taken.windows(9).any(|part| part[3..] == [1, 4, 0, 0, 0, 1]),
        "HEADERS came"
    );
}
