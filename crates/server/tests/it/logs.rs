//! Logs hold sizes, times and codes, and nothing that depends on the queries' contents.

use std::io::Write;
use std::sync::{Arc, Mutex};

use crate::support::process::runs_alone;
use crate::support::{Running, config, get, indexed, lookup, rng, send};
use papir_core::envelope::{Header, Kind, seal};
use serde_json::Value;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::{MakeWriter, layer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }

    /// Log lines of this crate, without the values of `milliseconds`.
    fn take(&self) -> Vec<String> {
        let timeless = |word: &str| {
            if word.starts_with("milliseconds=") {
                "milliseconds"
            } else {
                word
            }
            .to_owned()
        };
        self.text()
            .lines()
            .map(|line| {
                line.split_whitespace()
                    .map(timeless)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .filter(|line| line.contains("papir_"))
            .collect()
    }

    /// The same for a log in JSON.
    fn take_json(&self) -> Vec<Value> {
        let lines: Vec<Value> = self
            .text()
            .lines()
            .map(|line| serde_json::from_str(line).expect(line))
            .collect();
        lines
            .into_iter()
            .filter(|line| line["target"].as_str().unwrap().contains("papir_"))
            .collect()
    }
}

/// Runs in its own process, since a process has one log.
#[test]
fn logs_do_not_depend_on_the_queries() {
    if !runs_alone("logs::logs_do_not_depend_on_the_queries") {
        return;
    }
    let log = Log::default();
    let json = Log::default();
    subscribe(&log, &json);
    let server = Running::start(config(), vec![indexed("table", "plain", 60_000)]);

    let logs = logs_of_two_indices(&server, &log, &json);
    assert_eq!(logs[0], logs[1]);
    check_lines(&logs[0]);
    check_json_lines(&json.take_json(), 2 * logs[0].len());
    check_request_ids(&server, &log);
}

/// Writes all log lines of this process to both logs.
fn subscribe(log: &Log, json: &Log) {
    let plain = layer()
        .with_writer(log.clone())
        .without_time()
        .with_ansi(false);
    let structured = layer()
        .json()
        .flatten_event(true)
        .with_span_list(false)
        .with_writer(json.clone());

    tracing_subscriber::registry()
        // The finest level of a service's log: spans of traces are finer.
        .with(LevelFilter::DEBUG)
        .with(plain)
        .with(structured)
        .init();
}

/// The log lines of valid queries, and of forged ones beyond the last record, for each of two
/// indices.
fn logs_of_two_indices(server: &Running, log: &Log, json: &Log) -> Vec<Vec<String>> {
    let lookup = lookup(&server.url(), "table");
    let url = format!("{}/v1/databases/table/query", server.url());
    let header = Header {
        kind: Kind::Query,
        scheme: 0,
        version: lookup.version(),
    };
    let post = |body: &[u8]| send("POST", &url, &[("x-request-id", "request-7")], body);
    log.take();
    json.take_json();

    let mut logs = Vec::new();
    for (index, beyond) in [(3u64, 71_234u64), (54_321, 98_765)] {
        let good = lookup
            .prepare_index(index, &mut rng())
            .unwrap()
            .queries()
            .concat();
        assert_eq!(post(&good).status, 200);

        let mut payload = good[24..good.len() - 8].to_vec();
        payload[17..25].copy_from_slice(&beyond.to_le_bytes());
        assert_eq!(post(&seal(&header, &payload)).status, 400);
        logs.push(log.take());
    }
    logs
}

fn check_lines(lines: &[String]) {
    let text = lines.join("\n");
    for expected in [
        "status=200",
        "status=400",
        "code=\"index_out_of_range\"",
        "milliseconds",
        "received=81",
    ] {
        assert!(text.contains(expected), "no {expected} in\n{text}");
    }

    assert!(
        lines
            .iter()
            .all(|line| line.contains("request{id=request-7}: ")),
        "{text}"
    );
    assert!(!text.contains("127.0.0.1"), "the client's address\n{text}");
}

fn check_json_lines(lines: &[Value], count: usize) {
    assert_eq!(lines.len(), count);
    assert!(
        lines.iter().all(|line| line["span"]["id"] == "request-7"),
        "{lines:?}"
    );
    assert_eq!(
        lines
            .iter()
            .filter(|line| line["message"] == "query" && line["status"] == 200)
            .count(),
        2
    );
}

/// Each request has an id: its own, if that is a valid one.
fn check_request_ids(server: &Running, log: &Log) {
    let health = format!("{}/healthz", server.url());
    let list = format!("{}/v1/databases", server.url());
    let first = get(&health);
    let second = get(&list);
    let ids = [
        first.header("x-request-id").unwrap(),
        second.header("x-request-id").unwrap(),
    ];
    assert!(
        ids[0] != ids[1] && ids.iter().all(|id| id.len() == 16),
        "{ids:?}"
    );

    let nothing = format!("{}/nothing", server.url());
    let refused = send("GET", &nothing, &[("x-request-id", "not one")], b"");
    assert!(
        refused
            .header("x-request-id")
            .is_some_and(|id| id != "not one")
    );
    assert_eq!(
        send("GET", &health, &[("x-request-id", "mine")], b"").header("x-request-id"),
        Some("mine")
    );

    let text = log.take().join("\n");
    assert!(
        ids.iter()
            .all(|id| text.contains(&format!("request{{id={id}}}: "))),
        "{text}"
    );
    assert!(!text.contains("not one"), "{text}");
}
