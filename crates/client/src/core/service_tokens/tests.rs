//! Tests of requests with tokens, with an issuer in memory and state in files.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use papir_privacy_pass::{
    ChallengeOffer, IssuerPublicKey, TOKENS_PER_BATCH, TokenChallenge, parse_authorization,
    write_challenges,
};

use super::sent::MAX_KEPT;
use super::*;
use crate::core::wallet::testing::{KEY, OTHER, TestIssuer};
use crate::core::{Step, Token, ready};
use crate::state::{ClientState, Passphrase};
use crate::transport::issuer::Issuer;
use crate::transport::issuing::IssuerAccess;
use crate::transport::options::Options;

const SERVICE: &str = "https://pir.example";

fn options() -> Options {
    let token = Token::new("secret").unwrap();
    Options {
        token: Some(Token::new("bearer").unwrap()),
        issuer: Some(Issuer::new("https://issuer.example", Some(token))),
        ..Options::default()
    }
}

fn tokens() -> Arc<ServiceTokens> {
    let service = Address::parse(SERVICE).unwrap();
    let access = IssuerAccess::of(&service, &options(), |_, _| Ok(()));
    Arc::clone(&access.unwrap().unwrap().tokens)
}

/// A request that computes, with the service's bearer token.
fn request() -> Request {
    match ready(options().service(SERVICE).unwrap()).start() {
        Step::Send(mut request, _) => {
            request.method = Method::Post;
            request
        }
        _ => panic!("the task sends a request first"),
    }
}

/// A response that demands a token for this origin.
fn demand(origin: &str) -> Response {
    demand_under(origin, None)
}

/// A response that demands a token for this origin, and offers this key.
fn demand_under(origin: &str, key: Option<&IssuerPublicKey>) -> Response {
    let challenge = TokenChallenge::new("issuer.example", None, vec![origin.to_owned()]);
    let offer = ChallengeOffer::new(&challenge.unwrap(), key, None);
    let header = write_challenges(&[offer]);
    Response {
        status: 401,
        headers: vec![("www-authenticate".to_owned(), header)],
        body: Ok(Vec::new()),
    }
}

fn success() -> Response {
    Response {
        status: 200,
        headers: Vec::new(),
        body: Ok(Vec::new()),
    }
}

/// Runs a task that takes a token.
fn take(
    task: Task<'static, Result<Zeroizing<String>>>,
    issuer: &Mutex<TestIssuer>,
    state: &ClientState,
) -> Zeroizing<String> {
    try_take(task, issuer, state).unwrap()
}

/// Runs a task that may take a token.
fn try_take(
    task: Task<'static, Result<Zeroizing<String>>>,
    issuer: &Mutex<TestIssuer>,
    state: &ClientState,
) -> Result<Zeroizing<String>> {
    let mut step = task.start();
    loop {
        step = match step {
            Step::Send(request, then) => {
                let response = issuer.lock().unwrap().answer(&request);
                then.resume(Ok(response))
            }
            Step::Wait(_, then) => then.resume(),
            Step::Store(request, then) => then.resume(state.perform(request)),
            Step::Done(token) => return token,
        };
    }
}

#[test]
fn a_request_that_only_reads_is_not_paid_for() {
    let tokens = tokens();
    let mut request = request();
    request.method = Method::Get;

    let mut read = tokens.begin(&request);
    assert!(read.is_answered(&demand("pir.example")).unwrap());
    assert!(read.token().is_none());
    assert!(tokens.begin(&request).token().is_none());
}

#[test]
fn a_request_is_repeated_with_a_token_and_later_ones_have_one_from_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let state = ClientState::in_files(Some(folder.path().to_owned()), None);
    let issuer = Mutex::new(TestIssuer::new(&KEY));
    let tokens = tokens();
    let request = request();

    let mut first = tokens.begin(&request);
    assert!(first.token().is_none());
    let sent = first.attempt(None);
    assert_eq!(sent.header("authorization"), Some("Bearer bearer"));
    assert!(!first.is_answered(&demand("pir.example")).unwrap());

    let token = take(first.token().unwrap(), &issuer, &state);
    let sent = first.attempt(Some(token));
    let header = sent.header("authorization").unwrap();
    assert!(parse_authorization(header).unwrap().is_some());
    assert_eq!(sent.headers.len(), request.headers.len(), "one header");
    assert!(first.is_answered(&success()).unwrap());

    let second = tokens.begin(&request);
    assert!(second.token().is_some());
}

