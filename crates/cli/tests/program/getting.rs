//! `papir get` against a running service.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Folder, Service, fails_for_now, fails_with, papir, succeeds};

const OPEN: &str = "--allow-not-private";

fn lines(text: &[u8]) -> Vec<Value> {
    text.split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

#[test]
fn one_key_prints_raw_bytes_and_several_print_json_lines() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.words(100, "inspire")], &[]);
    let url = service.url.as_str();

    assert_eq!(succeeds(&["get", url, "key-7"]), "value-7");
    assert_eq!(
        succeeds(&["get", url, "key-7", "--json"]),
        "{\"key\":\"key-7\",\"value\":\"value-7\"}\n"
    );
    let several = papir(&["get", url, "key-99", "key-0"]);
    assert_eq!(several.status.code(), Some(0));
    let expected = [
        json!({"key": "key-99", "value": "value-99"}),
        json!({"key": "key-0", "value": "value-0"}),
    ];
    assert_eq!(lines(&several.stdout), expected);

    let absent = papir(&["get", url, "key-100"]);
    assert_eq!(
        (absent.status.code(), absent.stdout.as_slice()),
        (Some(1), &b""[..])
    );
    let some = papir(&["get", url, "key-1", "", "key-1000"]);
    assert_eq!(some.status.code(), Some(1));
    let values: Vec<Value> = lines(&some.stdout)
        .into_iter()
        .map(|line| line["value"].clone())
        .collect();
    assert_eq!(values, [json!("value-1"), Value::Null, Value::Null]);

    let named = format!("{url}/v1/databases/words");
    assert_eq!(succeeds(&["get", &named, "key-7"]), "value-7");
}

#[test]
fn costs_are_printed_on_stderr() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.words(50, "inspire")], &[]);
    let output = papir(&["get", &service.url, "key-7", "-v"]);
    assert_eq!(output.stdout, b"value-7");
    let text = String::from_utf8(output.stderr).unwrap();
    for word in ["words", "inspire", "fetched", "sent", "received"] {
        assert!(text.contains(word), "no `{word}` in {text}");
    }
    let costs = |key| lines(&papir(&["get", &service.url, key, "-v", "--json"]).stderr).remove(0);
    let present = costs("key-7");
    let absent = costs("absent");
    assert_eq!(present["registration_bytes"], 0);
    for figure in ["public_bytes", "upload_bytes", "download_bytes", "requests"] {
        assert!(present[figure].as_u64().unwrap() > 0, "{figure}");
        assert_eq!(
            present[figure], absent[figure],
            "{figure} reveals whether a key exists"
        );
    }
}

#[test]
fn values_that_are_not_utf8_are_in_base64() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.numbers(300, "plain")], &[OPEN]);
    let url = service.url.as_str();
    let record = papir(&["get", url, OPEN, "--index", "258"]);
    assert_eq!(
        (record.status.code(), record.stdout),
        (Some(0), 258u32.to_le_bytes().to_vec())
    );
    let several = papir(&["get", url, OPEN, "--index", "255", "65"]);
    let expected = [
        json!({"index": 255, "value_base64": "/wAAAA=="}),
        json!({"index": 65, "value": "A\0\0\0"}),
    ];
    assert_eq!(lines(&several.stdout), expected);
}

#[test]
fn invalid_lookups_are_refused_in_one_line() {
    let folder = Folder::new();
    let words = folder.words(100, "plain");
    let numbers = folder.numbers(100, "plain");
    let service = Service::start(&[&words, &numbers], &[OPEN]);
    let url = service.url.as_str();

    fails_with(&["get", url, OPEN, "key-1"], &["`numbers`", "`words`"]);
    fails_with(
        &["get", url, OPEN, "key-1", "--database", "names"],
        &["`names`", "`numbers`", "`words`"],
    );
    fails_with(
        &["get", url, OPEN, "--database", "words", "--index", "1"],
        &["--index", "key", "buckets"],
    );
    fails_with(
        &["get", url, OPEN, "--database", "numbers", "key-1"],
        &["no keys", "index"],
    );
    fails_with(
        &["get", url, OPEN, "--database", "numbers", "--index", "100"],
        &["100"],
    );
    assert_eq!(
        succeeds(&["get", url, OPEN, "--database", "words", "key-1"]),
        "value-1"
    );

    fails_with(
        &["get", url, "--database", "words", "key-1"],
        &["no query was sent", "not private"],
    );
    fails_with(&["get", "127.0.0.1:1", "key"], &["http://"]);
    fails_for_now(
        &["get", "http://127.0.0.1:1", "key"],
        &["http://127.0.0.1:1"],
    );
    fails_with(&["get", &format!("{url}/elsewhere"), "key"], &["404"]);
}

/// A server must not learn from silence that a line is no number.
#[test]
fn lines_that_are_no_numbers_are_queried_too() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.numbers(100, "plain")], &[OPEN]);
    let mut answered = 0;
    for (text, code) in [("1\n2\n", 0), ("1\nx\n", 2), ("1\n100\n", 2)] {
        let numbers = folder.write("numbers.txt", text);
        let output = papir(&["get", &service.url, OPEN, "--batch", &numbers]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{message}");
        assert_eq!(
            message.contains("line 2: `x` is not a record number"),
            text.contains('x'),
            "{message}"
        );
        answered += 1;
        assert_eq!(service.answered("numbers"), answered, "{text}");
    }
}

#[test]
fn every_key_of_a_database_is_found() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.words(500, "plain")], &[OPEN]);
    let keys: Vec<String> = (0..500).map(|i| format!("key-{i}")).collect();
    let mut arguments = vec!["get", &service.url, OPEN];
    arguments.extend(keys.iter().map(String::as_str));
    let output = papir(&arguments);
    assert_eq!(output.status.code(), Some(0));
    let values: BTreeSet<String> = lines(&output.stdout)
        .iter()
        .map(|line| line["value"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(values, (0..500).map(|i| format!("value-{i}")).collect());
}
