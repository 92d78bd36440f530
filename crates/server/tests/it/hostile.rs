//! Clients of servers that tamper, disconnect, or are not papir servers.

use std::time::Duration;

use crate::support::canned::{Canned, CannedServer};
use crate::support::clients::{clients_url, registered, registry, start};
use crate::support::transports::{AnyConnection, over_both_transports};
use crate::support::{Reply, Running, config, get, indexed, lookup, stateless};
use papir_client::{Error, Options, Registrations};
use papir_core::Error as CoreError;
use papir_protocol::ErrorBody;
use tempfile::TempDir;

over_both_transports! {
    a_lying_hint_repeats_no_request,
    answers_of_wrong_length_are_rejected,
    retries_are_bounded,
    a_client_follows_three_changes_of_version,
    public_parts_that_contradict_their_description_are_rejected,
    servers_that_are_not_papir_servers_are_rejected,
}

/// Forwards requests to an honest service and changes the responses.
struct TamperingServer {
    server: CannedServer,
    _honest: Running,
}

/// A response with this status and body.
fn canned(status: u16, body: &[u8]) -> Canned {
    Canned {
        status,
        body: body.to_vec(),
        ..Canned::default()
    }
}

/// A refusal.
fn refusal(status: u16, code: &str) -> Canned {
    canned(
        status,
        &serde_json::to_vec(&ErrorBody::new(status, code, "because".to_owned())).unwrap(),
    )
}

fn passed_on(reply: Reply) -> Canned {
    let version = reply.header("papir-version").map(str::to_owned);
    let headers = version
        .map(|version| ("papir-version", version))
        .into_iter()
        .collect();
    Canned {
        status: reply.status,
        headers,
        body: reply.body,
        ..Canned::default()
    }
}

impl TamperingServer {
    /// `tamper` changes the responses to requests whose path ends with `path`. Before that, queries
    /// are answered with zeros of the correct length.
    fn new(path: &'static str, tamper: impl Fn(&mut Canned) + Send + 'static) -> Self {
        let honest = Running::start(config(), vec![indexed("table", "plain", 50)]);
        let url = honest.url();
        let answer = lookup(&honest.url(), "table").describe().sizes.answer as usize;
        let server = CannedServer::start(move |request| {
            let (method, route) = request.split_once(' ').unwrap();
            let mut reply = match method {
                "GET" => passed_on(get(&format!("{url}{route}"))),
                _ => canned(200, &vec![0; answer]),
            };
            if route.split('?').next().unwrap().ends_with(path) {
                tamper(&mut reply);
            }
            reply
        });
        Self {
            server,
            _honest: honest,
        }
    }

    /// The error of opening a connection, and the number of requests.
    fn open_error<C: AnyConnection>(&self) -> (Error, usize) {
        let error = C::open_even_if_not_private(&self.server.url(), None)
            .map(drop)
            .unwrap_err();
        assert!(!error.to_string().is_empty());
        (error, self.server.count("GET"))
    }

    /// The error of a lookup, and the number of query requests.
    fn query_error<C: AnyConnection>(&self) -> (Error, usize) {
        let options = Options {
            allow_not_private: true,
            patience: Some(Duration::from_millis(500)),
            ..stateless()
        };
        let mut connection = C::open_with(&self.server.url(), &options).unwrap();
        let error = connection.get_index(3).unwrap_err();
        (error, self.server.count("POST"))
    }
}

#[test]
fn a_list_of_many_clients_is_read() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let _client = registered(&server);
    let mut list = get(&clients_url(&server)).json();
    list["clients"] = vec![list["clients"][0].clone(); 4000].into();
    let body = serde_json::to_vec(&list).unwrap();
    assert!(body.len() as u64 > papir_protocol::limit::JSON_BYTES);
    let long = TamperingServer::new("/clients", move |reply| *reply = canned(200, &body));
    let clients = Registrations::open(&long.server.url(), &stateless()).unwrap();
    assert_eq!(clients.list().unwrap().len(), 4000);
}

fn answers_of_wrong_length_are_rejected<C: AnyConnection>() {
    let (error, asked) =
        TamperingServer::new("/query", |reply| reply.body.push(0)).query_error::<C>();
    assert!(matches!(error, Error::TooLong { .. }), "{error}");
    assert_eq!(asked, 1);
    let (error, asked) =
        TamperingServer::new("/query", |reply| reply.body.truncate(40)).query_error::<C>();
    assert!(
        matches!(error, Error::Core(CoreError::Length { .. })),
        "{error}"
    );
    assert_eq!(asked, 1);
    let (error, asked) =
        TamperingServer::new("/query", |reply| reply.body.clear()).query_error::<C>();
    assert!(
        matches!(error, Error::Core(CoreError::Length { .. })),
        "{error}"
    );
    assert_eq!(asked, 1);
    let (error, asked) =
        TamperingServer::new("/query", |reply| reply.missing = 1).query_error::<C>();
    assert!(matches!(error, Error::Transport { .. }), "{error}");
    assert_eq!(asked, 1);
}

