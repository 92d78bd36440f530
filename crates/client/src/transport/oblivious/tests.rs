//! Exchanges with the gateway of the library.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use futures_util::io::Cursor;
use papir_ohttp::{Gateway, GatewayKey, Kem, SealForm};
use papir_protocol::{ErrorBody, code};

use super::*;
use crate::core::{Step, Token, detail};
use crate::transport::identity::Identity;

const SERVICE: &str = "http://H.example:7470";

fn gateway() -> Gateway {
    Gateway::new(vec![GatewayKey::derive(1, Kem::X25519, &[7; 32]).unwrap()])
}

fn options() -> Options {
    Options {
        token: Some(Token::new("secret").unwrap()),
        // The gateway's keys come through the relay.
        insecure_http: true,
        ..Options::default()
    }
    .relay(Relay::new("https://name:word@r.example/relay/"))
}

/// The relay of the options, with the gateway's key.
fn relay() -> Arc<Oblivious> {
    let service = Address::parse(SERVICE).unwrap();
    let relay = Oblivious::of(&service, &options()).unwrap().unwrap();
    assert!(relay.key().is_none() && relay.fetches_keys());

    let list = gateway().key_list().unwrap().encode();
    relay
        .accept_keys(response(200, media::OHTTP_KEYS, list))
        .unwrap();
    relay
}

/// A request of the core: for the list of databases, with the token.
fn request() -> Request {
    let options = options();
    let service = options.service(SERVICE).unwrap();
    match detail(service, options.settings()).start() {
        Step::Send(request, _) => request,
        _ => panic!("no request"),
    }
}

fn response(status: u16, media: &str, body: impl Into<Vec<u8>>) -> Response {
    let mut response = Response::of_head(status, [(header::CONTENT_TYPE, Some(media))].into_iter());
    response.body = Ok(body.into());
    response
}

/// The output of a future that does not wait.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