#[test]
fn a_key_that_the_issuer_has_replaced_is_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let state = ClientState::in_files(Some(folder.path().to_owned()), None);
    let issuer = Mutex::new(TestIssuer::new(&OTHER));
    let tokens = tokens();
    let request = request();
    let replaced = demand_under("pir.example", Some(KEY.public()));
    let mut first = tokens.begin(&request);
    assert!(!first.is_answered(&replaced).unwrap());
    let fresh = try_take(first.token().unwrap(), &issuer, &state);
    let failure = first.taken(fresh).err().unwrap();
    assert_eq!(
        Error::of_failure("url".to_owned(), failure).code(),
        "unexpected",
        "of the challenge of this request"
    );

    let mut second = tokens.begin(&request);
    let remembered = try_take(second.token().unwrap(), &issuer, &state);
    assert!(second.taken(remembered).unwrap().is_none());
    assert!(second.token().is_none());
    let sent = second.attempt(None);
    assert_eq!(sent.header("authorization"), Some("Bearer bearer"));

    let current = demand_under("pir.example", Some(OTHER.public()));
    assert!(!second.is_answered(&current).unwrap());
    take(second.token().unwrap(), &issuer, &state);
    let mut third = tokens.begin(&request);
    let late = Error::TimedOut {
        url: SERVICE.to_owned(),
        timeout: Duration::ZERO,
        reason: None,
    };
    assert!(third.taken(Err(late)).is_err(), "the challenge stays");
    assert!(third.token().is_some());
}

#[test]
fn two_tokens_are_spent_for_one_request_and_no_more() {
    let tokens = tokens();
    let request = request();
    let mut paid = tokens.begin(&request);
    assert!(!paid.is_answered(&demand("pir.example")).unwrap());
    for is_last in [false, true] {
        paid.attempt(Some(Zeroizing::new("PrivateToken token=AAA=".to_owned())));
        assert_eq!(paid.is_answered(&demand("pir.example")).unwrap(), is_last);
    }
}

/// A refusal with this code.
fn refusal(status: u16, code: &str, token_unspent: bool) -> Response {
    let problem = ErrorBody {
        token_unspent,
        ..ErrorBody::new(status, code, String::new())
    };
    Response {
        status,
        headers: Vec::new(),
        body: Ok(serde_json::to_vec(&problem).unwrap()),
    }
}

/// A page of a proxy that did not reach the service.
fn page() -> Response {
    Response {
        status: 502,
        headers: Vec::new(),
        body: Ok(b"<html>".to_vec()),
    }
}

/// A request that computes, with a body of its own.
fn query() -> Request {
    request().with_body(Arc::new(vec![7; 9]))
}

/// A token that was taken, with this number.
fn taken(number: u8) -> Option<Zeroizing<String>> {
    Some(Zeroizing::new(format!("PrivateToken token=\"{number}\"")))
}

/// The value of the header `authorization` of an attempt.
fn authorization(attempt: &Request) -> String {
    attempt.header("authorization").unwrap().to_owned()
}

#[test]
fn a_token_that_was_not_spent_is_sent_again_with_the_same_request() {
    let tokens = tokens();
    let request = query();
    let first = authorization(&tokens.begin(&request).attempt(taken(1)));

    for response in [refusal(429, "busy", true), page()] {
        let retried = request.clone();
        let mut paid = tokens.begin(&retried);
        assert!(paid.token().is_none(), "no other token is taken");
        assert_eq!(authorization(&paid.attempt(None)), first);
        assert!(paid.is_answered(&response).unwrap());
    }

    // Another request is another lookup, which the token would link to the first.
    let another = query();
    let mut other_path = request.clone();
    other_path.path = "/v1/other".to_owned();
    for other in [&another, &other_path] {
        let sent = authorization(&tokens.begin(other).attempt(None));
        assert_eq!(sent, "Bearer bearer");
    }

    let mut paid = tokens.begin(&request);
    assert_eq!(authorization(&paid.attempt(None)), first);
    assert!(paid.is_answered(&success()).unwrap());
    assert_eq!(
        authorization(&tokens.begin(&request).attempt(None)),
        "Bearer bearer"
    );
}

#[test]
fn a_token_that_may_be_spent_is_not_sent_after_a_refusal() {
    for response in [
        refusal(429, "busy", false),
        refusal(503, "registry_failed", false),
        refusal(409, "wrong_version", false),
        success(),
    ] {
        let tokens = tokens();
        let request = query();
        let mut paid = tokens.begin(&request);
        paid.attempt(taken(1));
        assert!(paid.is_answered(&response).unwrap());
        let sent = authorization(&tokens.begin(&request).attempt(None));
        assert_eq!(sent, "Bearer bearer", "{}", response.status);
    }
}

