//! An issuer of tokens, over HTTP.

use std::collections::BTreeMap;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use papir_core::hedge::system_rng;
use papir_privacy_pass::{
    BATCH_REQUEST_MEDIA_TYPE, BATCH_RESPONSE_MEDIA_TYPE, DIRECTORY_MEDIA_TYPE, DIRECTORY_PATH,
    IssuerDirectory, IssuerPublicKey, REQUEST_MEDIA_TYPE, RESPONSE_MEDIA_TYPE, TOKENS_PER_BATCH,
    TokenBlinding, TokenChallenge, TokenRequest, TokenResponse, encode_requests, parse_responses,
    verify,
};
use papir_server::{BoundIssuer, Error, IssuerConfig, NewToken, Scope, TokenFile, TokenSource};
use tokio::task::spawn_blocking;

/// An issuer of two batches a day, and the bearer token of its client.
struct RunningIssuer {
    url: String,
    bearer: String,
    folder: tempfile::TempDir,
}

/// A response with its content type.
struct Received {
    status: u16,
    media: String,
    body: Vec<u8>,
}

/// The settings of an issuer with its files in a folder.
fn config(folder: &Path) -> IssuerConfig {
    let tokens = TokenSource::new(folder.join("clients.toml"));
    IssuerConfig {
        listen: "127.0.0.1:0".parse().unwrap(),
        daily: 64,
        ..IssuerConfig::new(
            folder.join("issuer.toml"),
            folder.join("counts.redb"),
            vec![tokens],
        )
    }
}

impl RunningIssuer {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path: PathBuf = folder.path().join("clients.toml");
        let client = NewToken::new("client", [Scope::Query]);
        let bearer = TokenFile::add(&path, client).unwrap().to_string();

        let bound = BoundIssuer::bind(config(folder.path())).await.unwrap();
        let url = bound.url();
        tokio::spawn(bound.serve(pending()));
        Self {
            url,
            bearer,
            folder,
        }
    }

    /// Posts a body with a bearer token.
    async fn post(&self, bearer: &str, media: &'static str, body: Vec<u8>) -> Received {
        let url = format!("{}/token-request", self.url);
        let authorization = format!("Bearer {bearer}");
        let sent = spawn_blocking(move || {
            let request = agent().post(url).header("content-type", media);
            let request = request.header("authorization", authorization);
            received(request.send(&body[..]).unwrap())
        });
        sent.await.unwrap()
    }

    async fn directory(&self) -> Received {
        let url = format!("{}{DIRECTORY_PATH}", self.url);
        let sent = spawn_blocking(move || received(agent().get(url).call().unwrap()));
        sent.await.unwrap()
    }

    /// The key that clients use now.
    async fn key(&self) -> IssuerPublicKey {
        let directory = IssuerDirectory::parse(&self.directory().await.body).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        directory.current(now.as_secs()).unwrap().clone()
    }
}

/// A client of this machine, which uses no proxy. It returns responses of every status.
fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .build();
    config.new_agent()
}

fn received(mut response: ureq::http::Response<ureq::Body>) -> Received {
    let media = response.headers()["content-type"].to_str().unwrap();
    Received {
        status: response.status().as_u16(),
        media: media.to_owned(),
        body: response.body_mut().read_to_vec().unwrap(),
    }
}

fn challenge() -> TokenChallenge {
    TokenChallenge::new("issuer.example", None, vec!["pir.example".to_owned()]).unwrap()
}

/// Blinds tokens.
fn blinded(key: &IssuerPublicKey, count: usize) -> (Vec<TokenBlinding>, Vec<TokenRequest>) {
    let blind = |_| TokenBlinding::new(&challenge(), key, &mut system_rng()).unwrap();
    (0..count).map(blind).unzip()
}

fn batch(key: &IssuerPublicKey, count: usize) -> Vec<u8> {
    encode_requests(&blinded(key, count).1).unwrap()
}

