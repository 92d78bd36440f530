//! `papir inspect` of a file and of a server.

use serde_json::Value;

use crate::support::{Folder, Service, fails_for_now, fails_with, succeeds};

#[test]
fn a_file_and_its_server_are_described_alike() {
    let folder = Folder::new();
    let words = folder.words(1000, papir::DEFAULT_SCHEME);
    let of_file = succeeds(&["inspect", &words]);
    for name in [
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
    ] {
        assert!(
            of_file.lines().any(|line| line.starts_with(name)),
            "no {name} in {of_file}"
        );
    }
    assert!(of_file.contains("overhead"), "{of_file}");
    let bits = |text: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with("security"))
            .unwrap()
            .to_owned();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<f64>()
            .unwrap()
    };
    assert!(bits(&of_file) >= 128.0);

    let service = Service::start(&[&words], &[]);
    let json = |place: &str| -> Value {
        serde_json::from_str(&succeeds(&["inspect", place, "--json"])).unwrap()
    };
    let file = json(&words);
    let served = json(&service.url);
    for name in [
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
    ] {
        assert_eq!(file[name], served[name], "{name}");
    }
    // A request has up to 64 queries, and is padded.
    let most = 64 * file["sizes"]["query"].as_u64().unwrap();
    let sealed = file["sealed"]["request"].as_u64().unwrap();
    assert!(
        sealed > most && sealed < most + most / 16 + 16_384,
        "{file}"
    );
    assert_eq!(
        (&file["name"], &file["keyed"], &file["root"]),
        (&"words".into(), &true.into(), &Value::Null)
    );
    assert!(
        file["security_bits"].as_f64() > Some(128.0) && file["failure_log2"].as_f64() < Some(-40.0)
    );
    assert!(
        file["sizes"]["query"].as_u64() > Some(0) && file["file_bytes"].as_u64() > Some(0),
        "{file}"
    );
    let of_service = succeeds(&["inspect", &service.url]);
    let common: Vec<&str> = of_service.lines().collect();
    assert!(
        common.len() > 10 && common.iter().all(|line| of_file.contains(line)),
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
