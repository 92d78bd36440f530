//! The relay of Oblivious HTTP, before a gateway that records every byte.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use papir_testkit::GuardedChild;

use crate::support::{Folder, PATIENCE, fails_with, listening, program};

/// A response of a gateway, with headers that no client may see.
const SEALED: &str = "HTTP/1.1 200 OK\r\ncontent-type: message/ohttp-res\r\ncontent-length: 6\r\n\
    set-cookie: a=b\r\nserver: hidden\r\nx-gateway: hidden\r\nconnection: close\r\n\r\nanswer";
/// Keys of a gateway.
const KEYS: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/ohttp-keys\r\n\
    cache-control: max-age=600\r\ncontent-length: 4\r\nconnection: close\r\n\r\nkeys";
/// The page of a proxy before a gateway.
const PAGE: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\
    connection: close\r\n\r\n<html>";
/// A redirection.
const REDIRECTION: &str = "HTTP/1.1 307 Temporary Redirect\r\nlocation: /elsewhere\r\n\
    content-type: message/ohttp-res\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Headers that tell who a client is.
const HOSTILE: &str = "user-agent: secret/1\r\ncookie: secret=1\r\nforwarded: for=192.0.2.7\r\n\
    x-forwarded-for: 192.0.2.7\r\nx-real-ip: 192.0.2.7\r\nvia: 1.1 secret\r\n\
    authorization: Bearer secret\r\naccept-language: secret\r\ntraceparent: secret\r\n\
    x-request-id: secret\r\nreferer: http://secret/\r\norigin: http://secret\r\n\
    accept: secret/type\r\npapir-client: secret\r\n";

/// A gateway that gives one response to every request.
struct FakeGateway {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakeGateway {
    fn start(response: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let gateway = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            requests: Arc::default(),
        };

        let connections = Arc::clone(&gateway.connections);
        let requests = Arc::clone(&gateway.requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                connections.fetch_add(1, Ordering::SeqCst);

                let requests = Arc::clone(&requests);
                thread::spawn(move || {
                    requests.lock().unwrap().push(read_request(&mut stream));
                    // A relay that refuses the client's body may have closed the connection.
                    let _ = stream.write_all(response.as_bytes());
                });
            }
        });
        gateway
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Reads a request with its body.
fn read_request(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut part = [0; 4096];
    while !is_whole(&text) {
        match stream.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(count) => text.push_str(&String::from_utf8_lossy(&part[..count])),
        }
    }
    text
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let head = head.to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") {
        return body.ends_with("0\r\n\r\n");
    }

    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

/// The names of the headers of a request, in lower case.
fn header_names(request: &str) -> BTreeSet<String> {
    let (head, _) = request.split_once("\r\n\r\n").unwrap();
    head.lines()
        .skip(1)
        .map(|line| line.split(':').next().unwrap().to_ascii_lowercase())
        .collect()
}

