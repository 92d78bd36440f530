//! Clients behind a relay of Oblivious HTTP, which is the gateway and the service, too.
#![cfg(feature = "blocking")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../clients/mod.rs"]
mod clients;
#[allow(dead_code, unused_imports)]
#[path = "../core/peer/mod.rs"]
mod peer;
mod registered;
#[allow(unreachable_pub)]
mod relay;
#[allow(dead_code, unreachable_pub)]
#[path = "../core/traces/schemes.rs"]
mod schemes;
mod shared_keys;
#[allow(dead_code)]
#[path = "../core/ticket_table.rs"]
mod ticket_table;
#[allow(dead_code, unreachable_pub)]
#[path = "../core/traces/world.rs"]
mod world;

use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::Duration;

use papir_client::core::Method;
use papir_client::{Error, Options, Relay, Token};
use papir_ohttp::{
    Error as OhttpError, Gateway, GatewayKey, Kem, OpenedRequest, ResponseHead, SealForm,
};
use papir_protocol::{media, path};

use clients::{CLIENTS, Client, single_try};
use peer::{Call, Peer, record, simple};
use relay::{FakeRelay, Received, Reply};

/// The type of the problem that a gateway does not have the key of a request.
const UNKNOWN_KEY: &str = "https://iana.org/assignments/http-problem-types#ohttp-key";

/// The service's own address, where nothing must arrive.
struct Unvisited {
    listener: TcpListener,
    url: String,
}

