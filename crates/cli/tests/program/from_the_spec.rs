//! The client in `examples/from-the-spec`, written from docs/formats.md alone, against a service.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Folder, Service, root, succeeds};

/// Looks keys or indices up, and returns their values.
fn look_up(url: &str, arguments: &[&str]) -> Vec<Value> {
    let client = root().join("examples/from-the-spec/client.py");
    let output = Command::new("python3").arg("-B").arg(client).arg(url).args(arguments).output();
    let output = output.expect("Python 3.10 or later is missing: install it (apt install python3)");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let value = |line: &str| serde_json::from_str::<Value>(line).unwrap()["value"].clone();
    text.lines().map(value).collect()
}

#[test]
fn a_client_from_the_spec_reads_keys_and_records() {
    let folder = Folder::new();
    let row = |i: usize| format!("word-{i},{}\n", "x".repeat(i % 70));
    let rows: String = (0..300).map(row).collect();
    let source = folder.write("rows.csv", format!("word,meaning\n{rows}"));
    let build = |name: &str, scheme: &str, more: &[&str]| {
        let out = folder.path(name);
        let keyed =
            ["build", &source, "--key", "word", "--value", "meaning", "--scheme", scheme, "--out", &out];
        succeeds(&[&keyed, more].concat());
        out
    };
    let plain = build("plain.papir", "simple", &[]);
    let proven = build("proven.papir", "simple", &["--verifiable", "--failure", "2^-100"]);
    let short = build("short.papir", "inspire", &[]);
    let raw = folder.write("raw.bin", (0..250u8).flat_map(|i| [b'a' + i % 26; 9]).collect::<Vec<_>>());
    let numbered = folder.path("numbered.papir");
    succeeds(&[
        "build",
        &raw,
        "--format",
        "raw",
        "--record-bytes",
        "9",
        "--scheme",
        "simple",
        "--out",
        &numbered,
    ]);
    let service = Service::start(&[&plain, &proven, &short, &numbered], &[]);
    for name in ["plain", "proven", "short"] {
        let url = format!("{}/v1/databases/{name}", service.url);
        let found = look_up(&url, &["word-7", "word-70", "absent"]);
        assert_eq!(found, [json!("xxxxxxx"), json!(""), Value::Null], "{name}");
    }
    let url = format!("{}/v1/databases/numbered", service.url);
    assert_eq!(look_up(&url, &["--index", "27", "249"]), [json!("bbbbbbbbb"), json!("ppppppppp")]);
}

#[test]
fn the_vectors_are_right_for_it() {
    let checks = root().join("examples/from-the-spec/check_vectors.py");
    let output = Command::new("python3").arg("-B").arg(checks).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