fn names(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

/// A running relay; stopped when dropped.
pub(crate) struct RunningRelay {
    child: GuardedChild,
    address: String,
    folder: Folder,
}

impl RunningRelay {
    /// Forwards to these services, with further arguments.
    pub(crate) fn start(services: &[&str], more: &[&str]) -> Self {
        let folder = Folder::new();
        let mut command = program();
        command
            .args(["relay", "--listen", "127.0.0.1:0"])
            .args(more);
        for service in services {
            command.args(["--to", service]);
        }

        let log = File::create(folder.path("log")).unwrap();
        command.stdout(Stdio::piped()).stderr(log);
        let mut child = GuardedChild::spawn(&mut command).unwrap();
        let url = listening(&mut child);
        Self {
            child,
            address: url.strip_prefix("http://").unwrap().to_owned(),
            folder,
        }
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    fn before(gateway: &FakeGateway) -> Self {
        Self::start(&[&format!("http://{}", gateway.address)], &[])
    }

    /// Sends the bytes of a request, and returns the response.
    fn exchange(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();

        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        String::from_utf8(response).unwrap()
    }

    fn get(&self, path: &str) -> String {
        self.exchange(&format!(
            "GET {path} HTTP/1.1\r\nhost: relay\r\nconnection: close\r\n\r\n"
        ))
    }

    /// Sends a sealed request of this type to a gateway, with further headers.
    fn post(&self, authority: &str, media: &str, headers: &str, body: &str) -> String {
        self.exchange(&format!(
            "POST /{authority} HTTP/1.1\r\nhost: relay\r\nconnection: close\r\n{headers}\
             content-type: {media}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    fn post_chunked(&self, authority: &str, headers: &str, body: &str) -> String {
        self.exchange(&format!(
            "POST /{authority} HTTP/1.1\r\nhost: relay\r\nconnection: close\r\n{headers}\
             content-type: message/ohttp-chunked-req\r\ntransfer-encoding: chunked\r\n\r\n\
             {:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        ))
    }

    /// Stops the relay in order, and returns its log.
    #[cfg(unix)]
    fn log(mut self) -> String {
        crate::support::send_to(rustix::process::Signal::TERM, &self.child);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        fs::read_to_string(self.folder.path("log")).unwrap()
    }
}

#[track_caller]
fn is_refused(response: &str, status: u16, code: &str) {
    let line = format!("HTTP/1.1 {status} ");
    assert!(response.starts_with(&line), "{response}");
    assert!(
        response.contains("content-type: application/problem+json"),
        "{response}"
    );
    assert!(
        response.contains(&format!(r#""code":"{code}""#)),
        "{response}"
    );
}

#[test]
fn only_the_type_and_the_body_reach_the_gateway() {
    let gateway = FakeGateway::start(SEALED);
    let authority = gateway.address.to_string();
    let relay = RunningRelay::start(&[&format!("http://{authority}/prefix/")], &[]);

    let response = relay.post(&authority, "message/ohttp-req", HOSTILE, "sealed");
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    assert!(response.ends_with("\r\n\r\nanswer"), "{response}");
    assert!(
        response.contains("content-type: message/ohttp-res"),
        "{response}"
    );
    for hidden in ["set-cookie", "hidden", "x-gateway"] {
        assert!(!response.contains(hidden), "{hidden}: {response}");
    }

    relay.post_chunked(&authority, HOSTILE, "parts");
    let requests = gateway.requests();
    let [whole, chunked] = &requests[..] else {
        panic!("{requests:?}");
    };

    for request in &requests {
        let line = "POST /prefix/.well-known/ohttp-gateway HTTP/1.1\r\n";
        assert!(request.starts_with(line), "{request}");
        assert!(!request.contains("secret"), "{request}");
        assert!(!request.contains("192.0.2.7"), "{request}");
        assert!(request.contains("accept: */*\r\n"), "{request}");
        assert!(
            request.contains(&format!("host: {authority}\r\n")),
            "{request}"
        );
    }
    let sent = names(&["accept", "content-length", "content-type", "host"]);
    assert_eq!(header_names(whole), sent);
    assert!(whole.contains("content-type: message/ohttp-req\r\n"));
    assert!(whole.ends_with("\r\n\r\nsealed"), "{whole}");

    let sent = names(&["accept", "content-type", "host", "transfer-encoding"]);
    assert_eq!(header_names(chunked), sent);
    assert!(chunked.contains("content-type: message/ohttp-chunked-req\r\n"));
    assert!(chunked.contains("parts"), "{chunked}");
}

#[test]
fn keys_are_fetched_once_for_all_clients() {
    let gateway = FakeGateway::start(KEYS);
    let relay = RunningRelay::before(&gateway);
    let path = format!("/{}", gateway.address);

    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let response = relay.get(&path);
                    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
                    assert!(response.contains("application/ohttp-keys"), "{response}");
                    assert!(
                        response.contains("cache-control: public, max-age="),
                        "{response}"
                    );
                    assert!(response.ends_with("\r\n\r\nkeys"), "{response}");
                }
            });
        }
    });

    let requests = gateway.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    let line = "GET /.well-known/ohttp-gateway HTTP/1.1\r\n";
    assert!(requests[0].starts_with(line), "{requests:?}");
    assert_eq!(header_names(&requests[0]), names(&["accept", "host"]));
}

#[test]
fn a_relay_connects_to_listed_gateways_only() {
    let gateway = FakeGateway::start(SEALED);
    let other = FakeGateway::start(SEALED);
    let relay = RunningRelay::before(&gateway);
    let authority = gateway.address.to_string();
    let media = "message/ohttp-req";

    for unlisted in [&*other.address.to_string(), "localhost", "h.example:443"] {
        let response = relay.post(unlisted, media, "", "sealed");
        is_refused(&response, 404, "unknown_gateway");
        let response = relay.get(&format!("/{unlisted}"));
        is_refused(&response, 404, "unknown_gateway");
    }
    is_refused(
        &relay.post(&format!("{authority}/more"), media, "", "sealed"),
        404,
        "unknown_route",
    );
    is_refused(
        &relay.post(&authority, "text/plain", "", "sealed"),
        415,
        "wrong_type",
    );
    is_refused(
        &relay.post("healthz", media, "", "sealed"),
        405,
        "wrong_method",
    );
    assert_eq!(gateway.connections() + other.connections(), 0);

    // A client may escape the colon.
    let escaped = authority.replace(':', "%3A");
    let response = relay.post(&escaped, media, "", "sealed");
    assert!(response.ends_with("answer"), "{response}");
    assert_eq!((gateway.connections(), other.connections()), (1, 0));
}

#[test]
fn no_proxy_carries_plain_requests_to_a_service() {
    let to = [
        "relay",
        "--to",
        "http://127.0.0.1:9",
        "--listen",
        "127.0.0.1:0",
    ];
    let arguments = [&to[..], &["--proxy", "socks5://127.0.0.1:9"]].concat();
    fails_with(&arguments, &["--proxy", "https://"]);
}

#[test]
fn bodies_above_the_limit_are_refused() {
    let gateway = FakeGateway::start(SEALED);
    let authority = gateway.address.to_string();
    let url = format!("http://{authority}");
    let relay = RunningRelay::start(&[&url], &["--max-request", "1KiB"]);
    let long = "x".repeat(2000);

    let response = relay.post(&authority, "message/ohttp-req", "", &long);
    is_refused(&response, 413, "too_long");
    assert_eq!(gateway.connections(), 0, "its length was announced");
    let response = relay.post_chunked(&authority, "", &long);
    is_refused(&response, 413, "too_long");

    let response = relay.post(&authority, "message/ohttp-req", "", &long[..1024]);
    assert!(response.ends_with("answer"), "{response}");
}

#[test]
fn what_is_no_response_of_a_gateway_is_not_passed_on() {
    for response in [PAGE, REDIRECTION] {
        let gateway = FakeGateway::start(response);
        let authority = gateway.address.to_string();
        let relay = RunningRelay::before(&gateway);

        let response = relay.post(&authority, "message/ohttp-req", "", "sealed");
        is_refused(&response, 502, "bad_gateway");
        assert!(response.contains(&authority), "{response}");
        assert!(!response.contains("<html>") && !response.contains("elsewhere"));
        assert_eq!(gateway.connections(), 1, "a redirection was followed");

        is_refused(&relay.get(&format!("/{authority}")), 502, "bad_gateway");
    }
}

#[test]
fn a_relay_goes_on_while_a_gateway_is_away() {
    let gateway = FakeGateway::start(SEALED);
    // Nothing listens on port 1.
    let away = "127.0.0.1:1";
    let relay = RunningRelay::start(
        &[
            &format!("http://{away}"),
            &format!("http://{}", gateway.address),
        ],
        &[],
    );

    for _ in 0..3 {
        let response = relay.post(away, "message/ohttp-req", "", "sealed");
        is_refused(&response, 502, "bad_gateway");
        assert!(response.contains(away), "{response}");
        is_refused(&relay.get(&format!("/{away}")), 502, "bad_gateway");
    }

    let alive = relay.get("/healthz");
    assert!(alive.starts_with("HTTP/1.1 200 "), "{alive}");
    let authority = gateway.address.to_string();
    let response = relay.post(&authority, "message/ohttp-req", "", "sealed");
    assert!(response.ends_with("answer"), "{response}");
}

#[test]
fn pages_of_every_origin_may_send_sealed_requests() {
    let gateway = FakeGateway::start(SEALED);
    let authority = gateway.address.to_string();
    let relay = RunningRelay::before(&gateway);

    let preflight = relay.exchange(&format!(
        "OPTIONS /{authority} HTTP/1.1\r\nhost: relay\r\nconnection: close\r\n\
         origin: https://app.example\r\naccess-control-request-method: POST\r\n\
         access-control-request-headers: content-type\r\n\r\n"
    ));
    let response = relay.post(
        &authority,
        "message/ohttp-req",
        "origin: https://app.example\r\n",
        "sealed",
    );
    for answer in [&preflight, &response] {
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(
            answer.contains("access-control-allow-origin: *\r\n"),
            "{answer}"
        );
        assert!(!answer.contains("allow-credentials"), "{answer}");
    }
}

#[cfg(unix)]
#[test]
fn the_log_names_no_client_and_no_bodies() {
    let gateway = FakeGateway::start(PAGE);
    // By its name, so that the address of this machine is only that of clients.
    let authority = format!("localhost:{}", gateway.address.port());
    let relay = RunningRelay::start(&[&format!("http://{authority}")], &[]);
    let media = "message/ohttp-req";

    relay.post(&authority, media, HOSTILE, "secret body");
    relay.post("secret.example", media, HOSTILE, "secret body");
    relay.get(&format!("/{authority}"));

    let log = relay.log();
    for expected in [
        "relay started",
        "relay stopping",
        "bad_gateway",
        "status=404",
    ] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
    for hidden in ["secret", "127.0.0.1", "192.0.2.7", "ohttp-req"] {
        assert!(!log.contains(hidden), "{hidden}: {log}");
    }
}