#[test]
fn another_token_is_taken_if_the_one_of_the_last_try_was_spent() {
    let folder = tempfile::tempdir().unwrap();
    let state = ClientState::in_files(Some(folder.path().to_owned()), None);
    let issuer = Mutex::new(TestIssuer::new(&KEY));
    let tokens = tokens();
    let request = query();
    // The connection breaks.
    let lost = authorization(&tokens.begin(&request).attempt(taken(1)));

    let mut paid = tokens.begin(&request);
    assert_eq!(authorization(&paid.attempt(None)), lost);
    assert!(!paid.is_answered(&demand("pir.example")).unwrap());

    let fresh = take(paid.token().unwrap(), &issuer, &state);
    let sent = authorization(&paid.attempt(Some(fresh)));
    assert_ne!(sent, lost);
    assert!(paid.is_answered(&refusal(429, "busy", true)).unwrap());
    let mut again = tokens.begin(&request);
    assert_eq!(authorization(&again.attempt(None)), sent);
}

#[test]
fn tokens_are_kept_no_longer_than_their_requests() {
    let tokens = tokens();
    let request = query();
    tokens.begin(&request).attempt(taken(1));
    assert_eq!(tokens.sent.count(), 1);
    drop(request);
    assert_eq!(tokens.sent.count(), 0);

    let many: Vec<Request> = (0..100).map(|_| query()).collect();
    for request in &many {
        tokens.begin(request).attempt(taken(2));
    }
    assert_eq!(tokens.sent.count(), MAX_KEPT);
}

#[test]
fn other_demands_are_errors_of_the_call() {
    let of_failure = |failure| Error::of_failure("url".to_owned(), failure);
    let request = request();
    let tokens = tokens();
    let refused = tokens.begin(&request).is_answered(&demand("other.example"));
    let failure = refused.unwrap_err();
    assert!(crate::error::is_final(failure.as_ref()));
    let error = of_failure(failure);
    assert_eq!(error.code(), "bad_challenge");
    assert!(error.to_string().contains("other.example"), "{error}");

    let refused = check_no_demand(SERVICE, &demand("pir.example"));
    let error = of_failure(refused.unwrap_err());
    assert_eq!(error.code(), "no_issuer");
    assert!(error.to_string().contains("issuer.example"), "{error}");
    check_no_demand(SERVICE, &success()).unwrap();
}

#[test]
fn an_issuer_is_at_the_root_of_a_host_and_uses_https() {
    let check = |url: &str, insecure_http| {
        let options = Options {
            issuer: Some(Issuer::new(url, None)),
            insecure_http,
            ..Options::default()
        };
        let service = Address::parse(SERVICE).unwrap();
        IssuerAccess::of(&service, &options, |_, _| Ok(())).map(drop)
    };

    for url in [
        "https://i.example",
        "https://i.example:8443/",
        "http://127.0.0.1:7490",
    ] {
        check(url, false).unwrap();
    }
    check("http://i.example", true).unwrap();
    for url in [
        "http://i.example",
        "https://i.example/a",
        "unix:/run/i.sock",
        "i.example",
    ] {
        assert_eq!(check(url, false).unwrap_err().code(), "bad_issuer", "{url}");
    }
    assert!(!format!("{:?}", options()).contains("secret"));
}

#[test]
fn clients_that_share_their_state_spend_different_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let passphrase = Passphrase::new("word");
    let state = ClientState::in_files(Some(folder.path().to_owned()), Some(passphrase));
    let issuer = Mutex::new(TestIssuer::new(&KEY));
    let each = TOKENS_PER_BATCH / 2 + 1;

    let spend = || {
        let tokens = tokens();
        let request = request();
        let mut paid = tokens.begin(&request);
        assert!(!paid.is_answered(&demand("pir.example")).unwrap());
        let taken = (0..each).map(|_| take(paid.token().unwrap(), &issuer, &state));
        taken.map(|token| token.to_string()).collect::<Vec<_>>()
    };
    let spent: Vec<String> = thread::scope(|scope| {
        let clients = [scope.spawn(spend), scope.spawn(spend)];
        let all = clients.map(|client| client.join().unwrap());
        all.into_iter().flatten().collect()
    });

    let distinct: BTreeSet<&String> = spent.iter().collect();
    assert_eq!((spent.len(), distinct.len()), (2 * each, 2 * each));
    assert_eq!(issuer.lock().unwrap().lengths.len(), 2, "two batches");
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let is_clear = bytes.windows(32).any(|part| part == KEY.public().id());
        assert!(!is_clear, "tokens are encrypted");
    }
}
