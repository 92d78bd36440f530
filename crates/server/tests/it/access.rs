//! Tokens: permissions, and changes without a restart.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::secured::{source, token};
use crate::support::{Reply, Running, config, get, indexed, record, send, stateless};
use papir_client::{Connection, Options, Token};
use papir_server::{NewToken, Protection, Scope, Server, ServerConfig, TokenFile, TokenSource};
use tempfile::TempDir;

fn guarded(tokens: Vec<TokenSource>) -> ServerConfig {
    ServerConfig {
        protection: Protection {
            tokens,
            ..Protection::default()
        },
        ..config()
    }
}

fn start(tokens: Vec<TokenSource>) -> Running {
    Running::start(
        guarded(tokens),
        vec![indexed("table", "plain", 50), indexed("words", "plain", 9)],
    )
}

fn ask(server: &Running, method: &str, path: &str, token: &str) -> Reply {
    let value = format!("Bearer {token}");
    send(
        method,
        &format!("{}{path}", server.url()),
        &[("authorization", &value)],
        b"x",
    )
}

/// Checks that a request is refused with a status and a code.
#[track_caller]
fn refuses(server: &Running, method: &str, path: &str, token: &str, refusal: (u16, &str)) {
    let reply = ask(server, method, path, token);
    let found = (reply.status, reply.code());
    assert_eq!((found.0, found.1.as_str()), refusal, "{method} {path}");
    assert_eq!(
        reply.header("www-authenticate").is_some(),
        refusal.0 == 401,
        "{method} {path}"
    );
}

#[test]
fn each_request_is_allowed_or_refused_by_its_token() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tokens.toml");
    let all = token(&file, "all", &[Scope::Query], None);
    let words = token(&file, "words", &[Scope::Query], Some(&["words", "later"]));
    let metrics = token(&file, "metrics", &[Scope::Metrics], None);
    let server = start(source(&file));

    refuses_without_a_token(&server);
    refuses_beyond_a_token(&server, &all, &words, &metrics);
    refuses_what_is_missing(&server, &all, &words);

    for (path, token) in [
        ("/v1/databases/table", &all),
        ("/v1/databases/words/public", &words),
    ] {
        assert_eq!(ask(&server, "GET", path, token).status, 200, "{path}");
    }
    for open in ["/healthz", "/readyz"] {
        assert_eq!(
            get(&format!("{}{open}", server.url())).status,
            200,
            "{open}"
        );
    }
    names_allowed_databases_only(&server, &words);
}

fn refuses_without_a_token(server: &Running) {
    for (method, path, token) in [
        ("GET", "/v1/databases", ""),
        ("GET", "/v1/databases", "papir_0"),
        ("GET", "/v1/databases/table", ""),
        ("POST", "/v1/databases/table/query", ""),
        ("GET", "/v1/databases/nowhere", ""),
        ("GET", "/nowhere", ""),
        ("GET", "/metrics", ""),
    ] {
        refuses(server, method, path, token, (401, "unauthorized"));
    }
}

/// `words` is a token for one database, and `metrics` one for metrics only.
fn refuses_beyond_a_token(server: &Running, all: &str, words: &str, metrics: &str) {
    for (method, path, token) in [
        ("GET", "/metrics", all),
        ("GET", "/v1/databases", metrics),
        ("GET", "/v1/databases/table", metrics),
        ("GET", "/v1/databases/table", words),
        ("GET", "/v1/databases/%74able/public", words),
        ("GET", "/v1/databases/table/public", words),
        ("GET", "/v1/databases/table/public/7/hashes", words),
        ("GET", "/v1/databases/table/public/7/blocks/0", words),
        ("POST", "/v1/databases/table/query", words),
        ("GET", "/v1/databases/nowhere", words),
        ("GET", "/v1/databases/%ff", words),
    ] {
        refuses(server, method, path, token, (403, "forbidden"));
    }
}

/// Requests that their token allows, and that fail for other reasons.
fn refuses_what_is_missing(server: &Running, all: &str, words: &str) {
    let unknown = (404, "unknown_database");
    refuses(server, "GET", "/v1/databases/later", words, unknown);
    refuses(server, "GET", "/v1/databases/nowhere", all, unknown);
    refuses(server, "GET", "/nowhere", all, (404, "unknown_route"));
    let query = "/v1/databases/words/query";
    refuses(server, "POST", query, words, (400, "wrong_length"));
}

