//! Tokens, TLS and Unix sockets from the command line.

use std::process::Output;

use rcgen::generate_simple_self_signed;

use crate::support::{Folder, Service, fails_for_now, fails_with, papir, program, succeeds, until};

const OPEN: &str = "--allow-not-private";

/// Runs papir with a token in the environment.
fn with_token(token: &str, arguments: &[&str]) -> Output {
    program()
        .args(arguments)
        .env("PAPIR_TOKEN", token)
        .output()
        .unwrap()
}

#[test]
fn a_token_gives_access_until_it_is_revoked() {
    let folder = Folder::new();
    let tokens = folder.path("tokens.toml");
    let secret = succeeds(&[
        "tokens",
        &tokens,
        "add",
        "--name",
        "phone",
        "--database",
        "words",
    ]);
    let file = folder.write("phone.token", &secret);
    let service = Service::start(&[&folder.words(10, "plain")], &[OPEN, "--tokens", &tokens]);
    let url = service.url.as_str();

    assert_eq!(
        succeeds(&["get", url, OPEN, "--token-file", &file, "key-3"]),
        "value-3"
    );
    assert_eq!(
        with_token(secret.trim(), &["get", url, OPEN, "key-3"]).stdout,
        b"value-3"
    );
    assert!(succeeds(&["inspect", url, "--token-file", &file]).contains("words"));
    fails_with(&["get", url, OPEN, "key-3"], &["401", "unauthorized"]);
    let refused = with_token("papir_00", &["get", url, OPEN, "key-3"]);
    assert!(String::from_utf8(refused.stderr).unwrap().contains("401"));
    // Readiness needs no token.
    assert_eq!(succeeds(&["inspect", "--ready", url]), "");

    succeeds(&["tokens", &tokens, "revoke", "--name", "phone"]);
    until("the revoked token gives no access", || {
        with_token(secret.trim(), &["get", url, OPEN, "key-3"])
            .status
            .code()
            != Some(0)
    });
    fails_with(
        &["get", url, OPEN, "--token-file", &file, "key-3"],
        &["401", "unauthorized"],
    );
}

#[test]
fn a_token_for_no_served_database_is_a_warning() {
    let folder = Folder::new();
    let tokens = folder.path("tokens.toml");
    succeeds(&[
        "tokens",
        &tokens,
        "add",
        "--name",
        "phone",
        "--database",
        "words,more",
    ]);
    succeeds(&[
        "tokens",
        &tokens,
        "add",
        "--name",
        "watcher",
        "--scope",
        "metrics",
        "--database",
        "more",
    ]);
    let check = [
        "serve",
        &folder.words(10, "plain"),
        OPEN,
        "--tokens",
        &tokens,
        "--check-config",
    ];
    assert_eq!(String::from_utf8(papir(&check).stderr).unwrap(), "");
    succeeds(&[
        "tokens",
        &tokens,
        "add",
        "--name",
        "misspelt",
        "--database",
        "wrods",
    ]);
    let output = papir(&check);
    let warned = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), warned.lines().count()),
        (Some(0), 1),
        "{warned}"
    );
    for part in ["tokens.toml", "`misspelt`", "wrods", "words"] {
        assert!(warned.contains(part), "no {part} in {warned}");
    }
}

