//! `papir doctor` of services and of files.

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::Value;

use crate::support::{Folder, Service, papir, succeeds};

const OPEN: &str = "--allow-not-private";

/// The exit code, and the findings by the name of the check; of several, the worst.
fn examined(arguments: &[&str]) -> (Option<i32>, Vec<Value>) {
    let output = papir(&[&["doctor"], arguments, &["--json"]].concat());
    let found: Vec<Value> = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), found)
}

fn finding<'a>(found: &'a [Value], check: &str) -> &'a Value {
    found
        .iter()
        .find(|one| one["check"] == check)
        .unwrap_or_else(|| panic!("no {check} in {found:?}"))
}

#[test]
fn a_healthy_service_has_no_failures() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.words(100, "inspire")], &[]);
    let (code, found) = examined(&[&service.url]);
    assert_eq!(code, Some(0), "{found:?}");
    for check in [
        "connection",
        "certificate",
        "clock",
        "ready",
        "token",
        "version",
        "messages",
        "lookup",
    ] {
        assert_eq!(finding(&found, check)["status"], "ok", "{check}: {found:?}");
    }
    let text = succeeds(&["doctor", &service.url]);
    assert_eq!(text.lines().count(), found.len(), "one line each: {text}");
    assert!(text.lines().all(|line| line.starts_with("ok ")), "{text}");
}

#[test]
fn an_expired_certificate_is_found() {
    let folder = Folder::new();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    let cert = folder.write("cert.pem", params.self_signed(&key).unwrap().pem());
    let key = folder.write("key.pem", key.serialize_pem());
    let words = folder.words(10, "plain");
    let service = Service::start(&[&words], &[OPEN, "--tls-cert", &cert, "--tls-key", &key]);
    let of_file = ["--tls-cert", &cert, "--tls-key", &key];
    for arguments in [
        &[&service.url, "--ca", &cert][..],
        &[&[words.as_str()], &of_file[..]].concat(),
    ] {
        let (code, found) = examined(arguments);
        let certificate = finding(&found, "certificate");
        assert_eq!(
            (code, &certificate["status"]),
            (Some(2), &"fail".into()),
            "{found:?}"
        );
        assert!(
            certificate["detail"].as_str().unwrap().contains("expired"),
            "{found:?}"
        );
        assert!(
            certificate["fix"].as_str().unwrap().contains("renew"),
            "{found:?}"
        );
    }
}

#[test]
fn a_wrong_token_is_found() {
    let folder = Folder::new();
    let tokens = folder.path("tokens.toml");
    let token = folder.write(
        "token",
        succeeds(&["tokens", &tokens, "add", "--name", "phone"]),
    );
    let other = folder.write("other", "papir_00");
    let words = folder.words(10, "inspire");
    let service = Service::start(&[&words], &["--tokens", &tokens]);
    let (code, found) = examined(&[&service.url, "--token-file", &other]);
    let refused = finding(&found, "token");
    assert_eq!(
        (code, &refused["status"]),
        (Some(2), &"fail".into()),
        "{found:?}"
    );
    assert!(
        refused["fix"].as_str().unwrap().contains("--token-file"),
        "{found:?}"
    );
    let (code, found) = examined(&[&service.url, "--token-file", &token]);
    assert_eq!(
        (code, &finding(&found, "token")["detail"]),
        (Some(0), &"accepted".into()),
        "{found:?}"
    );
}

#[test]
fn files_are_examined_with_the_machine() {
    let folder = Folder::new();
    let (code, found) = examined(&[&folder.path("none.papir")]);
    let file = finding(&found, "file");
    assert_eq!(
        (code, &file["status"]),
        (Some(2), &"fail".into()),
        "{found:?}"
    );
    assert!(
        file["detail"].as_str().unwrap().contains("none.papir"),
        "{found:?}"
    );

    let words = folder.words(10, "inspire");
    let (code, found) = examined(&[&words]);
    assert_eq!(
        (code, &finding(&found, "file")["status"]),
        (Some(0), &"ok".into()),
        "{found:?}"
    );
    for check in ["memory", "processor", "open files"] {
        assert!(finding(&found, check)["detail"].is_string(), "{found:?}");
    }
    let tokens = folder.path("tokens.toml");
    succeeds(&[
        "tokens",
        &tokens,
        "add",
        "--name",
        "misspelt",
        "--database",
        "wrods",
    ]);
    let (code, found) = examined(&[
        &words,
        "--registry",
        &folder.path("nowhere"),
        "--tokens",
        &tokens,
    ]);
    assert_eq!(
        (code, &finding(&found, "registry")["status"]),
        (Some(2), &"fail".into()),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .any(|one| one["check"] == "tokens" && one["status"] == "warn"),
        "{found:?}"
    );
    let damaged = std::fs::read(&words).unwrap();
    let damaged = folder.write("damaged.papir", &damaged[..damaged.len() - 1]);
    assert_eq!(finding(&examined(&[&damaged]).1, "file")["status"], "fail");
}

#[test]
fn a_service_out_of_reach_is_a_failed_check() {
    let (code, found) = examined(&["http://127.0.0.1:1"]);
    assert_eq!((code, found.len()), (Some(2), 1), "{found:?}");
    assert_eq!(finding(&found, "connection")["status"], "fail");
}
