//! HTTP/2 without TLS, by prior knowledge, with handwritten frames.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{Running, config, indexed, lookup, record, rng};

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
