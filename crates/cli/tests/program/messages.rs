//! Queries and answers in files: `papir query`, `answer` and `extract`.
#![cfg(unix)]

use std::fs;

use crate::support::{Folder, Service, fails_with, papir, succeeds};

/// Words of the refusal of an answer whose tag fits no lookup that waits.
const TAG: &str = "the tag of another client, version or query";

/// A database of 60 words under pirouette, its registry and its clients' states.
struct Exchange {
    folder: Folder,
    sockets: Folder,
    words: String,
}

impl Exchange {
    fn new() -> Self {
        let folder = Folder::new();
        let words = folder.words(60, "pirouette");
        Self {
            folder,
            sockets: Folder::short(),
            words,
        }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path(name)
    }

    fn serve(&self) -> Service {
        let registry = self.path("registry");
        let listen = self.sockets.socket();
        Service::start(
            &[&self.words],
            &["--registry", &registry, "--listen", &listen],
        )
    }

    /// The arguments of a query with the state of this name.
    fn asked(&self, service: &str, state: &str, key: &str, out: &str) -> Vec<String> {
        let state = self.path(state);
        let out = self.path(out);
        ["query", service, key, "--state", &state, "--out", &out]
            .map(str::to_owned)
            .into()
    }

    fn query(&self, service: &str, state: &str, key: &str, out: &str) {
        let arguments = self.asked(service, state, key, out);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        succeeds(&arguments);
    }

    /// The arguments of an answer to a query.
    fn answered(&self, query: &str, out: &str) -> Vec<String> {
        let [query, out, registry] = [query, out, "registry"].map(|name| self.path(name));
        [
            "answer",
            &self.words,
            &query,
            "--registry",
            &registry,
            "--out",
            &out,
        ]
        .map(str::to_owned)
        .into()
    }

    fn answer(&self, query: &str, out: &str) {
        let arguments = self.answered(query, out);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        succeeds(&arguments);
    }

    /// The refusal of a query contains these parts.
    fn refuses(&self, query: &str, parts: &[&str]) {
        self.refuses_with(query, &[], parts);
    }

    /// The refusal of a query with more arguments contains these parts.
    fn refuses_with(&self, query: &str, more: &[&str], parts: &[&str]) {
        let arguments = self.answered(query, "none.bin");
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        fails_with(&[&arguments[..], more].concat(), parts);
        let out = self.path("none.bin");
        assert!(!fs::exists(out).unwrap(), "a refused query has an answer");
    }

    fn extract(&self, service: &str, state: &str, answer: &str) -> String {
        succeeds(&[
            "extract",
            service,
            &self.path(answer),
            "--state",
            &self.path(state),
        ])
    }

    /// No lookup of the state waits for this answer. The refusal contains `part`.
    fn extracts_nothing(
        &self,
        service: &str,
        state: &str,
        answer: &str,
        waiting: usize,
        part: &str,
    ) {
        fails_with(
            &[
                "extract",
                service,
                &self.path(answer),
                "--state",
                &self.path(state),
            ],
            &[&format!("one of {waiting} waiting queries"), part],
        );
    }
}

/// Every command is a process of its own: whatever is not on disk is lost between them, as by a
/// loss of power.
#[test]
fn queries_and_answers_travel_in_files() {
    let exchange = Exchange::new();
    let service = exchange.serve();
    let url = service.url.clone();
    // The first query registers, and keeps the version.
    exchange.query(&url, "first", "key-7", "q1.bin");
    exchange.query(&url, "second", "key-8", "other.bin");
    exchange.refuses("q1.bin", &["registry", "service is running"]);
    drop(service);

    // Nothing listens any more.
    exchange.query(&url, "first", "key-9", "q2.bin");
    exchange.query(&url, "first", "no such key", "q3.bin");
    let query = fs::read(exchange.path("q2.bin")).unwrap();
    assert_eq!((query.len() - 4) % 36, 0, "{} bytes", query.len());

    for (query, answer) in [
        ("q1.bin", "a1.bin"),
        ("q2.bin", "a2.bin"),
        ("q3.bin", "a3.bin"),
        ("other.bin", "of-other.bin"),
    ] {
        exchange.answer(query, answer);
    }

    // Another client's answer, a damaged one and a truncated one leave the state as it is.
    exchange.extracts_nothing(&url, "first", "of-other.bin", 3, TAG);
    let answer = fs::read(exchange.path("a2.bin")).unwrap();
    let mut damaged = answer.clone();
    damaged[100] ^= 1;
    exchange.folder.write("damaged.bin", damaged);
    exchange.folder.write("truncated.bin", &answer[..3]);
    exchange.extracts_nothing(&url, "first", "damaged.bin", 3, TAG);
    let truncated = "3 bytes: a truncated one";
    exchange.extracts_nothing(&url, "first", "truncated.bin", 3, truncated);

    // In any order, each once. A query that is answered again has no lookup any more.
    assert_eq!(exchange.extract(&url, "first", "a2.bin"), "value-9");
    exchange.answer("q2.bin", "again.bin");
    for name in ["a2.bin", "again.bin"] {
        exchange.extracts_nothing(&url, "first", name, 2, TAG);
    }
    assert_eq!(exchange.extract(&url, "first", "a1.bin"), "value-7");
    assert_eq!(exchange.extract(&url, "second", "of-other.bin"), "value-8");

    let absent = papir(&[
        "extract",
        &url,
        &exchange.path("a3.bin"),
        "--state",
        &exchange.path("first"),
    ]);
    assert_eq!(absent.status.code(), Some(1));
    assert_eq!(String::from_utf8(absent.stderr).unwrap(), "absent\n");
}