/// Checks that a response is a refusal with this status and code.
fn assert_refused(response: &Received, status: u16, code: &str) {
    let text = String::from_utf8_lossy(&response.body);
    assert_eq!(response.status, status, "{text}");
    assert_eq!(response.media, "application/problem+json");
    assert!(text.contains(&format!("\"{code}\"")), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_becomes_valid_tokens() {
    let issuer = RunningIssuer::start().await;
    let directory = issuer.directory().await;
    assert_eq!(
        (directory.status, directory.media.as_str()),
        (200, DIRECTORY_MEDIA_TYPE)
    );

    let key = issuer.key().await;
    let (blindings, requests) = blinded(&key, TOKENS_PER_BATCH);
    let body = encode_requests(&requests).unwrap();
    let response = issuer
        .post(&issuer.bearer, BATCH_REQUEST_MEDIA_TYPE, body)
        .await;
    assert_eq!(response.status, 200);
    assert_eq!(response.media, BATCH_RESPONSE_MEDIA_TYPE);

    let responses = parse_responses(&response.body, TOKENS_PER_BATCH).unwrap();
    for (blinding, response) in blindings.into_iter().zip(&responses) {
        let token = blinding.finalize(response, &key).unwrap();
        verify(&token, &challenge(), &key).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_request_is_that_of_the_standard() {
    let issuer = RunningIssuer::start().await;
    let key = issuer.key().await;
    let (mut blindings, requests) = blinded(&key, 1);
    let body = requests[0].encode().to_vec();
    let response = issuer.post(&issuer.bearer, REQUEST_MEDIA_TYPE, body).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.media, RESPONSE_MEDIA_TYPE);

    let response = TokenResponse::parse(&response.body).unwrap();
    let token = blindings.remove(0).finalize(&response, &key).unwrap();
    verify(&token, &challenge(), &key).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_has_its_tokens_of_a_day_and_a_repeated_request_costs_nothing() {
    let issuer = RunningIssuer::start().await;
    let key = issuer.key().await;
    let media = BATCH_REQUEST_MEDIA_TYPE;
    let body = batch(&key, TOKENS_PER_BATCH);

    let first = issuer.post(&issuer.bearer, media, body.clone()).await;
    assert_eq!(first.status, 200);
    // As after a response that was lost.
    for _ in 0..3 {
        let again = issuer.post(&issuer.bearer, media, body.clone()).await;
        assert_eq!((again.status, &again.body), (200, &first.body));
    }

    let second = batch(&key, TOKENS_PER_BATCH);
    assert_eq!(issuer.post(&issuer.bearer, media, second).await.status, 200);
    let third = batch(&key, TOKENS_PER_BATCH);
    let refused = issuer.post(&issuer.bearer, media, third).await;
    assert_refused(&refused, 429, "token_quota");

    // Another client has tokens of its own.
    let path = issuer.folder.path().join("clients.toml");
    let other = TokenFile::add(&path, NewToken::new("other", [Scope::Query])).unwrap();
    let mut status = 401;
    while status == 401 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        let body = batch(&key, TOKENS_PER_BATCH);
        status = issuer.post(&other, media, body).await.status;
    }
    assert_eq!(status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_strangers_and_other_bodies_are_refused() {
    let issuer = RunningIssuer::start().await;
    let key = issuer.key().await;
    let media = BATCH_REQUEST_MEDIA_TYPE;
    let good = batch(&key, TOKENS_PER_BATCH);

    for bearer in ["", "papir_0", &issuer.bearer[1..]] {
        let refused = issuer.post(bearer, media, good.clone()).await;
        assert_refused(&refused, 401, "unauthorized");
    }
    let refused = issuer
        .post(&issuer.bearer, "application/json", good.clone())
        .await;
    assert_refused(&refused, 415, "wrong_type");

    let longer = [&good[..], &[0]].concat();
    let refused = issuer.post(&issuer.bearer, media, longer).await;
    assert_refused(&refused, 413, "too_long");
    for count in [1, TOKENS_PER_BATCH - 1] {
        let refused = issuer.post(&issuer.bearer, media, batch(&key, count)).await;
        assert_refused(&refused, 422, "token_request");
    }

    // After the length and the token type, the first request names its key.
    let place = 4;
    let mut other = good.clone();
    assert_eq!(other[place], key.truncated_id());
    other[place] ^= 1;
    let refused = issuer.post(&issuer.bearer, media, other).await;
    assert_refused(&refused, 422, "token_request");
    // None of them was charged.
    for _ in 0..2 {
        let body = batch(&key, TOKENS_PER_BATCH);
        assert_eq!(issuer.post(&issuer.bearer, media, body).await.status, 200);
    }
}

/// The headers of a response about pages of other origins, without the prefix of their names.
fn cors<T>(response: &ureq::http::Response<T>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (name, value) in response.headers() {
        if let Some(name) = name.as_str().strip_prefix("access-control-") {
            found.insert(name.to_owned(), value.to_str().unwrap().to_owned());
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_every_origin_may_fetch_tokens() {
    let issuer = RunningIssuer::start().await;
    let url = format!("{}/token-request", issuer.url);
    let exchanges = spawn_blocking(move || {
        let preflight = agent()
            .options(&url)
            .header("origin", "https://app.example")
            .header("access-control-request-method", "POST")
            .header(
                "access-control-request-headers",
                "authorization,content-type",
            )
            .call()
            .unwrap();
        let refused = agent().post(&url).header("origin", "https://app.example");
        (preflight, refused.send(&b""[..]).unwrap())
    });
    let (preflight, refused) = exchanges.await.unwrap();

    assert_eq!(preflight.status().as_u16(), 200);
    let allowed = cors(&preflight);
    assert_eq!(allowed["allow-origin"], "*");
    assert!(allowed["allow-methods"].contains("POST"), "{allowed:?}");
    assert_eq!(allowed["allow-headers"], "authorization,content-type");
    assert!(!allowed.contains_key("allow-credentials"), "{allowed:?}");

    // The page reads the reason.
    assert_eq!(refused.status().as_u16(), 401);
    assert_eq!(cors(&refused)["allow-origin"], "*");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_of_less_than_a_batch_a_day_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let few = IssuerConfig {
        daily: 31,
        ..config(folder.path())
    };
    let refused = BoundIssuer::bind(few).await.err().unwrap();
    assert!(matches!(refused, Error::FewDailyTokens { found: 31, .. }));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
