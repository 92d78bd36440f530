//! Traces that the service sends to an OpenTelemetry collector.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use papir_testkit::GuardedChild;
use prost::Message;
use rustix::process::Signal;

use crate::support::{Folder, PATIENCE, Service, agent, fails_with, program, send, succeeds};
use crate::tls::{self_signed, serve};

const OPEN: &str = "--allow-not-private";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";
/// A trace that every share of the requests contains: shares are those of the smallest numbers.
const FIRST: &str = "00000000000000000000000000000001";
/// The span of a query.
const QUERY: &str = "POST /v1/databases/{name}/query";
/// Everything that a span may say.
const ATTRIBUTES: [&str; 6] = [
    "http.request.method",
    "http.response.status_code",
    "http.route",
    "papir.code",
    "papir.database",
    "papir.request_id",
];

/// A collector, and the bodies that it has received.
struct Collector {
    url: String,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Collector {
    /// Answers every message, or none if it hangs.
    fn start(hangs: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let bodies = Arc::<Mutex<Vec<_>>>::default();
        let received = Arc::clone(&bodies);
        spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                // A service that stops may go away in the middle of a message.
                let Ok(body) = receive(&stream) else { continue };
                received.lock().unwrap().push(body);
                if !hangs {
                    let answer =
                        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
                    // On a busy machine, the service may no longer wait for it.
                    let _ = stream.write_all(answer.as_bytes());
                }
                open.push(stream);
                if !hangs {
                    open.clear();
                }
            }
        });
        Self { url, bodies }
    }

    fn bytes(&self) -> Vec<u8> {
        self.bodies.lock().unwrap().concat()
    }

    fn spans(&self) -> Vec<Span> {
        let bodies = self.bodies.lock().unwrap();
        let messages = bodies
            .iter()
            .map(|body| ExportTraceServiceRequest::decode(&body[..]).unwrap());
        let scopes = messages
            .flat_map(|message| message.resource_spans)
            .flat_map(|one| one.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    /// Waits until a span of each name has arrived, and one of the trace if there is one.
    fn wait(&self, names: &[&str], trace: Option<&str>) -> Vec<Span> {
        let begin = Instant::now();
        loop {
            let spans = self.spans();
            let has_name = |name: &&str| spans.iter().any(|span| span.name == *name);
            let has_trace = |trace: &str| spans.iter().any(|span| hex(&span.trace_id) == trace);
            if names.iter().all(has_name) && trace.is_none_or(has_trace) {
                return spans;
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "no {names:?} or {trace:?} in {spans:?}"
            );
            sleep(Duration::from_millis(50));
        }
    }
}

/// Reads one message to the path of traces.
fn receive(stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    let mut length = 0;
    if reader.read_line(&mut first)? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    assert_eq!(first.trim(), "POST /v1/traces HTTP/1.1");
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim().to_ascii_lowercase().split_once(':') {
            None => break,
            Some(("content-length", value)) => length = value.trim().parse().unwrap(),
            Some(("content-type", value)) => assert_eq!(value.trim(), "application/x-protobuf"),
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn attributes(span: &Span) -> BTreeMap<&str, String> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => panic!("{other:?}"),
    };
    let all = span.attributes.iter();
    all.map(|one| {
        (
            one.key.as_str(),
            text(one.value.as_ref().unwrap().value.as_ref().unwrap()),
        )
    })
    .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn named<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    spans.iter().find(|span| span.name == name).expect(name)
}

fn get(url: &str, headers: &[(&str, &str)]) {
    let agent = agent();
    let request = headers
        .iter()
        .fold(agent.get(url), |request, (name, value)| {
            request.header(*name, *value)
        });
    request.call().unwrap();
}

#[test]
fn a_request_is_traced_with_its_stages() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let collector = Collector::start(false);
    let service = Service::start(&[&words], &[OPEN, "--otlp", &collector.url]);
    assert_eq!(succeeds(&["get", &service.url, OPEN, "key-3"]), "value-3");
    // The span of a request ends after those of its stages, and may be in the next message.
    let spans = collector.wait(&["read", "wait", "answer", QUERY], None);
    let query = named(&spans, QUERY);
    let found = attributes(query);
    let id = attributes(query)["papir.request_id"].clone();
    assert!(
        id.len() == 16 && id.chars().all(|c| c.is_ascii_hexdigit()),
        "{id}"
    );
    let expected = [
        ("http.request.method", "POST"),
        ("http.response.status_code", "200"),
        ("http.route", "/v1/databases/{name}/query"),
        ("papir.code", "ok"),
        ("papir.database", "words"),
        ("papir.request_id", &id),
    ];
    assert_eq!(
        found,
        expected
            .map(|(name, value)| (name, value.to_owned()))
            .into()
    );
    assert_eq!(
        (query.kind(), query.parent_span_id.len()),
        (SpanKind::Server, 0)
    );
    let mut last = query.start_time_unix_nano;
    for stage in ["read", "wait", "answer"] {
        let span = named(&spans, stage);
        assert_eq!(
            (&span.trace_id, &span.parent_span_id),
            (&query.trace_id, &query.span_id),
            "{stage}"
        );
        assert_eq!(
            attributes(span),
            [("papir.database", "words".to_owned())].into(),
            "{stage}"
        );
        assert!(
            last <= span.start_time_unix_nano
                && span.start_time_unix_nano <= span.end_time_unix_nano
        );
        last = span.end_time_unix_nano;
    }
    assert!(last <= query.end_time_unix_nano);
}

