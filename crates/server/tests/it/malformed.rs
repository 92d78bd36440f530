//! Malformed requests.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::{self, Running, config, get, indexed, lookup, record, rng};
use rand_core::{Rng, SeedableRng};

/// Total requests, from four clients with persistent connections.
const REQUESTS: usize = 10_000;
const CLIENTS: usize = 4;

/// A malformed request.
fn malformed(random: &mut impl Rng, query: &[u8]) -> Vec<u8> {
    let mut below = |end: usize| random.next_u32() as usize % end;
    let mut body = match below(4) {
        // Random bytes of any length, up to beyond the limit.
        0 => vec![0xa5; below(query.len() * 70)],
        // A truncated query, or one followed by other bytes.
        1 => query[..below(query.len())].to_vec(),
        2 => [query, &vec![0; 1 + below(40)]].concat(),
        _ => query.to_vec(),
    };
    // A valid query with a flipped bit.
    if !body.is_empty() {
        let place = below(body.len());
        body[place] ^= 1 << below(8);
    }
    let name = ["table", "table", "table", "other", "%ff", "..%2f"][below(6)];
    let method = ["POST", "POST", "POST", "POST", "PUT", "GET", "BREW"][below(7)];
    let extra = [
        "",
        "papir-version: seven\r\n",
        "x-request-id: {}\"\r\n",
        "papir-version: \u{ff}\r\n",
    ][below(4)];
    let length = body.len();
    let head = format!(
        "{method} /v1/databases/{name}/query HTTP/1.1\r\nhost: x\r\n{extra}content-length: {length}\r\n\r\n"
    );
    [head.into_bytes(), body].concat()
}

/// Reads one response and returns its status; `None` if the connection is closed.
fn response(stream: &mut TcpStream) -> Option<u16> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    stream
        .read_exact(&mut vec![0; length.map_or(0, |text| text.parse().unwrap())])
        .ok()?;
    head.split(' ').nth(1).unwrap().parse().ok()
}

#[test]
fn the_server_survives_ten_thousand_malformed_requests() {
    let server = Running::start(config(), vec![indexed("table", "plain", 100)]);
    let query = lookup(&server.url(), "table")
        .prepare_index(7, &mut rng())
        .unwrap()
        .queries()
        .concat();
    let answered = AtomicUsize::new(0);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let query = &query;
            let address = server.address;
            let answered = &answered;
            scope.spawn(move || {
                let mut random = chacha20::ChaCha20Rng::seed_from_u64(client as u64);
                let mut stream = TcpStream::connect(address).unwrap();
                for number in 0..REQUESTS / CLIENTS {
                    let request = malformed(&mut random, query);
                    // The server may close the connection after an error.
                    let status = stream
                        .write_all(&request)
                        .ok()
                        .and_then(|()| response(&mut stream));
                    match status {
                        Some(status) => {
                            assert!((400..500).contains(&status), "{number}: {status}");
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        None => stream = TcpStream::connect(address).unwrap(),
                    }
                }
            });
        }
    });
    let answered = answered.into_inner();
    assert!(
        answered > REQUESTS / 2,
        "only {answered} requests received an error response"
    );
    let mut connection = support::open(&server.url(), None).unwrap();
    assert_eq!(connection.get_index(42).unwrap(), record(42));
    let metrics = String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap();
    assert!(!metrics.contains("code=\"internal\""), "{metrics}");
    assert!(metrics.contains("papir_requests_queued 0\n"), "{metrics}");
}

/// Bytes that are not HTTP are refused or dropped, and block nothing.
#[test]
fn bytes_that_are_not_http_are_refused() {
    let server = Running::start(config(), vec![indexed("table", "plain", 100)]);
    let mut random = chacha20::ChaCha20Rng::seed_from_u64(7);
    for round in 0..200 {
        let mut bytes = vec![0; 1 + random.next_u32() as usize % 300];
        random.fill_bytes(&mut bytes);
        let head: &[u8] = [
            &b""[..],
            b"GET /healthz HTTP/1.1\r\nhost",
            b"POST / HTTP/9.9\r\n",
            b"\r\n\r\n",
        ][round % 4];
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let _ = stream.write_all(&[head, &bytes].concat());
        let _ = stream.shutdown(Shutdown::Write);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        assert!(
            reply.is_empty() || reply.starts_with(b"HTTP/1.1 4"),
            "{}",
            String::from_utf8_lossy(&reply)
        );
    }
    assert_eq!(get(&format!("{}/healthz", server.url())).status, 200);
}