#[test]
fn tokens_are_listed_without_their_secrets() {
    let folder = Folder::new();
    let tokens = folder.path("tokens.toml");
    let secret = succeeds(&[
        "tokens",
        &tokens,
        "add",
        "--name",
        "phone",
        "--expires-in",
        "30d",
    ]);
    succeeds(&[
        "tokens",
        &tokens,
        "add",
        "--name",
        "p",
        "--scope",
        "metrics,admin",
        "--database",
        "a,b",
    ]);
    let list = succeeds(&["tokens", &tokens, "list"]);
    let lines: Vec<&str> = list.lines().collect();
    assert!(
        lines[0].starts_with("phone  query  all databases  since ")
            && lines[0].contains("  until ")
    );
    assert!(
        lines[1].starts_with("p  metrics,admin  a,b  since ")
            && lines[1].ends_with("never expires"),
        "{list}"
    );
    let json = succeeds(&["tokens", &tokens, "list", "--json"]);
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["name"], &first["expired"]),
        (&"phone".into(), &false.into())
    );
    assert!(!list.contains(secret.trim()) && !json.contains(secret.trim()));
    fails_with(
        &["tokens", &tokens, "add", "--name", "phone"],
        &["tokens.toml", "`phone`"],
    );
    fails_with(
        &["tokens", &tokens, "add", "--name", "x", "--scope", "all"],
        &["all", "metrics"],
    );
    fails_with(
        &["tokens", &tokens, "revoke", "--name", "nobody"],
        &["`nobody`"],
    );
    fails_with(
        &["tokens", &folder.path("none.toml"), "list"],
        &["none.toml"],
    );
}

#[test]
fn a_token_is_not_sent_in_the_clear() {
    let folder = Folder::new();
    let file = folder.write("a.token", "papir_00\n");
    // An address reserved for documentation: nothing may be sent there.
    let url = "http://192.0.2.1:9";
    fails_with(
        &["get", url, "--token-file", &file, "key"],
        &["no query was sent", "--insecure-http"],
    );
    fails_with(
        &["get", url, "--token-file", &folder.path("none"), "key"],
        &["none"],
    );
    fails_with(
        &[
            "get",
            url,
            "--token-file",
            &folder.write("b.token", "two words"),
            "key",
        ],
        &["b.token"],
    );
}

#[test]
fn a_tls_server_is_queried_by_clients_that_trust_its_certificate() {
    let folder = Folder::new();
    let own = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let other = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let cert = folder.write("cert.pem", own.cert.pem());
    let key = folder.write("key.pem", own.signing_key.serialize_pem());
    let words = folder.words(10, "plain");
    let service = Service::start(&[&words], &[OPEN, "--tls-cert", &cert, "--tls-key", &key]);
    assert!(service.url.starts_with("https://"), "{}", service.url);
    assert_eq!(
        succeeds(&["get", &service.url, OPEN, "--ca", &cert, "key-3"]),
        "value-3"
    );
    fails_with(&["get", &service.url, OPEN, "key-3"], &["certificate"]);
    fails_with(
        &["get", &service.url, OPEN, "--ca", &key, "key-3"],
        &["key.pem"],
    );

    let serve = |more: &[&str], parts: &[&str]| {
        fails_with(
            &[&["serve", "--listen", "127.0.0.1:0", OPEN, &words], more].concat(),
            parts,
        );
    };
    serve(&["--tls-cert", &cert], &["tls-key"]);
    serve(
        &["--tls-cert", &cert, "--tls-key", &folder.path("none.pem")],
        &["none.pem"],
    );
    let foreign = folder.write("foreign.pem", other.signing_key.serialize_pem());
    serve(
        &["--tls-cert", &cert, "--tls-key", &foreign],
        &["foreign.pem", "cert.pem"],
    );
    serve(&["--tokens", &folder.path("none.toml")], &["none.toml"]);
}

#[cfg(unix)]
#[test]
fn a_unix_socket_is_served_and_queried() {
    let folder = Folder::new();
    let sockets = Folder::short();
    let listen = sockets.socket();
    let service = Service::start(&[&folder.words(10, "plain")], &[OPEN, "--listen", &listen]);
    assert_eq!(service.url, listen);
    assert_eq!(
        succeeds(&["get", &listen, OPEN, "--database", "words", "key-3"]),
        "value-3"
    );
    assert!(succeeds(&["inspect", &listen]).contains("words"));
    fails_for_now(
        &["inspect", &format!("unix:{}", sockets.path("none.sock"))],
        &["No such file"],
    );
}
