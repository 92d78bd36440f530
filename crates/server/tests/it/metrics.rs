//! Exact counts in `GET /metrics`.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::support::faulty::{Fault, FaultyDatabase, Latch};
use crate::support::{
    Running, config, get, indexed, keyed, lookup, post, prepared, records, rng, send, until,
};
use papir_server::{Database, ServerConfig};

/// Metric values by name and labels.
fn scrape(server: &Running) -> BTreeMap<String, f64> {
    let reply = get(&format!("{}/metrics", server.url()));
    assert_eq!(
        reply.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let text = String::from_utf8(reply.body).unwrap();
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pair = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    };
    lines.map(pair).collect()
}

fn query_url(server: &Running, name: &str) -> String {
    format!("{}/v1/databases/{name}/query", server.url())
}

#[track_caller]
fn holds(metrics: &BTreeMap<String, f64>, expected: &[(&str, usize)]) {
    for (name, value) in expected {
        assert_eq!(
            metrics.get(*name),
            Some(&(*value as f64)),
            "{name} in {metrics:#?}"
        );
    }
}

/// Lengths in bytes of what a known sequence of requests sends and receives.
struct Lengths {
    query: usize,
    answer: usize,
    /// The public part of `table`.
    table: usize,
    /// The public part of `words`.
    words: usize,
}

#[test]
fn a_known_sequence_of_requests_is_counted_exactly() {
    let server = Running::start(
        config(),
        vec![indexed("table", "plain", 100), keyed("words", "plain", "a")],
    );
    let lengths = send_known_sequence(&server);

    let metrics = scrape(&server);
    check_queries(&metrics);
    check_bytes(&metrics, &lengths);
    check_stages(&metrics);
    check_responses(&metrics);
    holds(
        &metrics,
        &[
            ("papir_requests_queued", 0),
            ("papir_requests_running", 0),
            ("papir_ready", 1),
        ],
    );
    assert!(
        metrics.keys().all(|name| !name.contains("where")),
        "an unknown name must not become a label"
    );
    let build = concat!(
        "papir_build_info{version=\"",
        env!("CARGO_PKG_VERSION"),
        "\"}"
    );
    holds(&metrics, &[(build, 1)]);

    let again = scrape(&server);
    holds(
        &again,
        &[(
            "papir_responses_total{route=\"/metrics\",status=\"200\"}",
            1,
        )],
    );
}

/// Sends requests of each kind, and checks their statuses.
fn send_known_sequence(server: &Running) -> Lengths {
    let lookup = lookup(&server.url(), "table");
    let url = query_url(server, "table");
    let query = || {
        lookup
            .prepare_index(7, &mut rng())
            .unwrap()
            .queries()
            .concat()
    };

    for _ in 0..3 {
        assert_eq!(post(&url, &query()).status, 200);
    }
    assert_eq!(post(&url, &query().repeat(4)).status, 200);

    assert_eq!(post(&url, &query()[1..]).status, 400);
    let mut damaged = query();
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(post(&url, &damaged).status, 400);

    let with_version = |version: &str| {
        let named = [("papir-version", version)];
        send("POST", &url, &named, &query()).status
    };
    assert_eq!(with_version("0707070707070707"), 409);
    assert_eq!(with_version("seven"), 400);

    for name in ["elsewhere", "nowhere"] {
        assert_eq!(post(&query_url(server, name), &query()).status, 404);
    }
    assert_eq!(
        get(&format!("{}/nothing/elsewhere", server.url())).status,
        404
    );

    let public = |name: &str| get(&format!("{}/v1/databases/{name}/public", server.url()));
    Lengths {
        query: query().len(),
        answer: lookup.describe().sizes.answer as usize,
        table: public("table").body.len(),
        words: public("words").body.len(),
    }
}

fn check_queries(metrics: &BTreeMap<String, f64>) {
    for (database, code, count) in [
        ("table", "ok", 4),
        ("table", "wrong_length", 1),
        ("table", "checksum", 1),
        ("table", "wrong_version", 1),
        ("table", "malformed", 1),
        ("(unknown)", "unknown_database", 2),
        ("words", "ok", 0),
    ] {
        let labels = format!("database=\"{database}\",code=\"{code}\"");
        let name = format!("papir_query_requests_total{{{labels}}}");
        holds(metrics, &[(&name, count)]);
    }

    holds(
        metrics,
        &[
            ("papir_queries_total{database=\"table\"}", 7),
            ("papir_queries_total{database=\"words\"}", 0),
        ],
    );
}

