//! Exchanges with the gateway of the library.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::io::Cursor;
use papir_checkpoint::GatewayKeys;
use papir_ohttp::{Gateway, GatewayKey, Kem, SealForm};
use papir_protocol::{ErrorBody, code, header};

use super::*;
use crate::core::request::Accepted;
use crate::error::Error;

const RELAY: &str = "https://name:word@r.example/relay/";

fn gateway() -> Gateway {
    Gateway::new(vec![GatewayKey::derive(1, Kem::X25519, &[7; 32]).unwrap()])
}

fn choice(url: &str) -> RelayChoice {
    RelayChoice {
        url: url.to_owned(),
        keys: None,
        is_proxied: false,
        insecure_http: false,
    }
}

fn service() -> Address {
    Address::parse("http://H.example:7470").unwrap()
}

/// A relay, with the gateway's key.
fn relay() -> Oblivious {
    let relay = Oblivious::new(&service(), &choice(RELAY)).unwrap();
    assert!(relay.key(&request()).is_none() && relay.fetches_keys());

    let list = gateway().key_list().unwrap().encode();
    relay
        .accept_keys(response(200, media::OHTTP_KEYS, list), &request())
        .unwrap();
    relay
}

/// A request with a token.
fn request() -> Request {
    Request::get("/v1/databases", Accepted::UpTo(limit::JSON_BYTES))
        .with_header(header::AUTHORIZATION, "Bearer secret".to_owned())
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

/// Sends a request, and opens the gateway's response, with its sealed bytes changed by `change`: as
/// it arrives, or whole.
fn exchange(
    is_whole: bool,
    body: &[u8],
    change: impl FnOnce(&mut Vec<u8>),
) -> Result<Response, Failure> {
    let relay = relay();
    let request = request();
    let sealed = relay.seal(&relay.key(&request).unwrap(), &request).unwrap();
    let opened = gateway().open(&sealed.body, SealForm::Chunked).unwrap();

    let head = ResponseHead {
        status: 200,
        headers: vec![(header::VERSION.to_owned(), "07".to_owned())],
    };
    let mut sealer = opened.sealer.start(&head, None);
    let mut answer = sealer.part(body).unwrap();
    answer.extend(sealer.finish().unwrap());
    change(&mut answer);

    let again = relay.seal(&relay.key(&request).unwrap(), &request).unwrap();
    let foreign = relay.open_whole(again.opener, answer.clone(), &request);
    assert!(foreign.is_err(), "it was sealed for another request");
    match is_whole {
        true => relay.open_whole(sealed.opener, answer, &request),
        false => ready(relay.open(sealed.opener, Cursor::new(answer), &request)),
    }
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
    let sealed = relay.seal(&relay.key(&request).unwrap(), &request).unwrap();
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
    for is_whole in [false, true] {
        let response = exchange(is_whole, b"databases", |_| {}).unwrap();
        assert_eq!(response.status, 200);
        assert_eq!(response.header(header::VERSION), Some("07"));
        assert_eq!(response.body.unwrap(), b"databases");

        let long = vec![1; 2 * usize::try_from(limit::JSON_BYTES).unwrap()];
        let response = exchange(is_whole, &long, |_| {}).unwrap();
        assert_eq!(response.body.unwrap().len() as u64, limit::JSON_BYTES + 1);
    }
}

#[test]
fn a_response_in_memory_may_end_at_its_limit() {
    let most = usize::try_from(Oblivious::sealed_limit(&request())).unwrap();
    let long = vec![1; 2 * most];
    let response = exchange(true, &long, |answer| {
        assert!(answer.len() > most);
        answer.truncate(most);
    });
    let body = response.unwrap().body.unwrap();
    assert_eq!(body.len() as u64, limit::JSON_BYTES + 1);
}

#[test]
fn changed_and_cut_off_responses_are_final_failures() {
    for change in [
        |answer: &mut Vec<u8>| answer.truncate(answer.len() - 1),
        |answer: &mut Vec<u8>| answer.truncate(10),
        |answer: &mut Vec<u8>| answer.clear(),
        |answer: &mut Vec<u8>| answer[40] ^= 1,
    ] {
        for is_whole in [false, true] {
            let refused = exchange(is_whole, b"databases", change).unwrap_err();
            assert!(!failure(&refused).is_retryable);
            let text = refused.to_string();
            assert!(text.contains("unusable response: "), "{text}");
        }
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
        let refused = relay
            .accept_keys(response(200, media, body), &request())
            .unwrap_err();
        assert!(!failure(&refused).is_retryable, "{refused}");
    }

    let mut broken = response(200, media::OHTTP_KEYS, "");
    broken.body = Err("it broke".into());
    let refused = relay.accept_keys(broken, &request()).unwrap_err();
    assert!(failure(&refused).is_retryable, "{refused}");
}

#[test]
fn given_keys_are_used_and_no_others() {
    let list = gateway().key_list().unwrap();
    let given = RelayChoice {
        keys: Some(GivenKeys::parse(&list.encode(), "the option").unwrap()),
        ..choice(RELAY)
    };
    let relay = Oblivious::new(&service(), &given).unwrap();
    assert!(!relay.fetches_keys());
    let digest = relay.key(&request()).map(|key| key.digest());
    assert_eq!(digest, list.digests().next());
    let refused = relay.unknown_key().to_string();
    assert!(refused.ends_with("the key in the option"), "{refused}");

    let limited = for_gateway(request(), [9; 32]);
    assert!(relay.key(&limited).is_some(), "the caller vouches for it");
    assert!(!relay.service_relay().carries_keys());

    assert!(GivenKeys::parse(b"-----BEGIN", "the option").is_err());
}

/// The request, limited to the key with this hash.
fn for_gateway(request: Request, hash: [u8; 32]) -> Request {
    let named = GatewayKeys::new(None, &[hash]).unwrap();
    request.for_gateways(Some(Arc::new(named)))
}

#[test]
fn a_carried_key_seals_only_requests_that_may_use_it() {
    let list = gateway().key_list().unwrap();
    let present = list.digests().next().unwrap();
    let named = for_gateway(request(), present.0);
    let foreign = for_gateway(request(), [9; 32]);
    let relay = relay();
    assert!(relay.service_relay().carries_keys());
    assert!(relay.key(&named).is_some());
    assert!(relay.key(&foreign).is_none());

    let published = response(200, media::OHTTP_KEYS, list.encode());
    let refused = relay.accept_keys(published, &foreign).unwrap_err();
    assert!(!failure(&refused).is_retryable, "{refused}");
    let text = refused.to_string();
    let hashes = format!(
        "{present}: expected one that the owner of the database names, {}",
        "09".repeat(32)
    );
    assert!(text.contains(&hashes), "{text}");
    assert!(relay.key(&named).is_some(), "the former key is kept");
}

#[test]
fn among_the_keys_of_a_list_the_named_one_is_chosen() {
    let keys = [1, 2].map(|seed| GatewayKey::derive(seed, Kem::X25519, &[seed; 32]).unwrap());
    let list = Gateway::new(keys.into()).key_list().unwrap();
    let relay = Oblivious::new(&service(), &choice(RELAY)).unwrap();
    for digest in list.digests() {
        let named = for_gateway(request(), digest.0);
        let published = response(200, media::OHTTP_KEYS, list.encode());
        let chosen = relay.accept_keys(published, &named).unwrap();
        assert_eq!(chosen.digest(), digest);
    }
}

#[track_caller]
fn assert_refused(service: &str, given: &RelayChoice) {
    let service = Address::parse(service).unwrap();
    let error = Oblivious::new(&service, given).err().unwrap();
    assert!(matches!(error, Error::BadRelay { .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn relays_that_would_be_passed_by_or_exposed_are_refused() {
    for relay in ["https://r", "http://127.0.0.1:1", "http://[::1]/relay"] {
        Oblivious::new(&service(), &choice(relay)).unwrap();
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
        assert_refused("https://h", &choice(relay));
    }
    assert_refused("https://h/pir", &choice("https://r"));
    #[cfg(unix)]
    assert_refused("unix:/run/papir", &choice("https://r"));

    let proxied = RelayChoice {
        is_proxied: true,
        ..choice("http://127.0.0.1:1")
    };
    assert_refused("https://h", &proxied);
    let plain = RelayChoice {
        insecure_http: true,
        ..choice("http://r.example")
    };
    Oblivious::new(&service(), &plain).unwrap();
}

#[test]
fn a_lost_connection_is_retried_unless_its_failure_is_final() {
    let relay = relay();
    assert!(failure(&relay.lost("it broke".into())).is_retryable);
    let certificate = FinalFailure::NoTls {
        instead: "http://r".to_owned(),
    };
    assert!(!failure(&relay.lost(certificate.into())).is_retryable);
}
