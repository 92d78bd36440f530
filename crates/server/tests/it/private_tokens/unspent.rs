//! Refusals that spend no token.

use std::thread;

use papir_server::ServerConfig;
use tempfile::TempDir;

use super::{ask, assert_refused, good_token, priced, query, query_url, start, start_waiting};
use crate::support::faulty::Latch;
use crate::support::{Reply, send, until};

#[test]
fn tokens_are_not_lost_to_a_database_that_is_unknown() {
    let folder = TempDir::new().unwrap();
    let server = start(priced(&folder));
    let body = query(&server);
    let token = good_token();

    let url = format!("{}/v1/databases/other/query", server.url());
    let headers = [("authorization", token.as_str())];
    let reply = send("POST", &url, &headers, &body);
    assert_eq!(reply.code(), "unknown_database");
    assert!(says_unspent(&reply));

    // The service has no set.
    let url = format!("{}/v1/psi/evaluate", server.url());
    let reply = send("POST", &url, &headers, &[7; 32]);
    assert_eq!(reply.code(), "unknown_route");
    assert!(says_unspent(&reply));
    assert_eq!(ask(&server, &body, &token).status, 200);
}

/// Returns true if a refusal says that the token of its request is unspent.
pub(super) fn says_unspent(reply: &Reply) -> bool {
    let json = reply.json();
    let said = json.get("token_unspent");
    said.is_some_and(|said| said.as_bool().unwrap())
}

#[test]
fn a_busy_service_spends_no_token_and_says_so() {
    let folder = TempDir::new().unwrap();
    let latch = Latch::default();
    let config = ServerConfig {
        max_concurrent: 1,
        max_queued: 0,
        ..priced(&folder)
    };
    let server = start_waiting(config, &latch);
    let body = query(&server);
    let used = good_token();
    let kept = good_token();

    thread::scope(|scope| {
        let first = scope.spawn(|| ask(&server, &body, &used));
        latch.wait_for(1);
        for _ in 0..3 {
            let refused = ask(&server, &body, &kept);
            assert_eq!((refused.status, refused.code().as_str()), (429, "busy"));
            assert!(says_unspent(&refused));
        }
        latch.release();
        assert_eq!(first.join().unwrap().status, 200);
    });
    let refused = ask(&server, &body, &used);
    assert_refused(&refused, "token_spent");
    assert!(!says_unspent(&refused));
    // A request may give its place back after its answer.
    until("there is room", || ask(&server, &body, &kept).status == 200);

    // A request that is refused later has spent its token.
    let short = &body[..body.len() - 1];
    until("the length is refused", || {
        let late = ask(&server, short, &good_token());
        late.code() == "wrong_length" && !says_unspent(&late)
    });
    let without = send("POST", &query_url(&server), &[], &body);
    assert!(!says_unspent(&without));
}