/// A slow machine has time for fewer retries of a busy service. The exact number is in the tests of the
/// client's core, whose clock stands still.
fn retries_are_bounded<C: AnyConnection>() {
    for (status, code, requests) in [
        (409, "wrong_version", 7..=7),
        (429, "busy", 1..=5),
        (500, "internal", 1..=1),
    ] {
        let refused = TamperingServer::new("/query", move |reply| {
            *reply = refusal(status, code);
            reply.headers.push(("retry-after", "0".to_owned()));
        });
        let (error, asked) = refused.query_error::<C>();
        let Error::Http {
            status: found,
            code: found_code,
            message,
            url,
            ..
        } = &error
        else {
            panic!("{error}")
        };
        assert_eq!(
            (*found, found_code.as_str(), message.as_str()),
            (status, code, "because")
        );
        assert!(url.starts_with(&refused.server.url()) && url.ends_with("/query"));
        assert!(requests.contains(&asked), "{status}: {asked}");
    }
}

/// The server's `retryable` is a hint: it makes no client repeat a request whose status is final, and
/// least of all after an answer that does not decode.
fn a_lying_hint_repeats_no_request<C: AnyConnection>() {
    for status in [200, 400, 404, 410, 413, 500] {
        let lying = TamperingServer::new("/query", move |reply| {
            let problem = ErrorBody {
                retryable: true,
                ..ErrorBody::new(status, "busy", "again".into())
            };
            *reply = canned(status, &serde_json::to_vec(&problem).unwrap());
            reply.headers = vec![
                ("content-type", "application/problem+json".into()),
                ("retry-after", "0".into()),
            ];
        });
        let (error, asked) = lying.query_error::<C>();
        assert!(!error.is_retryable(), "{status}: {error}");
        assert_eq!(asked, 1, "{status}: {error}");
        match error {
            Error::Http {
                status: found,
                code,
                message,
                ..
            } => {
                assert_eq!(
                    (found, code.as_str(), message.as_str()),
                    (status, "busy", "again")
                );
            }
            other => assert!(
                status == 200
                    && matches!(
                        other,
                        Error::Core(_) | Error::TooLong { .. } | Error::Unexpected { .. }
                    ),
                "{other}"
            ),
        }
    }
}

/// A server that changes its version three times during one lookup receives four requests. The
/// client uses the fourth answer (whose zeros do not decode).
fn a_client_follows_three_changes_of_version<C: AnyConnection>() {
    let changes = std::sync::atomic::AtomicUsize::new(0);
    let moving = TamperingServer::new("/query", move |reply| {
        if changes.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 3 {
            *reply = refusal(409, "wrong_version");
        }
    });
    let (error, asked) = moving.query_error::<C>();
    assert!(matches!(error, Error::Core(_)), "{error}");
    assert_eq!(asked, 4);
}

fn public_parts_that_contradict_their_description_are_rejected<C: AnyConnection>() {
    let (error, _) = TamperingServer::new("/public", |reply| reply.body.push(0)).open_error::<C>();
    assert!(matches!(error, Error::TooLong { .. }), "{error}");
    let (error, _) = TamperingServer::new("/public", |reply| reply.body[30] ^= 1).open_error::<C>();
    assert!(matches!(error, Error::Core(_)), "{error}");
    let (error, _) =
        TamperingServer::new("/public", |reply| reply.headers.clear()).open_error::<C>();
    assert!(matches!(error, Error::Unexpected { .. }), "{error}");
    let always_newer = TamperingServer::new("/public", |reply| {
        reply.headers[0].1 = "0123456789abcdef".to_owned()
    });
    let (error, asked) = always_newer.open_error::<C>();
    assert!(matches!(error, Error::Unexpected { .. }), "{error}");
    assert_eq!(asked, 1 + 2 * 6, "a list, then six attempts");
}

fn servers_that_are_not_papir_servers_are_rejected<C: AnyConnection>() {
    let (error, _) = TamperingServer::new("/databases", |reply| {
        *reply = canned(200, b"<html>hello</html>")
    })
    .open_error::<C>();
    assert!(
        matches!(&error, Error::Unexpected { reason, .. } if reason.contains("JSON")),
        "{error}"
    );
    let (error, _) = TamperingServer::new("/databases", |reply| {
        *reply = canned(404, b"<html>what</html>")
    })
    .open_error::<C>();
    assert!(
        matches!(&error, Error::Http { status: 404, code, .. } if code == "unknown"),
        "{error}"
    );
    let endless = TamperingServer::new("/databases", |reply| {
        *reply = canned(200, &vec![b' '; (1 << 20) + 1])
    });
    assert!(matches!(
        endless.open_error::<C>().0,
        Error::TooLong {
            limit: 1_048_576,
            ..
        }
    ));
    let elsewhere = TamperingServer::new("/databases", |reply| {
        *reply = canned(302, b"");
        reply
            .headers
            .push(("location", "http://127.0.0.1:1/".to_owned()));
    });
    assert!(matches!(
        elsewhere.open_error::<C>().0,
        Error::Http { status: 302, .. }
    ));
    let (error, _) = TamperingServer::new("/databases/table", |reply| *reply = canned(200, b"{}"))
        .open_error::<C>();
    assert!(matches!(error, Error::Unexpected { .. }), "{error}");
}