#[test]
fn damaged_queries_and_other_versions_are_refused() {
    let exchange = Exchange::new();
    let service = exchange.serve();
    let url = service.url.clone();
    exchange.query(&url, "state", "key-7", "q1.bin");
    drop(service);

    let query = fs::read(exchange.path("q1.bin")).unwrap();
    exchange.folder.write("empty.bin", b"");
    exchange.folder.write("handle.bin", &query[..4]);
    exchange
        .folder
        .write("short.bin", &query[..query.len() - 1]);
    let mut other = query.clone();
    other[0] ^= 1;
    exchange.folder.write("other.bin", other);
    for (name, part) in [
        ("empty.bin", "a short query has 0 bytes"),
        ("handle.bin", "a short query has 4 bytes"),
        ("short.bin", "a short query has "),
        ("other.bin", "no client"),
    ] {
        exchange.refuses(name, &[part]);
    }
    exchange.refuses("other.bin", &["its client is unknown", "at version"]);

    let unknown = "0".repeat(32);
    for (client, part) in [
        (unknown.as_str(), "the named client is unknown"),
        ("phone", "the named client is malformed"),
    ] {
        exchange.refuses_with("q1.bin", &["--client", client], &[part]);
    }

    // Damage behind the handle is answered, and the answer is refused.
    let mut damaged = query.clone();
    damaged[20] ^= 1;
    exchange.folder.write("damaged.bin", damaged);
    exchange.answer("damaged.bin", "a.bin");
    exchange.extracts_nothing(&url, "state", "a.bin", 1, TAG);

    let changes = exchange
        .folder
        .write("changes.csv", "word,meaning\nkey-7,changed\n");
    succeeds(&["update", &exchange.words, "--from", &changes]);
    let earlier = ["no client", "at version", "it is for version", "--renew"];
    exchange.refuses("q1.bin", &earlier);

    let service = exchange.serve();
    let renewed = exchange.asked(&url, "state", "key-7", "q2.bin");
    let mut renewed: Vec<&str> = renewed.iter().map(String::as_str).collect();
    renewed.push("--renew");
    succeeds(&renewed);
    drop(service);
    exchange.answer("q2.bin", "a2.bin");
    exchange.extracts_nothing(&url, "state", "a.bin", 1, "an answer is malformed");
    assert_eq!(exchange.extract(&url, "state", "a2.bin"), "changed");
}

/// A query that could not be written is lost, and its lookup stays: a later query has other
/// randomness, and nothing is sent twice.
#[test]
fn a_query_that_is_lost_reveals_nothing_later() {
    let exchange = Exchange::new();
    let service = exchange.serve();
    let url = service.url.clone();
    exchange.query(&url, "state", "key-7", "q1.bin");
    drop(service);

    let lost = exchange.asked(&url, "state", "key-8", "no-folder/q.bin");
    let lost: Vec<&str> = lost.iter().map(String::as_str).collect();
    fails_with(&lost, &["no-folder"]);
    exchange.query(&url, "state", "key-7", "q2.bin");
    let queries = ["q1.bin", "q2.bin"].map(|name| fs::read(exchange.path(name)).unwrap());
    assert_eq!(queries[0][..4], queries[1][..4]);
    assert_ne!(queries[0][4..], queries[1][4..]);

    exchange.answer("q2.bin", "a2.bin");
    assert_eq!(exchange.extract(&url, "state", "a2.bin"), "value-7");
    exchange.extracts_nothing(&url, "state", "a2.bin", 2, TAG);
}

#[test]
fn schemes_without_client_keys_have_no_files() {
    let folder = Folder::new();
    let numbers = folder.numbers(50, "simple");
    let service = Service::start(&[&numbers], &[]);
    let out = folder.path("q.bin");
    let state = folder.path("state");
    let ask = ["query", &service.url, "--state", &state, "--out", &out];
    fails_with(
        &[&ask[..], &["--index", "7"]].concat(),
        &[
            "simple",
            "queries in files are for schemes whose clients register",
        ],
    );
    fails_with(&[&ask[..], &["key"]].concat(), &["--index"]);

    let get = ["get", &service.url, "--index", "7", "--state", &state];
    let known = [&get[..], &["--known"]].concat();
    assert_eq!(succeeds(&known), succeeds(&get));
    assert_eq!(succeeds(&known), succeeds(&get));
}
