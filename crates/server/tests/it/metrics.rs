//! Exact counts in `GET /metrics`.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::faulty::{Fault, FaultyDatabase, Latch};
use crate::support::{
    Running, config, get, indexed, keyed, lookup, post, prepared, records, rng, send,
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

#[test]
fn a_known_sequence_of_requests_is_counted_exactly() {
    let server = Running::start(
        config(),
        vec![indexed("table", "plain", 100), keyed("words", "plain", "a")],
    );
    let lookup = lookup(&server.url(), "table");
    let url = query_url(&server, "table");
    let query = || {
        lookup
            .prepare_index(7, &mut rng())
            .unwrap()
            .queries()
            .concat()
    };
    let sent = query().len();
    let answer = lookup.describe().sizes.answer as usize;
    for _ in 0..3 {
        assert_eq!(post(&url, &query()).status, 200);
    }
    assert_eq!(post(&url, &query().repeat(4)).status, 200);
    assert_eq!(post(&url, &query()[1..]).status, 400);
    let mut damaged = query();
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(post(&url, &damaged).status, 400);
    assert_eq!(
        send(
            "POST",
            &url,
            &[("papir-version", "0707070707070707")],
            &query()
        )
        .status,
        409
    );
    assert_eq!(
        send("POST", &url, &[("papir-version", "seven")], &query()).status,
        400
    );
    for name in ["elsewhere", "nowhere"] {
        assert_eq!(post(&query_url(&server, name), &query()).status, 404);
    }
    assert_eq!(
        get(&format!("{}/nothing/elsewhere", server.url())).status,
        404
    );
    let public = get(&format!("{}/v1/databases/words/public", server.url()))
        .body
        .len();
    let bundle = get(&format!("{}/v1/databases/table/public", server.url()))
        .body
        .len();

    let metrics = scrape(&server);
    holds(
        &metrics,
        &[
            (
                "papir_query_requests_total{database=\"table\",code=\"ok\"}",
                4,
            ),
            (
                "papir_query_requests_total{database=\"table\",code=\"wrong_length\"}",
                1,
            ),
            (
                "papir_query_requests_total{database=\"table\",code=\"checksum\"}",
                1,
            ),
            (
                "papir_query_requests_total{database=\"table\",code=\"wrong_version\"}",
                1,
            ),
            (
                "papir_query_requests_total{database=\"table\",code=\"malformed\"}",
                1,
            ),
            (
                "papir_query_requests_total{database=\"(unknown)\",code=\"unknown_database\"}",
                2,
            ),
            (
                "papir_query_requests_total{database=\"words\",code=\"ok\"}",
                0,
            ),
            ("papir_queries_total{database=\"table\"}", 7),
            ("papir_queries_total{database=\"words\"}", 0),
            // Seven are answered, one is too short and one damaged. The others are refused unread.
            (
                "papir_received_bytes_total{database=\"table\"}",
                9 * sent - 1,
            ),
            (
                "papir_sent_bytes_total{database=\"table\",part=\"answer\"}",
                7 * answer,
            ),
            // One more for the lookup at the beginning.
            (
                "papir_sent_bytes_total{database=\"table\",part=\"public\"}",
                2 * bundle,
            ),
            (
                "papir_sent_bytes_total{database=\"words\",part=\"public\"}",
                public,
            ),
            (
                "papir_stage_seconds_count{database=\"table\",stage=\"read\"}",
                6,
            ),
            (
                "papir_stage_seconds_count{database=\"table\",stage=\"wait\"}",
                5,
            ),
            (
                "papir_stage_seconds_count{database=\"table\",stage=\"answer\"}",
                4,
            ),
            (
                "papir_stage_seconds_count{database=\"table\",stage=\"total\"}",
                8,
            ),
            (
                "papir_responses_total{route=\"/v1/databases/{name}/query\",status=\"200\"}",
                4,
            ),
            (
                "papir_responses_total{route=\"/v1/databases/{name}/query\",status=\"400\"}",
                3,
            ),
            (
                "papir_responses_total{route=\"/v1/databases/{name}/query\",status=\"404\"}",
                2,
            ),
            (
                "papir_responses_total{route=\"/v1/databases/{name}/query\",status=\"409\"}",
                1,
            ),
            (
                "papir_responses_total{route=\"(unknown)\",status=\"404\"}",
                1,
            ),
            (
                "papir_responses_total{route=\"/v1/databases/{name}/public\",status=\"200\"}",
                3,
            ),
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

#[test]
fn running_waiting_and_abandoned_requests_are_counted() {
    let latch = Latch::default();
    let inner = prepared("plain", &records(50));
    let faulty = FaultyDatabase {
        inner,
        scheme: 0,
        fault: Fault::Wait(latch.clone()),
    };
    let body_timeout = Duration::from_secs(300);
    let config = ServerConfig {
        max_concurrent: 1,
        max_queued: 1,
        body_timeout,
        ..config()
    };
    let server = Running::start(config, vec![Database::new("table", Box::new(faulty), None)]);
    let url = query_url(&server, "table");
    let body = lookup(&server.url(), "table")
        .prepare_index(7, &mut rng())
        .unwrap()
        .queries()
        .concat();
    thread::scope(|scope| {
        let first = scope.spawn(|| post(&url, &body));
        latch.wait_for(1);
        let head = format!(
            "POST /v1/databases/table/query HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
            body.len() + 1
        );
        let mut half = TcpStream::connect(server.address).unwrap();
        // A body that is still arriving takes no place, but memory.
        half.write_all(&[head.as_bytes(), b"half!"].concat())
            .unwrap();
        let is = |name: &str, value: f64| {
            let begin = Instant::now();
            while scrape(&server).get(name) != Some(&value) {
                assert!(
                    begin.elapsed() < Duration::from_secs(60),
                    "{name} is not {value}"
                );
                thread::sleep(Duration::from_millis(5));
            }
        };
        // Before the second request, which takes the last place.
        is("papir_upload_bytes", (body.len() + 5) as f64);
        let second = scope.spawn(|| post(&url, &body));
        is("papir_requests_queued", 1.0);
        is("papir_upload_bytes", (2 * body.len() + 5) as f64);
        is("papir_requests_running", 1.0);
        assert_eq!(post(&url, &body).status, 429);
        drop(half);
        is("papir_upload_bytes", (2 * body.len()) as f64);
        latch.release();
        assert_eq!(
            (first.join().unwrap().status, second.join().unwrap().status),
            (200, 200)
        );
        is("papir_requests_running", 0.0);
    });
    let metrics = scrape(&server);
    let of = |code: &str| {
        metrics[&format!("papir_query_requests_total{{database=\"table\",code=\"{code}\"}}")]
    };
    assert_eq!((of("ok"), of("busy")), (2.0, 1.0));
    // A client that disconnects while sending its body frees its permit before it is counted.
    let begin = Instant::now();
    while abandoned(&scrape(&server)) != 1.0 {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "the request is not counted"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// Number of abandoned requests.
fn abandoned(metrics: &BTreeMap<String, f64>) -> f64 {
    let of = |code| {
        metrics.get(&format!(
            "papir_query_requests_total{{database=\"table\",code=\"{code}\"}}"
        ))
    };
    ["abandoned", "interrupted"]
        .into_iter()
        .filter_map(of)
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
