//! `papir inspect` of a file and of a server.

use std::process::Command;

use serde_json::Value;

use crate::support::{Folder, Service, fails_for_now, fails_with, isolated, root, succeeds};

/// Beginnings of the lines about a private database.
const LINES: [&str; 10] = [
    "scheme",
    "version",
    "records",
    "lookup",
    "security",
    "failure",
    "query",
    "answer",
    "largest request",
    "largest response",
];

/// Fields that a file and its server have in common.
const COMMON_FIELDS: [&str; 11] = [
    "name",
    "scheme",
    "version",
    "records",
    "keyed",
    "root",
    "sequence",
    "owner",
    "delta_root",
    "sizes",
    "sealed",
];

/// The description of a file or a server as JSON.
fn described(place: &str) -> Value {
    serde_json::from_str(&succeeds(&["inspect", place, "--json"])).unwrap()
}

/// The bits of security in the text about a database.
fn security_bits(text: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with("security"));
    let bits = line.unwrap().split_whitespace().nth(1);
    bits.unwrap().parse().unwrap()
}

#[test]
fn the_text_and_the_json_of_a_file_have_its_sizes_and_its_security() {
    let folder = Folder::new();
    let words = folder.words(1000, "inspire");

    let text = succeeds(&["inspect", &words]);
    for begin in LINES {
        let is_there = text.lines().any(|line| line.starts_with(begin));
        assert!(is_there, "no {begin} in {text}");
    }
    assert!(text.contains("overhead"), "{text}");
    assert!(security_bits(&text) >= 128.0, "{text}");

    let json = described(&words);
    assert_eq!(
        (&json["name"], &json["keyed"], &json["root"]),
        (&"words".into(), &true.into(), &Value::Null)
    );
    assert!(json["security_bits"].as_f64() > Some(128.0), "{json}");
    assert!(json["failure_log2"].as_f64() < Some(-40.0), "{json}");
    assert!(json["file_bytes"].as_u64() > Some(0), "{json}");

    let query = json["sizes"]["query"].as_u64().unwrap();
    assert!(query > 0, "{json}");
    // A request has up to 64 queries, and is padded.
    let most = 64 * query;
    let sealed = json["sealed"]["request"].as_u64().unwrap();
    assert!(sealed > most, "{json}");
    assert!(sealed < most + most / 16 + 16_384, "{json}");
}

#[test]
fn a_file_and_its_server_are_described_alike() {
    let folder = Folder::new();
    let words = folder.words(1000, "inspire");
    let service = Service::start(&[&words], &[]);

    let file = described(&words);
    let served = described(&service.url);
    for name in COMMON_FIELDS {
        assert_eq!(file[name], served[name], "{name}");
    }

    let of_file = succeeds(&["inspect", &words]);
    let of_service = succeeds(&["inspect", &service.url]);
    let common: Vec<&str> = of_service.lines().collect();
    assert!(common.len() > 10, "{of_service}");
    assert!(
        common.iter().all(|line| of_file.contains(line)),
        "{of_file}{of_service}"
    );
}

#[test]
fn inspection_failures_are_one_line() {
    let folder = Folder::new();
    fails_with(
        &["inspect", &folder.path("missing.papir")],
        &["missing.papir"],
    );
    fails_with(
        &["inspect", &folder.write("text.papir", "no snapshot")],
        &["text.papir", "`no snaps`", "papir"],
    );
    fails_for_now(&["inspect", "http://127.0.0.1:1"], &["http://127.0.0.1:1"]);
}

#[test]
fn a_scheme_that_is_not_private_is_marked() {
    let folder = Folder::new();
    let text = succeeds(&["inspect", &folder.numbers(7, "plain")]);
    assert!(
        text.contains("NOT PRIVATE") && text.contains("7 of 4 B"),
        "{text}"
    );
}

/// A command that runs the script that checks certificates, with the Python that the person chose.
fn checker() -> Command {
    let chosen = std::env::var_os("PAPIR_PYTHON").filter(|python| !python.is_empty());
    let mut command = isolated(chosen.unwrap_or_else(|| "python3".into()));
    command
        .arg("-B")
        .arg(root().join("reference/certificate.py"));
    command
}

#[test]
fn a_certificate_of_the_failure_bound_is_written_and_checked() {
    let folder = Folder::new();
    let words = folder.words(1000, papir::DEFAULT_SCHEME);
    let out = folder.path("bound.json");

    assert_eq!(succeeds(&["inspect", &words, "--certificate", &out]), "");
    let written = std::fs::read_to_string(&out).unwrap();
    assert_eq!(
        succeeds(&["inspect", &words, "--certificate", "-"]),
        written
    );

    let checked = checker().arg(&out).output().unwrap();
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success(), "{text}{checked:?}");
    assert!(text.contains("fails with at most 2^-"), "{text}");

    // A file that exists is kept.
    fails_with(&["inspect", &words, "--certificate", &out], &["bound.json"]);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), written);
}

#[test]
fn a_service_and_some_schemes_have_no_certificate() {
    let folder = Folder::new();
    fails_with(
        &["inspect", "http://127.0.0.1:1", "--certificate", "-"],
        &["--certificate", "papir pull"],
    );

    let numbers = folder.numbers(7, "depir");
    fails_with(
        &["inspect", &numbers, "--certificate", "-"],
        &["depir has no certificate"],
    );
}
