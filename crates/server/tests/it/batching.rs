//! Batching: waiting requests are answered together without affecting each other.

use std::thread;
use std::time::{Duration, Instant};

use crate::support::faulty::{Batches, Fault, FaultyDatabase};
use crate::support::{Reply, Running, config, get, lookup, post, prepared, record, records, rng};
use papir_lookup::Lookup;
use papir_server::{Database, ServerConfig};

const QUERY: &str = "/v1/databases/table/query";

/// A table of 50 records whose answers wait for a latch.
fn batched(batches: &Batches) -> Database {
    let server = FaultyDatabase {
        inner: prepared("plain", &records(50)),
        scheme: 0,
        fault: Fault::Batches(batches.clone()),
    };
    Database::new("table", Box::new(server), None)
}

fn start(batches: &Batches) -> Running {
    let config = ServerConfig {
        max_concurrent: 1,
        keep_old: Duration::from_secs(600),
        ..config()
    };
    Running::start(config, vec![batched(batches)])
}

/// Waits until this number of requests has arrived and is queued.
fn wait_for(server: &Running, waiting: usize) {
    let start = Instant::now();
    let line = format!("papir_requests_waiting {waiting}");
    loop {
        let text = String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap();
        if text.lines().any(|one| one == line) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "never {line}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A request for several records.
struct PendingRequest {
    pending: Vec<papir_lookup::Pending>,
    body: Vec<u8>,
}

fn ask(lookup: &Lookup, indices: &[u64]) -> PendingRequest {
    let pending: Vec<_> = indices
        .iter()
        .map(|&index| lookup.prepare_index(index, &mut rng()).unwrap())
        .collect();
    let body = pending
        .iter()
        .flat_map(|one| one.queries().concat())
        .collect();
    PendingRequest { pending, body }
}

impl PendingRequest {
    /// The records of a reply.
    fn open(self, reply: &Reply) -> Vec<Vec<u8>> {
        assert_eq!(reply.status, 200, "{reply:?}");
        let each = reply.body.len() / self.pending.len();
        let answers = reply.body.chunks(each).map(|answer| vec![answer.to_vec()]);
        self.pending
            .into_iter()
            .zip(answers)
            .map(|(one, answer)| one.finish(&answer).unwrap().unwrap())
            .collect()
    }
}

/// Sends the first body alone, and the others one after another while it is being answered. Then
/// releases the latch.
fn send_waiting(server: &Running, batches: &Batches, bodies: &[&[u8]]) -> Vec<Reply> {
    let url = format!("{}{QUERY}", server.url());
    thread::scope(|scope| {
        let mut sent = Vec::new();
        for (place, body) in bodies.iter().enumerate() {
            let url = &url;
            sent.push(scope.spawn(move || post(url, body)));
            match place {
                0 => batches.latch.wait_for(1),
                _ => wait_for(server, place),
            }
        }
        batches.latch.release();
        sent.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

/// Sends these requests as [`send_waiting`] does.
fn send_all(server: &Running, batches: &Batches, asked: &[PendingRequest]) -> Vec<Reply> {
    let bodies: Vec<&[u8]> = asked.iter().map(|one| &one.body[..]).collect();
    send_waiting(server, batches, &bodies)
}

#[test]
fn waiting_requests_share_one_pass_and_each_receives_its_own_answer() {
    let batches = Batches::default();
    let server = start(&batches);
    let lookup = lookup(&server.url(), "table");
    let indices: [&[u64]; 5] = [&[1], &[2], &[3, 4, 5], &[6], &[7, 8]];
    let asked: Vec<PendingRequest> = indices
        .iter()
        .map(|indices| ask(&lookup, indices))
        .collect();
    let replies = send_all(&server, &batches, &asked);
    assert_eq!(
        *batches.sizes.lock().unwrap(),
        [1, 7],
        "the first request alone, then all waiting ones"
    );
    for ((asked, reply), indices) in asked.into_iter().zip(&replies).zip(indices) {
        let expected: Vec<_> = indices.iter().map(|&index| record(index)).collect();
        assert_eq!(asked.open(reply), expected);
    }
    let metrics = String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap();
    for line in [
        "papir_groups_total{database=\"table\"} 2",
        "papir_queries_total{database=\"table\"} 8",
        "papir_stage_seconds_count{database=\"table\",stage=\"wait\"} 5",
        "papir_stage_seconds_count{database=\"table\",stage=\"answer\"} 5",
        "papir_requests_running 0",
    ] {
        assert!(
            metrics.lines().any(|one| one == line),
            "{line} in {metrics}"
        );
    }
}

#[test]
fn an_invalid_query_fails_only_its_own_request() {
    let batches = Batches::default();
    let server = start(&batches);
    let lookup = lookup(&server.url(), "table");
    let asked: Vec<PendingRequest> = [&[1u64][..], &[2], &[3, 4], &[5]]
        .map(|indices| ask(&lookup, indices))
        .into();
    let mut damaged = asked[2].body.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let replies = send_waiting(
        &server,
        &batches,
        &[&asked[0].body, &asked[1].body, &damaged, &asked[3].body],
    );
    assert_eq!(*batches.sizes.lock().unwrap(), [1, 4]);
    let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, [200, 200, 400, 200]);
    assert!(
        replies[2].json()["detail"]
            .as_str()
            .unwrap()
            .starts_with("query 2 of 2")
    );
    let last = asked.into_iter().last().unwrap();
    assert_eq!(last.open(&replies[3]), [record(5)]);
}

#[test]
fn a_panic_fails_only_its_own_request() {
    let batches = Batches::default();
    let server = start(&batches);
    let lookup = lookup(&server.url(), "table");
    let asked: Vec<PendingRequest> = [[1u64], [2], [3], [4]]
        .map(|indices| ask(&lookup, &indices))
        .into();
    batches.poison.lock().unwrap().clone_from(&asked[2].body);
    let replies = send_all(&server, &batches, &asked);
    assert_eq!(
        *batches.sizes.lock().unwrap(),
        [1, 3, 1, 1, 1],
        "in one batch, then each separately"
    );
    let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, [200, 200, 500, 200]);
    assert_eq!(
        asked.into_iter().last().unwrap().open(&replies[3]),
        [record(4)]
    );
}

#[test]
fn versions_are_answered_separately_in_order_of_arrival() {
    let batches = Batches::default();
    let server = start(&batches);
    let old = lookup(&server.url(), "table");
    server.handle.replace(batched(&batches)).unwrap();
    let new = lookup(&server.url(), "table");
    let order = [
        (&old, 1),
        (&new, 2),
        (&old, 3),
        (&new, 4),
        (&old, 5),
        (&old, 6),
    ];
    let asked: Vec<PendingRequest> = order
        .iter()
        .map(|(lookup, index)| ask(lookup, &[*index]))
        .collect();
    let replies = send_all(&server, &batches, &asked);
    assert_eq!(*batches.sizes.lock().unwrap(), [1, 2, 3]);
    for (asked, (reply, (lookup, index))) in asked.into_iter().zip(replies.iter().zip(order)) {
        assert_eq!(
            reply.header("papir-version"),
            Some(lookup.version().to_string().as_str())
        );
        assert_eq!(asked.open(reply), [record(index)]);
    }
}

#[test]
fn a_batch_is_no_larger_than_a_request_may_be() {
    let batches = Batches::default();
    let server = start(&batches);
    let lookup = lookup(&server.url(), "table");
    let most: Vec<u64> = (0..40).collect();
    let asked: Vec<PendingRequest> = [&[1][..], &most, &most[..24], &[2], &most]
        .map(|i| ask(&lookup, i))
        .into();
    let replies = send_all(&server, &batches, &asked);
    assert!(replies.iter().all(|reply| reply.status == 200));
    assert_eq!(*batches.sizes.lock().unwrap(), [1, 64, 41]);
}