impl Unvisited {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        Self { listener, url }
    }

    /// The line of a request to the relay's resource for this service.
    fn target(&self, method: &str) -> String {
        let authority = self.url.trim_start_matches("http://");
        format!("{method} /relay/{authority}")
    }

    fn assert_unvisited(&self) {
        let visit = self.listener.accept().map(drop);
        assert_eq!(visit.unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}

fn gateway(seed: u8) -> Gateway {
    gateway_with(seed, seed)
}

/// A gateway whose key has this identifier.
fn gateway_with(id: u8, seed: u8) -> Gateway {
    let key = GatewayKey::derive(id, Kem::X25519, &[seed; 32]).unwrap();
    Gateway::new(vec![key])
}

fn keys(gateway: &Gateway) -> Reply {
    let list = gateway.key_list().unwrap().encode();
    Reply::new(200, media::OHTTP_KEYS, list)
}

/// Options with a token, which is also sealed for keys that only the relay vouches for.
fn options(relay: Relay) -> Options {
    Options {
        token: Some(Token::new("secret").unwrap()),
        insecure_http: true,
        ..single_try()
    }
    .relay(relay)
}

/// Answers as a gateway in front of a service does.
fn serve(gateway: &Gateway, service: &mut Peer, received: &Received) -> Reply {
    if received.target.starts_with("GET ") {
        return keys(gateway);
    }

    let opened = match gateway.open(&received.body, SealForm::Chunked) {
        Ok(opened) => opened,
        Err(OhttpError::UnknownKey { .. } | OhttpError::WrongKey { .. }) => {
            let problem = format!(r#"{{"type":"{UNKNOWN_KEY}","title":"unknown key"}}"#);
            return Reply::new(422, media::PROBLEM, problem);
        }
        Err(error) => panic!("{error}"),
    };
    let request = &opened.request;
    assert!(has_token(request) || request.path == path::READY);
    answer(service, opened)
}

/// Returns true if a request within its seal has the token.
fn has_token(request: &papir_ohttp::InnerRequest) -> bool {
    let token = ("authorization".to_owned(), "Bearer secret".to_owned());
    request.headers.contains(&token)
}

/// Answers an opened request.
fn answer(service: &mut Peer, opened: OpenedRequest) -> Reply {
    let (head, body) = respond(service, &opened.request, opened.body);
    let length = Some(body.len() as u64);
    let mut sealer = opened.sealer.start(&head, length);
    let mut sealed = sealer.part(&body).unwrap();
    sealed.extend(sealer.finish().unwrap());
    Reply::new(200, media::OHTTP_CHUNKED_RESPONSE, sealed)
}

/// The service's response to an opened request.
fn respond(
    service: &mut Peer,
    request: &papir_ohttp::InnerRequest,
    body: Vec<u8>,
) -> (ResponseHead, Vec<u8>) {
    let status = 200;
    if request.path == path::READY {
        let headers = Vec::new();
        return (ResponseHead { status, headers }, Vec::new());
    }

    let method = match request.method.as_str() {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PATCH" => Method::Patch,
        other => panic!("{other}"),
    };
    let call = Call {
        method,
        path: request.path.clone(),
        headers: request.headers.clone(),
        body,
    };
    let response = service.receive(&call).unwrap();
    let head = ResponseHead {
        status: response.status,
        headers: response.headers,
    };
    (head, response.body.unwrap())
}

/// A relay in front of a service that works.
fn working() -> FakeRelay {
    FakeRelay::start(|| {
        let gateway = gateway(1);
        let mut service = Peer::new(simple(1));
        move |received: &Received| serve(&gateway, &mut service, received)
    })
}

/// A relay that carries keys, and replies to all else by `reply`.
fn replying(reply: fn() -> Reply) -> FakeRelay {
    FakeRelay::start(move || {
        let gateway = gateway(1);
        move |received: &Received| match received.target.starts_with("GET ") {
            true => keys(&gateway),
            false => reply(),
        }
    })
}

fn targets(relay: &FakeRelay) -> Vec<String> {
    let requests = relay.take().into_iter();
    requests.map(|received| received.target).collect()
}

#[test]
fn all_requests_of_a_lookup_arrive_at_the_relay() {
    for (name, look_up) in CLIENTS {
        let relay = working();
        let service = Unvisited::new();
        let options = options(Relay::new(&relay.url));
        assert_eq!(
            look_up(&service.url, &options).unwrap(),
            record(1, 3),
            "{name}"
        );

        let requests = relay.take();
        let targets: Vec<&str> = requests.iter().map(|one| one.target.as_str()).collect();
        let get = service.target("GET");
        let post = service.target("POST");
        // The keys once; then the list, the description, the public part and the query.
        assert_eq!(targets, [&get, &post, &post, &post, &post], "{name}");
        service.assert_unvisited();

        for received in &requests {
            for absent in ["user-agent", "authorization", "papir", "secret", "trace"] {
                let headers = &received.headers;
                assert!(!headers.contains(absent), "{name}: {headers}");
            }
        }
        let sealed = "content-type: message/ohttp-chunked-req\r\n";
        assert!(requests[1].headers.contains(sealed), "{name}");
    }
}

/// Keys `old` are carried once. Those of the gateway are then fetched, and no more often.
fn assert_fetched_again(name: &str, look_up: Client, old: fn() -> Gateway) {
    let relay = FakeRelay::start(move || {
        let current = gateway(2);
        let mut service = Peer::new(simple(1));
        let mut list = Some(keys(&old()));
        move |received: &Received| match list.take() {
            Some(old) => old,
            None => serve(&current, &mut service, received),
        }
    });
    let service = Unvisited::new();
    let options = options(Relay::new(&relay.url));
    let found = look_up(&service.url, &options).unwrap();
    assert_eq!(found, record(1, 3), "{name}");

    let targets = targets(&relay);
    let get = service.target("GET");
    let post = service.target("POST");
    assert_eq!(targets[..4], [&*get, &*post, &*get, &*post], "{name}");
    assert_eq!(targets.iter().filter(|one| **one == get).count(), 2);
    service.assert_unvisited();
}

#[test]
fn keys_that_the_gateway_no_longer_has_are_fetched_again_once() {
    for (name, look_up) in CLIENTS {
        assert_fetched_again(name, *look_up, || gateway(1));
        // A gateway that lost its keys begins with the same identifiers.
        assert_fetched_again(name, *look_up, || gateway_with(2, 1));
    }
}

#[test]
fn keys_that_the_gateway_never_has_are_an_error() {
    for (name, look_up) in CLIENTS {
        let relay = replying(|| {
            let problem = format!(r#"{{"type":"{UNKNOWN_KEY}"}}"#);
            Reply::new(400, media::PROBLEM, problem)
        });
        let service = Unvisited::new();
        let options = options(Relay::new(&relay.url));
        let error = look_up(&service.url, &options).unwrap_err();

        assert_eq!(
            (error.code(), error.is_retryable()),
            ("relay", false),
            "{name}"
        );
        assert_eq!(targets(&relay).len(), 4, "{name}");
        service.assert_unvisited();
    }
}

#[test]
fn the_keys_of_a_file_are_used_and_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys");
    for (name, look_up) in CLIENTS {
        let relay = working();
        let service = Unvisited::new();
        let options = Options {
            insecure_http: false,
            ..options(Relay::new(&relay.url).with_keys(&file))
        };

        std::fs::write(&file, keys(&gateway(1)).body).unwrap();
        assert_eq!(
            look_up(&service.url, &options).unwrap(),
            record(1, 3),
            "{name}"
        );
        assert_eq!(targets(&relay), vec![service.target("POST"); 4], "{name}");

        std::fs::write(&file, keys(&gateway(2)).body).unwrap();
        let error = look_up(&service.url, &options).unwrap_err();
        assert_eq!(
            (error.code(), error.is_retryable()),
            ("relay", false),
            "{name}"
        );
        let text = error.to_string();
        assert!(text.contains("does not have the key in "), "{name}: {text}");
        assert_eq!(targets(&relay), [service.target("POST")], "{name}");
        service.assert_unvisited();
    }
}

#[test]
fn no_token_is_sealed_for_keys_that_only_the_relay_vouches_for() {
    for (name, look_up) in CLIENTS {
        let relay = replying(|| Reply::new(404, "text/plain", ""));
        let service = Unvisited::new();
        let careful = Options {
            insecure_http: false,
            ..options(Relay::new(&relay.url))
        };
        let refused = look_up(&service.url, &careful).unwrap_err();
        assert_eq!(refused.code(), "bad_relay", "{name}: {refused}");
        let text = refused.to_string();
        assert!(text.contains("--ohttp-keys"), "{name}: {text}");
        assert!(targets(&relay).is_empty(), "{name}");

        // Without a token the request goes out.
        let anonymous = Options {
            token: None,
            ..careful
        };
        let failed = look_up(&service.url, &anonymous).unwrap_err();
        assert_eq!(failed.code(), "relay", "{name}: {failed}");
        let sent = [service.target("GET"), service.target("POST")];
        assert_eq!(targets(&relay), sent, "{name}");
        service.assert_unvisited();
    }
}

/// Returns a sealed response, changed by nobody, to another request.
fn of_another_request() -> Vec<u8> {
    let gateway = gateway(1);
    let key = gateway.key_list().unwrap().choose().unwrap();
    let sealed = key
        .seal(&papir_ohttp::InnerRequest::default(), b"")
        .unwrap();
    let opened = gateway.open(&sealed.body, SealForm::Chunked).unwrap();
    let sealer = opened.sealer.start(&ResponseHead::default(), None);
    sealer.finish().unwrap()
}

/// Makes a reply; whether its error is retryable, if that does not depend on what is noticed first;
/// a part of the error.
type FailingReply = (fn() -> Reply, Option<bool>, &'static str);

#[test]
fn replies_that_are_no_answers_are_errors_that_name_the_relay() {
    let cases: [FailingReply; 6] = [
        (
            || Reply::new(200, "text/html", "<html>"),
            Some(false),
            "expected message/ohttp-chunked-res, found text/html",
        ),
        (
            || Reply::new(502, "text/html", "<html>"),
            Some(true),
            "HTTP 502 with text/html",
        ),
        (
            || {
                Reply::new(
                    403,
                    media::PROBLEM,
                    r#"{"code":"no","detail":"no relay for it"}"#,
                )
            },
            Some(false),
            "HTTP 403 (no): no relay for it",
        ),
        (
            || Reply::new(200, media::OHTTP_CHUNKED_RESPONSE, of_another_request()),
            Some(false),
            "unusable response",
        ),
        (
            || Reply::new(200, media::OHTTP_CHUNKED_RESPONSE, ""),
            Some(false),
            "unusable response",
        ),
        (
            || Reply {
                is_broken: true,
                ..Reply::new(200, media::OHTTP_CHUNKED_RESPONSE, of_another_request())
            },
            // Either the end is missed first, or the seal.
            None,
            "",
        ),
    ];

    for (name, look_up) in CLIENTS {
        for (reply, is_retryable, reason) in &cases {
            let relay = replying(*reply);
            let service = Unvisited::new();
            let options = options(Relay::new(&relay.url));
            let error = look_up(&service.url, &options).unwrap_err();

            assert_eq!(error.code(), "relay", "{name}: {error}");
            if let Some(is_retryable) = is_retryable {
                assert_eq!(error.is_retryable(), *is_retryable, "{name}: {error}");
            }
            let text = error.to_string();
            assert!(text.starts_with(&service.url), "{name}: {text}");
            assert!(text.contains(&relay.url), "{name}: {text}");
            assert!(text.contains(reason), "{name}: {text}");
            service.assert_unvisited();
        }
    }
}

#[test]
fn a_relay_that_is_away_is_never_passed_by() {
    for (name, look_up) in CLIENTS {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://name:word@{}", listener.local_addr().unwrap());
        drop(listener);

        let service = Unvisited::new();
        let error = look_up(&service.url, &options(Relay::new(url))).unwrap_err();
        assert!(matches!(error, Error::Relay { .. }), "{name}: {error}");
        assert!(error.is_retryable(), "{name}: {error}");
        assert!(!error.to_string().contains("word"), "{name}: {error}");
        service.assert_unvisited();
    }
}

#[test]
fn a_silent_relay_is_not_waited_for_beyond_the_timeout() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    for (name, look_up) in CLIENTS {
        let service = Unvisited::new();
        let options = Options {
            timeout: Some(Duration::from_millis(400)),
            ..options(Relay::new(&url))
        };
        let error = look_up(&service.url, &options).unwrap_err();
        assert_eq!(error.code(), "timed_out", "{name}: {error}");
        service.assert_unvisited();
    }
}

#[test]
fn a_probe_goes_through_the_relay() {
    let relay = working();
    let service = Unvisited::new();
    let options = options(Relay::new(&relay.url));
    let probe = papir_client::probe(&service.url, &options).unwrap();

    assert!(probe.ready);
    assert_eq!(probe.relay.as_ref(), Some(&relay.url));
    assert_eq!(
        targets(&relay),
        [service.target("GET"), service.target("POST")]
    );
    service.assert_unvisited();
}
