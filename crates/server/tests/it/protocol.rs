//! HTTP/2 without TLS, by prior knowledge, with handwritten frames.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{
    Running, config, get, indexed, lookup, prepared, record, records, rng, send, until,
};
use papir_server::{Database, ServerConfig};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A frame (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Request headers: `method` is 0x82 for GET, 0x83 for POST (RFC 7541, appendix A).
fn headers(method: u8, path: &str) -> Vec<u8> {
    let mut block = vec![method, 0x86, 0x04, path.len() as u8];
    block.extend_from_slice(path.as_bytes());
    block.extend_from_slice(b"\x01\x04papi");
    block
}

/// The first byte of the response headers and the body, for each stream.
fn replies(stream: &mut TcpStream, streams: usize) -> BTreeMap<u32, (u8, Vec<u8>)> {
    let mut replies: BTreeMap<u32, (u8, Vec<u8>)> = BTreeMap::new();
    let mut ended = 0;
    while ended < streams {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let number = u32::from_be_bytes(head[5..].try_into().unwrap());
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).unwrap();
        match head[3] {
            HEADERS => replies.entry(number).or_default().0 = payload[0],
            DATA => replies
                .entry(number)
                .or_default()
                .1
                .extend_from_slice(&payload),
            GOAWAY => panic!("refused: {payload:?}"),
            _ => continue,
        }
        ended += usize::from(head[4] & END_STREAM);
    }
    replies
}

#[test]
fn two_requests_share_an_http2_connection() {
    let server = Running::start(config(), vec![indexed("table", "plain", 50)]);
    let pending = lookup(&server.url(), "table")
        .prepare_index(7, &mut rng())
        .unwrap();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let messages = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(SETTINGS, 0, 0, &[]),
        frame(
            HEADERS,
            END_HEADERS,
            1,
            &headers(0x83, "/v1/databases/table/query"),
        ),
        frame(
            HEADERS,
            END_HEADERS | END_STREAM,
            3,
            &headers(0x82, "/v1/databases"),
        ),
        frame(DATA, END_STREAM, 1, &pending.queries()[0]),
    ];
    stream.write_all(&messages.concat()).unwrap();
    let mut replies = replies(&mut stream, 2);
    // 0x88 is ":status: 200".
    assert_eq!((replies[&1].0, replies[&3].0), (0x88, 0x88));
    let list: serde_json::Value = serde_json::from_slice(&replies[&3].1).unwrap();
    assert_eq!(list["databases"][0]["name"], "table");
    let answer = replies.remove(&1).unwrap().1;
    assert_eq!(pending.finish(&[answer]).unwrap(), Some(record(7)));
}

/// The longest unfinished headers that a service keeps for a connection.
const HEADER_BYTES: usize = 32 << 10;

#[test]
fn unfinished_headers_are_bounded() {
    let server = Running::start(config(), vec![indexed("table", "plain", 50)]);
    let begin = "GET /healthz HTTP/1.1\r\nhost: x\r\nx-long: ";
    let answered = |length: usize, end: &str| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let headers = [begin, &"a".repeat(length), end].concat();
        stream.write_all(headers.as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        String::from_utf8_lossy(&status).into_owned()
    };

    assert_eq!(answered(HEADER_BYTES / 2, "\r\n\r\n"), "HTTP/1.1 200");
    // Refused although they do not end. Not a byte more is sent: unread ones would reset the
    // connection.
    let longest = HEADER_BYTES - begin.len();
    assert_eq!(answered(longest, ""), "HTTP/1.1 431");
}

/// Requests on all streams of one connection, whose responses the client does not let the service
/// send.
fn unread(server: &Running, path: &str, client: &str) -> TcpStream {
    const STREAMS: u32 = 32;
    // INITIAL_WINDOW_SIZE is 0.
    let mut messages = vec![
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]),
    ];

    let mut block = headers(0x82, path);
    for text in ["x-forwarded-for", client] {
        if text != client {
            block.push(0);
        }
        block.push(text.len() as u8);
        block.extend_from_slice(text.as_bytes());
    }
    for number in 0..STREAMS {
        let whole = END_HEADERS | END_STREAM;
        messages.push(frame(HEADERS, whole, 2 * number + 1, &block));
    }

    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(&messages.concat()).unwrap();
    stream
}

#[test]
fn responses_that_are_not_read_take_the_clients_share_of_memory() {
    // The least memory that descriptions have, of which one client has a quarter.
    const SHARE: usize = (16 << 20) / 4;
    const STREAM_BYTES: usize = 4 << 10;
    let mut config = ServerConfig {
        max_upload_bytes: 1 << 20,
        body_timeout: Duration::from_secs(300),
        ..config()
    };
    config.protection.proxies = "127.0.0.0/8".parse().unwrap();
    let named = |number: u32| {
        let name = format!("{number:0>120}");
        Database::new(&name, prepared("plain", &records(1)), None)
    };
    let server = Running::start(config, (0..300).map(named).collect());
    let list = |client: &str| {
        let url = format!("{}/v1/databases", server.url());
        send("GET", &url, &[("x-forwarded-for", client)], &[])
    };
    let held = || {
        let metrics = get(&format!("{}/metrics", server.url())).body;
        let metrics = String::from_utf8(metrics).unwrap();
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix("papir_description_bytes "));
        line.unwrap().parse::<usize>().unwrap()
    };

    let each = list("10.0.0.2").body.len() + STREAM_BYTES;
    let most = SHARE / each;
    let connections: Vec<TcpStream> = (0..most / 32 + 2)
        .map(|_| unread(&server, "/v1/databases", "10.0.0.1"))
        .collect();
    until("the client's share is used up", || held() == most * each);

    let refused = list("10.0.0.1");
    assert_eq!((refused.status, refused.code().as_str()), (429, "busy"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(list("10.0.0.2").status, 200, "another client");
    assert_eq!(get(&format!("{}/healthz", server.url())).status, 200);

    // Bodies that all responses share take their streams only.
    drop(connections);
    until("the memory is free again", || held() == 0);
    let _shared = unread(&server, "/openapi.json", "10.0.0.1");
    until("streams are counted", || held() == 32 * STREAM_BYTES);
}