fn check_bytes(metrics: &BTreeMap<String, f64>, lengths: &Lengths) {
    holds(
        metrics,
        &[
            // Seven are answered, one is too short and one damaged. The others are refused unread.
            (
                "papir_received_bytes_total{database=\"table\"}",
                9 * lengths.query - 1,
            ),
            (
                "papir_sent_bytes_total{database=\"table\",part=\"answer\"}",
                7 * lengths.answer,
            ),
            // One more for the lookup at the beginning.
            (
                "papir_sent_bytes_total{database=\"table\",part=\"public\"}",
                2 * lengths.table,
            ),
            (
                "papir_sent_bytes_total{database=\"words\",part=\"public\"}",
                lengths.words,
            ),
        ],
    );
}

fn check_stages(metrics: &BTreeMap<String, f64>) {
    for (stage, count) in [("read", 6), ("wait", 5), ("answer", 4), ("total", 8)] {
        let labels = format!("database=\"table\",stage=\"{stage}\"");
        let name = format!("papir_stage_seconds_count{{{labels}}}");
        holds(metrics, &[(&name, count)]);
    }
}

fn check_responses(metrics: &BTreeMap<String, f64>) {
    for (route, status, count) in [
        ("/v1/databases/{name}/query", 200, 4),
        ("/v1/databases/{name}/query", 400, 3),
        ("/v1/databases/{name}/query", 404, 2),
        ("/v1/databases/{name}/query", 409, 1),
        ("(unknown)", 404, 1),
        ("/v1/databases/{name}/public", 200, 3),
    ] {
        let labels = format!("route=\"{route}\",status=\"{status}\"");
        let name = format!("papir_responses_total{{{labels}}}");
        holds(metrics, &[(&name, count)]);
    }
}

#[test]
fn labels_of_expired_versions_disappear() {
    let config = ServerConfig {
        keep_old: Duration::from_secs(600),
        ..config()
    };
    let server = Running::start(config, vec![indexed("table", "plain", 100)]);
    let mut versions = vec![lookup(&server.url(), "table").version().to_string()];
    for _ in 0..4 {
        versions.push(
            server
                .handle
                .replace(indexed("table", "simple", 100))
                .unwrap()
                .to_string(),
        );
    }
    let unknown = server.handle.replace(indexed("other", "simple", 100));
    assert!(unknown.is_err());
    let metrics = scrape(&server);
    let info = |version: &str, newest: bool| {
        let labels = format!("version=\"{version}\",scheme=\"simple\",newest=\"{newest}\"");
        format!("papir_version_info{{database=\"table\",{labels}}}")
    };
    holds(
        &metrics,
        &[
            (&info(&versions[4], true), 1),
            (&info(&versions[3], false), 1),
        ],
    );
    let of = |name: &str| metrics.keys().filter(|key| key.starts_with(name)).count();
    assert_eq!(
        (of("papir_version_info"), of("papir_version_age_seconds")),
        (3, 3)
    );
    let sizes = lookup(&server.url(), "table").describe().sizes;
    holds(
        &metrics,
        &[
            ("papir_loads_total{database=\"table\",outcome=\"ok\"}", 4),
            (
                "papir_loads_total{database=\"table\",outcome=\"failed\"}",
                0,
            ),
            (
                "papir_database_bytes{database=\"table\",part=\"encoded\"}",
                3 * sizes.database as usize,
            ),
            (
                "papir_database_bytes{database=\"table\",part=\"material\"}",
                3 * sizes.material as usize,
            ),
            (
                "papir_database_bytes{database=\"table\",part=\"hint\"}",
                3 * sizes.hint as usize,
            ),
            (
                "papir_database_bytes{database=\"table\",part=\"snapshot\"}",
                0,
            ),
        ],
    );
    if cfg!(target_os = "linux") {
        assert!(metrics["process_resident_memory_bytes"] > 1e6);
    }
}

/// A service refuses a body that does not arrive after a few seconds. On a machine that stalls for
/// as long, the sequence is tried again.
#[test]
fn running_waiting_and_abandoned_requests_are_counted() {
    let counted = (0..20).any(|_| requests_are_counted_in_time());
    assert!(counted, "each body was refused as too slow");
}