#[test]
fn a_span_follows_its_caller_and_says_nothing_of_the_client() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let collector = Collector::start(false);
    let service = Service::start(&[&words], &[OPEN, "--otlp", &collector.url]);
    let caller = format!("00-{TRACE}-{CALLER}-01");
    let headers = [
        ("traceparent", caller.as_str()),
        ("tracestate", "who=secret-state"),
        ("authorization", "Bearer secret-token"),
        ("user-agent", "secret-agent"),
        ("papir-client", "5ec2e75ec2e75ec2e75ec2e75ec2e7ff"),
        ("x-forwarded-for", "192.0.2.77"),
        ("x-request-id", "chosen-7"),
    ];
    get(
        &format!("{}/v1/databases/words?version=secret", service.url),
        &headers,
    );
    get(
        &format!("{}/secret/path", service.url),
        &[("traceparent", "nonsense")],
    );
    get(
        &format!("{}/v1/databases/secret-name", service.url),
        &headers[2..],
    );
    succeeds(&["get", &service.url, OPEN, "key-3"]);
    let spans = collector.wait(&["GET", "answer", QUERY], Some(TRACE));
    let followed = spans
        .iter()
        .find(|span| hex(&span.trace_id) == TRACE)
        .expect("the caller's trace");
    assert_eq!(
        (
            hex(&followed.parent_span_id).as_str(),
            followed.trace_state.as_str()
        ),
        (CALLER, "")
    );
    let found = attributes(followed);
    assert_eq!(
        (
            found["papir.request_id"].as_str(),
            found["papir.code"].as_str()
        ),
        ("chosen-7", "malformed")
    );
    let unknown = attributes(named(&spans, "GET"));
    assert_eq!(unknown["papir.code"], "unknown_route");
    assert!(
        !unknown.contains_key("http.route") && !unknown.contains_key("papir.database"),
        "{unknown:?}"
    );
    for span in &spans {
        let all = attributes(span);
        assert!(all.keys().all(|name| ATTRIBUTES.contains(name)), "{all:?}");
        assert!(span.events.is_empty() && span.links.is_empty(), "{span:?}");
    }
    let bytes = collector.bytes();
    for part in [
        "secret",
        "127.0.0.1",
        "192.0.2",
        "5ec2e7",
        "key-3",
        "value-3",
    ] {
        assert!(
            !bytes
                .windows(part.len())
                .any(|window| window == part.as_bytes()),
            "{part}"
        );
    }
}

