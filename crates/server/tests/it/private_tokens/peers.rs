//! Requests with private tokens count for their peers.

use std::thread;

use papir_server::{Protection, ServerConfig};
use tempfile::TempDir;

use super::unspent::says_unspent;
use super::{good_token, priced, query, query_url, start_waiting};
use crate::support::faulty::Latch;
use crate::support::{Running, get, send, until};

/// The peer that has saved up tokens.
const FLOODING: &str = "192.0.2.1";
const OTHER_PEER: &str = "192.0.2.2";

/// Returns true if this number of requests waits.
fn wait(server: &Running, count: usize) -> bool {
    let text = get(&format!("{}/metrics", server.url())).body;
    let text = String::from_utf8(text).unwrap();
    let line = format!("papir_requests_waiting {count}");
    text.lines().any(|found| found == line)
}

#[test]
fn a_flood_of_tokens_from_one_peer_gives_way_to_others() {
    let folder = TempDir::new().unwrap();
    let latch = Latch::default();
    let config = ServerConfig {
        max_concurrent: 1,
        max_queued: 2,
        protection: Protection {
            proxies: "127.0.0.0/8".parse().unwrap(),
            ..Protection::default()
        },
        ..priced(&folder)
    };
    let server = start_waiting(config, &latch);
    let body = query(&server);
    let from = |peer: &str| {
        let authorization = good_token();
        let headers = [
            ("authorization", authorization.as_str()),
            ("x-forwarded-for", peer),
        ];
        send("POST", &query_url(&server), &headers, &body)
    };

    thread::scope(|scope| {
        let running = scope.spawn(|| from(FLOODING));
        latch.wait_for(1);
        let flood = [
            scope.spawn(|| from(FLOODING)),
            scope.spawn(|| from(FLOODING)),
        ];
        until("all places are taken", || wait(&server, 2));
        let refused = from(FLOODING);
        assert_eq!((refused.status, refused.code().as_str()), (429, "busy"));
        assert!(says_unspent(&refused));

        let other = scope.spawn(|| from(OTHER_PEER));
        until("one of the flood gives way", || {
            flood.iter().any(|one| one.is_finished())
        });
        latch.release();
        assert_eq!(running.join().unwrap().status, 200);
        assert_eq!(other.join().unwrap().status, 200);
        let mut statuses = flood.map(|one| one.join().unwrap().status);
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 429]);
    });
}