fn names_allowed_databases_only(server: &Running, words: &str) {
    let unknown = ask(server, "GET", "/v1/databases/later", words)
        .json()
        .to_string();
    assert!(
        !unknown.contains("table"),
        "it reveals a database that the token does not allow: {unknown}"
    );

    let list = ask(server, "GET", "/v1/databases", words).json();
    let names: Vec<_> = list["databases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["words"]);
}

#[test]
fn clients_need_a_token() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tokens.toml");
    let text = token(&file, "phone", &[Scope::Query], Some(&["table"]));
    let server = start(source(&file));
    let open = |token: Option<&str>| {
        let token = token.map(|text| Token::new(text).unwrap());
        Connection::open_with(
            &server.url(),
            &Options {
                token,
                allow_not_private: true,
                ..stateless()
            },
        )
    };
    // The token allows one database, so the client need not name it.
    assert_eq!(open(Some(&text)).unwrap().get_index(7).unwrap(), record(7));
    for bad in [None, Some("papir_ff")] {
        let error = open(bad).map(drop).unwrap_err();
        assert!(
            matches!(&error, papir_client::Error::Http { status: 401, .. }),
            "{error}"
        );
        assert!(!error.to_string().contains("papir_ff"), "{error}");
    }
}

/// Waits until a request returns this status. A change takes effect within about a second.
fn until(server: &Running, token: &str, status: u16) {
    let begin = Instant::now();
    while ask(server, "GET", "/v1/databases/table", token).status != status {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "no {status} in 60 s"
        );
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn tokens_are_added_and_revoked_without_a_restart() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tokens.toml");
    let first = token(&file, "first", &[Scope::Query], None);
    let server = start(source(&file));
    until(&server, &first, 200);
    let second = token(&file, "second", &[Scope::Query], None);
    until(&server, &second, 200);
    TokenFile::revoke(&file, "first").unwrap();
    until(&server, &first, 401);
    assert_eq!(
        ask(&server, "GET", "/v1/databases/table", &second).status,
        200
    );
    // A damaged file changes no permissions.
    std::fs::write(&file, "damaged").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(server.handle.reload()).unwrap();
    assert_eq!(
        ask(&server, "GET", "/v1/databases/table", &second).status,
        200
    );
    assert_eq!(
        ask(&server, "GET", "/v1/databases/table", &first).status,
        401
    );
}

#[test]
fn an_expired_token_is_refused() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tokens.toml");
    let new = |name, lifetime| NewToken {
        lifetime: Some(lifetime),
        ..NewToken::new(name, [Scope::Query])
    };
    let gone = TokenFile::add(&file, new("gone", Duration::ZERO)).unwrap();
    let good = TokenFile::add(&file, new("good", Duration::from_secs(3600))).unwrap();
    let server = start(source(&file));
    assert_eq!(ask(&server, "GET", "/v1/databases", &gone).status, 401);
    assert_eq!(ask(&server, "GET", "/v1/databases", &good).status, 200);
}

#[test]
fn a_file_for_one_database_allows_no_other() {
    let folder = TempDir::new().unwrap();
    let one = folder.path().join("one.toml");
    let two = folder.path().join("two.toml");
    let only = |path: &Path, name: &str| TokenSource {
        only: Some(name.to_owned()),
        ..TokenSource::new(path)
    };
    let of_table = token(&one, "a", &[Scope::Query], None);
    let of_words = token(&two, "a", &[Scope::Query], None);
    let server = start(vec![only(&one, "table"), only(&two, "words")]);
    for (token, table, words) in [(&of_table, 200, 403), (&of_words, 403, 200)] {
        assert_eq!(
            ask(&server, "GET", "/v1/databases/table", token).status,
            table
        );
        assert_eq!(
            ask(&server, "GET", "/v1/databases/words", token).status,
            words
        );
    }
}

#[tokio::test]
async fn an_invalid_token_file_is_named_at_startup() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tokens.toml");
    for (text, part) in [
        (None, "No such file"),
        (Some("format = 1\n[[token]]\nx = 1"), "line"),
    ] {
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        let refused =
            Server::bind_loaded(guarded(source(&file)), vec![indexed("table", "plain", 9)]).await;
        let message = refused.map(drop).unwrap_err().to_string();
        assert!(
            message.contains("tokens.toml") && message.contains(part),
            "{message}"
        );
    }
}