#[test]
fn a_share_of_the_requests_is_traced() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let collector = Collector::start(false);
    let more = [OPEN, "--otlp", &collector.url, "--otlp-sample", "0.5"];
    let service = Service::start(&[&words], &more);
    let healthy = format!("{}/healthz", service.url);
    (0..200).for_each(|_| get(&healthy, &[]));
    // Spans are sent in their order, and this is one of those.
    get(
        &healthy,
        &[("traceparent", &format!("00-{FIRST}-{CALLER}-01"))],
    );
    let spans = collector.wait(&[], Some(FIRST));
    let traced = spans
        .iter()
        .filter(|span| hex(&span.trace_id) != FIRST)
        .count();
    // Outside of these bounds with a probability below 1 in 10 million.
    assert!((60..=140).contains(&traced), "{traced}");
}

#[test]
fn the_last_spans_are_sent_when_the_service_stops() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let collector = Collector::start(false);
    // The service waits for a limited time, which a busy machine may exceed, but not each time.
    let sent = (0..10).any(|_| {
        let mut service = Service::start(&[&words], &[OPEN, "--otlp", &collector.url]);
        get(&format!("{}/healthz", service.url), &[]);
        send(Signal::TERM, &service);
        assert_eq!(service.wait(), Some(0));
        !collector.spans().is_empty()
    });
    assert!(sent);
}

#[test]
fn a_collector_on_this_machine_is_reached_without_a_proxy() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let collector = Collector::start(false);
    // Nothing listens there.
    let environment =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(|name| (name, "http://127.0.0.1:1"));
    let service = Service::start_in(&environment, &[&words], &[OPEN, "--otlp", &collector.url]);
    get(
        &format!("{}/healthz", service.url),
        &[("traceparent", &format!("00-{TRACE}-{CALLER}-01"))],
    );
    collector.wait(&[], Some(TRACE));
}

#[test]
fn a_collector_is_trusted_by_the_option_of_the_service() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let own = self_signed(&folder, "own", "127.0.0.1", (2020, 2100));
    // Another service of papir takes the place of the collector: it answers with 404.
    let collector = serve(&folder, &own);

    for (more, expected) in [(&["--ca", &own.0][..], "404"), (&[], "certificate")] {
        let mut command = program();
        command
            .args(["serve", &words, OPEN, "--listen", "127.0.0.1:0"])
            .args(["--otlp", &collector.url])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = GuardedChild::spawn(&mut command).unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap();
        get(&format!("{url}/healthz"), &[]);

        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut failure = String::new();
        while !failure.contains("the collector takes no traces") {
            failure.clear();
            assert_ne!(log.read_line(&mut failure).unwrap(), 0, "no failure");
        }
        assert!(failure.contains(expected), "{more:?}: {failure}");
    }
}

#[test]
fn a_collector_that_hangs_or_is_away_delays_no_lookup() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let hanging = Collector::start(true);
    // More than the queue of spans and a batch of them hold, where they wait.
    for (url, requests) in [(hanging.url.as_str(), 2700), ("http://127.0.0.1:1", 100)] {
        let mut service = Service::start(&[&words], &[OPEN, "--otlp", url]);
        let begin = Instant::now();
        let agent = agent();
        for _ in 0..requests {
            let response = agent
                .get(format!("{}/healthz", service.url))
                .call()
                .unwrap();
            assert_eq!(response.status(), 200);
        }
        assert_eq!(succeeds(&["get", &service.url, OPEN, "key-3"]), "value-3");
        // A message that is not answered would take 5 s of each request that waited for it.
        assert!(
            begin.elapsed() < Duration::from_secs(300),
            "{:?}",
            begin.elapsed()
        );
        send(Signal::TERM, &service);
        let begin = Instant::now();
        assert_eq!(service.wait(), Some(0));
        // A service that waited for the collector without a limit would not stop at all.
        assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    }
    assert!(
        !hanging.bodies.lock().unwrap().is_empty(),
        "the collector was reached"
    );
}

#[test]
fn invalid_settings_are_refused() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let refused = |more: &[&str], part: &str| {
        fails_with(&[&["serve", &words, OPEN], more].concat(), &[part]);
    };
    refused(&["--otlp", "collector:4318"], "http://127.0.0.1:4318");
    refused(
        &["--otlp", "http://127.0.0.1:4318", "--otlp-sample", "2"],
        "0 to 1",
    );
    refused(&["--otlp-sample", "0.5"], "--otlp");
}
