//! Commands end within `--timeout`, and say what they wait for.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::support::{fails_for_now, fails_with, papir};

/// A service that accepts connections, and never answers.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

#[test]
fn no_command_waits_for_a_silent_service_longer() {
    let (_listener, url) = silent();
    let timeout = ["--timeout", "300ms"];
    let commands: [&[&str]; 8] = [
        &["get", &url, "key"],
        &["get", &url, "key", "--json"],
        &["inspect", &url],
        &["inspect", "--ready", &url],
        &["hold", &url],
        &["versions", &url],
        &["clients", &url, "list"],
        &["load", &url],
    ];
    for command in commands {
        let arguments = [command, &timeout].concat();
        fails_for_now(&arguments, &[&url, "no result within 300ms"]);
    }

    let output = papir(&["doctor", &url, "--timeout", "300ms"]);
    let findings = String::from_utf8(output.stdout).unwrap();
    assert!(
        findings.contains("connection") && findings.contains("no result within 300ms"),
        "{findings}"
    );
}

#[test]
fn a_timeout_of_zero_is_refused() {
    let arguments = ["get", "http://127.0.0.1:9", "key", "--timeout", "0"];
    let output = papir(&arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("expected more than 0"), "{stderr}");
}

/// Answers each request on a connection by the next status, with `Retry-After`.
fn answer(mut stream: TcpStream, statuses: &mut dyn Iterator<Item = u16>) {
    let mut request = [0; 4096];
    while matches!(stream.read(&mut request), Ok(length) if length > 0) {
        let Some(status) = statuses.next() else {
            return;
        };
        let head = format!("HTTP/1.1 {status} X\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n");
        if stream.write_all(head.as_bytes()).is_err() {
            return;
        }
    }
}

/// A service that is busy at first, and then has no database.
fn busy() -> String {
    let (listener, url) = silent();
    thread::spawn(move || {
        let mut statuses = [503, 404].into_iter();
        for stream in listener.incoming() {
            answer(stream.unwrap(), &mut statuses);
        }
    });
    url
}

#[test]
fn a_wait_for_a_busy_service_is_announced() {
    let url = busy();
    let output = papir(&["get", &url, "key"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{stderr}");
    assert_eq!(lines[0], format!("papir: waiting for {url}: HTTP 503"));
    assert!(lines[1].contains("HTTP 404"), "{stderr}");
}

#[test]
fn with_json_only_the_outcome_is_printed() {
    fails_with(&["get", &busy(), "key", "--json"], &["HTTP 404"]);
}
