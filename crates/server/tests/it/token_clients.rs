//! Clients that spend tokens of an issuer at a service that demands them.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use papir_client::{Error, Issuer, Options, Token, aio, ready};
use papir_privacy_pass::{
    ChallengeOffer, DIRECTORY_PATH, IssuerDirectory, IssuerPublicKey, TokenChallenge,
    parse_authorization, verify, write_challenges,
};
use papir_server::{BoundIssuer, IssuerConfig, NewToken, Scope, TokenFile, TokenSource};
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

/// A service that demands tokens, and an issuer of one batch a day.
struct Demanding {
    url: String,
    issuer: String,
    bearer: String,
    gate: Arc<Gate>,
    folder: tempfile::TempDir,
}

/// The challenge of the service, and the tokens that were spent.
struct Gate {
    challenge: TokenChallenge,
    key: IssuerPublicKey,
    spent: Mutex<BTreeSet<[u8; 32]>>,
}

/// Responds to a request with a token that has not been spent, and demands one otherwise.
async fn guarded(State(gate): State<Arc<Gate>>, headers: HeaderMap) -> Response {
    let value = headers.get(header::AUTHORIZATION);
    let value = value.and_then(|value| value.to_str().ok());
    if let Some(token) = value.and_then(|text| parse_authorization(text).unwrap()) {
        verify(&token, &gate.challenge, &gate.key).unwrap();
        let is_new = gate.spent.lock().unwrap().insert(token.input.nonce);
        assert!(is_new, "a token was spent twice");
        return "ok\n".into_response();
    }

    let offer = ChallengeOffer::new(&gate.challenge, Some(&gate.key), None);
    let challenges = write_challenges(&[offer]);
    let headers = [(header::WWW_AUTHENTICATE, challenges)];
    (StatusCode::UNAUTHORIZED, headers).into_response()
}

/// The host and port of an address.
fn authority(url: &str) -> String {
    url.trim_start_matches("http://").to_owned()
}

/// The key of an issuer in use.
async fn key_of(issuer: &str) -> IssuerPublicKey {
    let url = format!("{issuer}{DIRECTORY_PATH}");
    let fetched = spawn_blocking(move || {
        let config = ureq::Agent::config_builder().proxy(None).build();
        let mut response = config.new_agent().get(url).call().unwrap();
        response.body_mut().read_to_vec().unwrap()
    });
    let directory = IssuerDirectory::parse(&fetched.await.unwrap()).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    directory.current(now.as_secs()).unwrap().clone()
}

impl Demanding {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let client = NewToken::new("client", [Scope::Query]);
        let bearer = TokenFile::add(&file("clients.toml"), client).unwrap();
        let tokens = vec![TokenSource::new(file("clients.toml"))];
        let config = IssuerConfig {
            listen: "127.0.0.1:0".parse().unwrap(),
            daily: 32,
            ..IssuerConfig::new(file("issuer.toml"), file("counts.redb"), tokens)
        };
        let bound = BoundIssuer::bind(config).await.unwrap();
        let issuer = bound.url();
        tokio::spawn(bound.serve(pending()));

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let origins = vec![authority(&url)];
        let gate = Arc::new(Gate {
            challenge: TokenChallenge::new(authority(&issuer), None, origins).unwrap(),
            key: key_of(&issuer).await,
            spent: Mutex::default(),
        });
        let router = Router::new().route("/readyz", get(guarded));
        let serving = axum::serve(listener, router.with_state(Arc::clone(&gate)));
        tokio::spawn(serving.into_future());

        Self {
            url,
            issuer,
            bearer: bearer.to_string(),
            gate,
            folder,
        }
    }

    /// Options with the issuer at an address, and a bearer token for it.
    fn options(&self, issuer: &str, bearer: &str) -> Options {
        let token = Token::new(bearer).unwrap();
        Options {
            issuer: Some(Issuer::new(issuer, Some(token))),
            state: Some(self.folder.path().join("state")),
            ..Options::default()
        }
    }

    /// The outcome of a request with these options.
    async fn ask(&self, options: Options) -> Result<(), Error> {
        let url = self.url.clone();
        spawn_blocking(move || ready(&url, &options)).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_clients_spend_each_token_of_a_batch_once() {
    let service = Demanding::start().await;
    let options = service.options(&service.issuer, &service.bearer);
    for _ in 0..16 {
        service.ask(options.clone()).await.unwrap();
        aio::ready(&service.url, &options).await.unwrap();
    }
    assert_eq!(service.gate.spent.lock().unwrap().len(), 32);

    // The 33rd token needs a second batch, which the issuer gives tomorrow.
    let refused = service.ask(options.clone()).await.unwrap_err();
    assert_eq!(refused.code(), "token_quota");
    let refused = aio::ready(&service.url, &options).await.unwrap_err();
    assert_eq!(refused.code(), "token_quota");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_another_issuer_or_without_one_are_told_so() {
    let service = Demanding::start().await;
    let without = Options::default();
    let other = service.options("http://127.0.0.1:9", &service.bearer);
    let stranger = service.options(&service.issuer, "papir_0");

    for (options, code) in [
        (without, "no_issuer"),
        (other, "bad_challenge"),
        (stranger, "unauthorized"),
    ] {
        let blocking = service.ask(options.clone()).await.unwrap_err();
        assert_eq!(blocking.code(), code, "{blocking}");
        let error = aio::ready(&service.url, &options).await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
    assert!(service.gate.spent.lock().unwrap().is_empty());
}