/// Sends a request, and opens the gateway's response, with its sealed bytes changed by `change`.
fn exchange(body: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Result<Response, Failure> {
    let relay = relay();
    let request = request();
    let sealed = relay.seal(&relay.key().unwrap(), &request).unwrap();
    let opened = gateway().open(&sealed.body, SealForm::Chunked).unwrap();

    let head = ResponseHead {
        status: 200,
        headers: vec![(header::VERSION.to_owned(), "07".to_owned())],
    };
    let mut sealer = opened.sealer.start(&head, None);
    let mut answer = sealer.part(body).unwrap();
    answer.extend(sealer.finish().unwrap());
    change(&mut answer);
    ready(relay.open(sealed.opener, Cursor::new(answer), &request))
}

fn failure(failure: &Failure) -> &RelayFailure {
    failure.downcast_ref().unwrap()
}

#[test]
fn within_a_sealed_request_are_the_headers_of_the_core_alone() {
    let relay = relay();
    let resource = "https://name:word@r.example/relay/h.example:7470";
    assert_eq!(relay.resource(), resource);

    let mut request = request();
    request.body = Some(Arc::new(b"query".to_vec()));
    let sealed = relay.seal(&relay.key().unwrap(), &request).unwrap();
    let opened = gateway().open(&sealed.body, SealForm::Chunked).unwrap();

    let token = ("authorization".to_owned(), "Bearer secret".to_owned());
    let expected = papir_ohttp::InnerRequest {
        method: "GET".to_owned(),
        scheme: "http".to_owned(),
        authority: "h.example:7470".to_owned(),
        path: "/v1/databases".to_owned(),
        headers: vec![token],
    };
    assert_eq!(opened.request, expected);
    assert_eq!(opened.body, b"query");
}

#[test]
fn a_response_is_opened_up_to_the_limit_of_its_request() {
    let response = exchange(b"databases", |_| {}).unwrap();
    assert_eq!(response.status, 200);
    assert_eq!(response.header(header::VERSION), Some("07"));
    assert_eq!(response.body.unwrap(), b"databases");

    let long = vec![1; 2 * usize::try_from(limit::JSON_BYTES).unwrap()];
    let response = exchange(&long, |_| {}).unwrap();
    assert_eq!(response.body.unwrap().len() as u64, limit::JSON_BYTES + 1);
}

#[test]
fn changed_and_cut_off_responses_are_final_failures() {
    for change in [
        |answer: &mut Vec<u8>| answer.truncate(answer.len() - 1),
        |answer: &mut Vec<u8>| answer.truncate(10),
        |answer: &mut Vec<u8>| answer.clear(),
        |answer: &mut Vec<u8>| answer[40] ^= 1,
    ] {
        let refused = exchange(b"databases", change).unwrap_err();
        assert!(!failure(&refused).is_retryable);
        let text = refused.to_string();
        assert!(text.contains("unusable response: "), "{text}");
    }
}

#[test]
fn refusals_name_the_relay_and_the_reason() {
    let relay = relay();
    let busy = serde_json::to_vec(&ErrorBody::new(503, code::BUSY, "later".to_owned())).unwrap();
    let denied = br#"{"type":"about:blank","title":"Denied"}"#.to_vec();
    let html = b"<html>".to_vec();

    for (status, media, body, reason, is_retryable) in [
        (503, media::PROBLEM, &busy, "HTTP 503 (busy): later", true),
        (
            403,
            media::PROBLEM,
            &denied,
            "HTTP 403 (unknown): Denied",
            false,
        ),
        (
            200,
            "text/html; charset=utf-8",
            &html,
            "expected message/ohttp-chunked-res, found text/html",
            false,
        ),
        (
            502,
            "text/html",
            &html,
            "HTTP 502 with text/html: not",
            true,
        ),
        (
            302,
            "text/html",
            &html,
            "HTTP 302 with text/html: not",
            false,
        ),
        (204, media::OHTTP_CHUNKED_RESPONSE, &html, "HTTP 204", false),
    ] {
        let response = response(status, media, body.clone());
        assert!(!Oblivious::is_sealed(&response), "{reason}");

        let refused = relay.refusal(&response).err().unwrap();
        assert_eq!(failure(&refused).is_retryable, is_retryable, "{reason}");
        let text = refused.to_string();
        let expected = format!("through the relay https://name:***@r.example/relay: {reason}");
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[test]
fn only_a_refusal_can_say_that_the_key_is_unknown() {
    let relay = relay();
    let problem = format!(r#"{{"type":"{UNKNOWN_KEY}","title":"key identifier unknown"}}"#);
    for (status, media, is_unknown) in [
        (400, media::PROBLEM, true),
        (422, media::PROBLEM, true),
        (500, media::PROBLEM, false),
        (200, media::PROBLEM, false),
        (400, media::JSON, false),
    ] {
        let outcome = relay.refusal(&response(status, media, problem.clone()));
        let found = matches!(outcome, Ok(Relayed::UnknownKey));
        assert_eq!(found, is_unknown, "{status} {media}");
    }

    let refused = relay.unknown_key();
    assert!(!failure(&refused).is_retryable);
}

#[test]
fn unusable_keys_are_final_failures() {
    let relay = relay();
    let list = gateway().key_list().unwrap().encode();
    let cut_off = list[1..].to_vec();
    for (media, body) in [
        (media::OHTTP_KEYS, Vec::new()),
        (media::OHTTP_KEYS, cut_off),
        ("text/html", list),
    ] {
        let refused = relay.accept_keys(response(200, media, body)).unwrap_err();
        assert!(!failure(&refused).is_retryable, "{refused}");
    }

    let mut broken = response(200, media::OHTTP_KEYS, "");
    broken.body = Err("it broke".into());
    let refused = relay.accept_keys(broken).unwrap_err();
    assert!(failure(&refused).is_retryable, "{refused}");
}

#[test]
fn the_keys_of_a_file_are_used_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys");
    let list = gateway().key_list().unwrap();
    std::fs::write(&file, list.encode()).unwrap();

    let service = Address::parse(SERVICE).unwrap();
    let given = Relay::new("https://r").with_keys(&file);
    let options = options().relay(given);
    let relay = Oblivious::of(&service, &options).unwrap().unwrap();
    assert!(!relay.fetches_keys());
    let digest = relay.key().map(|key| key.digest());
    assert_eq!(digest, list.digests().next());
    let refused = relay.unknown_key().to_string();
    assert!(refused.contains(&*file.to_string_lossy()), "{refused}");

    std::fs::write(&file, "-----BEGIN").unwrap();
    let damaged = Oblivious::of(&service, &options).err().unwrap();
    assert_eq!(damaged.code(), "bad_ohttp_keys");
    std::fs::remove_file(&file).unwrap();
    let missing = Oblivious::of(&service, &options).err().unwrap();
    assert_eq!(missing.code(), "bad_ohttp_keys");
}

fn of(service: &str, relay: &str, options: Options) -> Result<()> {
    let options = options.relay(Relay::new(relay));
    Oblivious::of(&Address::parse(service).unwrap(), &options).map(drop)
}

#[track_caller]
fn assert_refused(service: &str, relay: &str, options: Options) {
    let error = of(service, relay, options).unwrap_err();
    assert_eq!(error.code(), "bad_relay", "{service} {relay}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn relays_that_would_be_passed_by_or_exposed_are_refused() {
    for relay in ["https://r", "http://127.0.0.1:1", "http://[::1]/relay"] {
        of("http://h", relay, Options::default()).unwrap();
    }
    for relay in [
        "",
        "r",
        "ftp://name:secret@r",
        "unix:/run/relay",
        "https://r/v1/databases",
        "https://r?token=secret",
        "http://name:secret@r.example",
    ] {
        assert_refused("https://h", relay, Options::default());
    }
    assert_refused("https://h/pir", "https://r", Options::default());
    #[cfg(unix)]
    assert_refused("unix:/run/papir", "https://r", Options::default());

    let identity = Options {
        identity: Some(Identity::new("client.pem", "client.key")),
        ..Options::default()
    };
    assert_refused("https://h", "https://r", identity);

    let proxied = Options::default().proxy("socks5://p".parse().unwrap());
    assert_refused("https://h", "http://127.0.0.1:1", proxied);
    let plain = Options {
        insecure_http: true,
        ..Options::default()
    };
    of("https://h", "http://r.example", plain).unwrap();
}

#[test]
fn a_relay_is_printed_without_its_password() {
    let shown = format!("{:?}", options());
    assert!(shown.contains("r.example"), "{shown}");
    assert!(!shown.contains("word@"), "{shown}");
}

#[test]
fn the_failure_of_a_broken_connection_is_kept() {
    let interruption = Interruption::default();
    assert!(interruption.take().is_none());
    let error = interruption.clone().note("it broke");
    assert_eq!(error.kind(), io::ErrorKind::Other);
    assert_eq!(interruption.take(), Some("it broke"));

    let relay = relay();
    assert!(failure(&relay.lost("it broke".into())).is_retryable);
    let certificate = FinalFailure::NoTls {
        instead: "http://r".to_owned(),
    };
    assert!(!failure(&relay.lost(certificate.into())).is_retryable);
}
