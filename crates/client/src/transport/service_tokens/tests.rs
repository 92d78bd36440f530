//! Tests of requests with tokens, with an issuer in memory and state in files.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use papir_privacy_pass::{
    ChallengeOffer, IssuerPublicKey, TOKENS_PER_BATCH, TokenChallenge, parse_authorization,
    write_challenges,
};

use super::*;
use crate::core::wallet::testing::{KEY, OTHER, TestIssuer};
use crate::core::{Method, Step, Token, ready};
use crate::state::{ClientState, Passphrase};
use crate::transport::issuer::Issuer;

const SERVICE: &str = "https://pir.example";

fn options() -> Options {
    let token = Token::new("secret").unwrap();
    Options {
        token: Some(Token::new("bearer").unwrap()),
        issuer: Some(Issuer::new("https://issuer.example", Some(token))),
        ..Options::default()
    }
}

fn tokens() -> ServiceTokens {
    let service = Address::parse(SERVICE).unwrap();
    IssuerSetup::of(&service, &options())
        .unwrap()
        .unwrap()
        .tokens
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
        IssuerSetup::of(&service, &options).map(drop)
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
