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

#[test]
fn each_request_is_allowed_or_refused_by_its_token() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tokens.toml");
    let all = token(&file, "all", &[Scope::Query], None);
    let words = token(&file, "words", &[Scope::Query], Some(&["words", "later"]));
    let metrics = token(&file, "metrics", &[Scope::Metrics], None);
    let server = start(source(&file));
    for (method, path, token, status, code) in [
        ("GET", "/v1/databases", "", 401, "unauthorized"),
        ("GET", "/v1/databases", "papir_0", 401, "unauthorized"),
        ("GET", "/v1/databases/table", "", 401, "unauthorized"),
        ("POST", "/v1/databases/table/query", "", 401, "unauthorized"),
        ("GET", "/v1/databases/nowhere", "", 401, "unauthorized"),
        ("GET", "/nowhere", "", 401, "unauthorized"),
        ("GET", "/metrics", "", 401, "unauthorized"),
        ("GET", "/metrics", &all, 403, "forbidden"),
        ("GET", "/v1/databases", &metrics, 403, "forbidden"),
        ("GET", "/v1/databases/table", &metrics, 403, "forbidden"),
        ("GET", "/v1/databases/table", &words, 403, "forbidden"),
        (
            "GET",
            "/v1/databases/%74able/public",
            &words,
            403,
            "forbidden",
        ),
        (
            "GET",
            "/v1/databases/table/public",
            &words,
            403,
            "forbidden",
        ),
        (
            "POST",
            "/v1/databases/table/query",
            &words,
            403,
            "forbidden",
        ),
        ("GET", "/v1/databases/nowhere", &words, 403, "forbidden"),
        ("GET", "/v1/databases/%ff", &words, 403, "forbidden"),
        (
            "GET",
            "/v1/databases/later",
            &words,
            404,
            "unknown_database",
        ),
        (
            "GET",
            "/v1/databases/nowhere",
            &all,
            404,
            "unknown_database",
        ),
        ("GET", "/nowhere", &all, 404, "unknown_route"),
        (
            "POST",
            "/v1/databases/words/query",
            &words,
            400,
            "wrong_length",
        ),
    ] {
        let reply = ask(&server, method, path, token);
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (status, code),
            "{method} {path}"
        );
        assert_eq!(
            reply.header("www-authenticate").is_some(),
            status == 401,
            "{method} {path}"
        );
    }
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
    let unknown = ask(&server, "GET", "/v1/databases/later", &words)
        .json()
        .to_string();
    assert!(
        !unknown.contains("table"),
        "it reveals a database that the token does not allow: {unknown}"
    );
    let list = ask(&server, "GET", "/v1/databases", &words).json();
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