/// Checks the counts of requests in each state. Returns false if the service has refused the body
/// that is still arriving.
fn requests_are_counted_in_time() -> bool {
    let latch = Latch::default();
    let server = one_by_one(&latch);
    let url = query_url(&server, "table");
    let body = lookup(&server.url(), "table")
        .prepare_index(7, &mut rng())
        .unwrap()
        .queries()
        .concat();

    let in_time = thread::scope(|scope| {
        let first = scope.spawn(|| post(&url, &body));
        latch.wait_for(1);

        // A body that is still arriving takes no place, but memory.
        let half = send_half(&server, body.len() + 1);
        // Before the second request, which takes the last place.
        if !comes_to(&server, "papir_upload_bytes", body.len() + 5) {
            latch.release();
            return false;
        }

        let second = scope.spawn(|| post(&url, &body));
        let in_time = comes_to(&server, "papir_requests_queued", 1)
            && comes_to(&server, "papir_upload_bytes", 2 * body.len() + 5)
            && comes_to(&server, "papir_requests_running", 1);
        if !in_time {
            latch.release();
            return false;
        }

        assert_eq!(post(&url, &body).status, 429);
        drop(half);
        let in_time = comes_to(&server, "papir_upload_bytes", 2 * body.len());
        latch.release();
        assert_eq!(
            (first.join().unwrap().status, second.join().unwrap().status),
            (200, 200)
        );
        in_time && comes_to(&server, "papir_requests_running", 0)
    });
    if !in_time {
        return false;
    }

    let metrics = scrape(&server);
    let of = |code| metrics[&requests_with(code)];
    assert_eq!((of("ok"), of("busy")), (2.0, 1.0));

    // A client that disconnects while sending its body frees its permit before it is counted.
    until("the request is counted", || {
        let metrics = scrape(&server);
        abandoned(&metrics) == 1.0 || is_too_slow(&metrics)
    });
    abandoned(&scrape(&server)) == 1.0
}

/// A service that answers one request at a time, after the latch is released, while one more waits.
fn one_by_one(latch: &Latch) -> Running {
    let faulty = FaultyDatabase {
        inner: prepared("plain", &records(50)),
        scheme: 0,
        fault: Fault::Wait(latch.clone()),
    };
    let config = ServerConfig {
        max_concurrent: 1,
        max_queued: 1,
        body_timeout: Duration::from_secs(300),
        ..config()
    };
    Running::start(config, vec![Database::new("table", Box::new(faulty), None)])
}

/// Sends five bytes of a query's body of a length.
fn send_half(server: &Running, length: usize) -> TcpStream {
    let head = format!(
        "POST /v1/databases/table/query HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n"
    );
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream
        .write_all(&[head.as_bytes(), b"half!"].concat())
        .unwrap();
    stream
}

/// Waits until a metric has a value. Returns false if the service refuses a body as too slow before
/// that.
#[track_caller]
fn comes_to(server: &Running, name: &str, value: usize) -> bool {
    let value = value as f64;
    let mut metrics = BTreeMap::new();
    until(&format!("{name} is {value}"), || {
        metrics = scrape(server);
        metrics.get(name) == Some(&value) || is_too_slow(&metrics)
    });
    metrics.get(name) == Some(&value)
}

fn requests_with(code: &str) -> String {
    format!("papir_query_requests_total{{database=\"table\",code=\"{code}\"}}")
}

/// Returns whether a body was refused as too slow.
fn is_too_slow(metrics: &BTreeMap<String, f64>) -> bool {
    metrics
        .get(&requests_with("too_slow"))
        .is_some_and(|count| *count > 0.0)
}

/// Number of abandoned requests.
fn abandoned(metrics: &BTreeMap<String, f64>) -> f64 {
    ["abandoned", "interrupted"]
        .into_iter()
        .filter_map(|code| metrics.get(&requests_with(code)))
        .sum()
}

#[test]
fn services_in_one_process_have_separate_and_optional_metrics() {
    let one = Running::start(config(), vec![indexed("table", "plain", 10)]);
    let two = Running::start(config(), vec![indexed("table", "plain", 10)]);
    let query = lookup(&one.url(), "table")
        .prepare_index(7, &mut rng())
        .unwrap()
        .queries()
        .concat();
    assert_eq!(post(&query_url(&one, "table"), &query).status, 200);
    holds(
        &scrape(&one),
        &[("papir_queries_total{database=\"table\"}", 1)],
    );
    holds(
        &scrape(&two),
        &[("papir_queries_total{database=\"table\"}", 0)],
    );
    let without = ServerConfig {
        metrics: false,
        ..config()
    };
    let without = Running::start(without, vec![indexed("table", "plain", 10)]);
    let reply = get(&format!("{}/metrics", without.url()));
    assert_eq!(
        (reply.status, reply.code().as_str()),
        (404, "unknown_route")
    );
    let document = get(&format!("{}/openapi.json", without.url())).json();
    assert!(document["paths"]["/metrics"].is_null() && !document["paths"]["/readyz"].is_null());
}
