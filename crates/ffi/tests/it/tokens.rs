//! Lookups at a service that demands private tokens.

use std::future::pending;
use std::sync::Arc;

use papir_client::ProxySetting;
use papir_client::aio::Forwarding;
use papir_ffi::{Database, ErrorKind, Options, PapirError};
use papir_server::{
    BoundIssuer, Database as Served, DirectoryExchange, DirectoryFailure, DirectorySource,
    DirectoryTransport, IssuerConfig, NewToken, PrivacyPassConfig, RelayBody, Request, Scope,
    TokenFile, TokenSource,
};
use tempfile::TempDir;

use crate::support::{Service, capitals, options, refused, serve_with, stored_in};

/// Connections to an issuer.
struct ForwardedDirectory(Forwarding);

impl DirectoryTransport for ForwardedDirectory {
    fn send(&self, request: Request<String>) -> DirectoryExchange {
        let forwarding = self.0.clone();
        Box::pin(async move {
            let sent = forwarding.send(request).await;
            let response = sent.map_err(DirectoryFailure::from)?;
            Ok(response.map(RelayBody::new))
        })
    }
}

/// An issuer on loopback, which stops with the test's runtime.
struct RunningIssuer {
    url: String,
    /// The bearer token of its client.
    bearer: String,
    _folder: TempDir,
}

impl RunningIssuer {
    async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let file = |name: &str| folder.path().join(name);
        let client = NewToken::new("phone", [Scope::Query]);
        let bearer = TokenFile::add(&file("clients.toml"), client).unwrap();
        let tokens = vec![TokenSource::new(file("clients.toml"))];
        let config = IssuerConfig {
            listen: "127.0.0.1:0".parse().unwrap(),
            ..IssuerConfig::new(file("issuer.toml"), file("counts.redb"), tokens)
        };

        let bound = BoundIssuer::bind(config).await.unwrap();
        let url = bound.url();
        tokio::spawn(bound.serve(pending()));
        Self {
            url,
            bearer: bearer.to_string(),
            _folder: folder,
        }
    }

    /// A service of two capitals that demands tokens of this issuer.
    async fn serve(&self) -> Service {
        let direct = papir_client::Options::default().proxy(ProxySetting::Direct);
        let transport = ForwardedDirectory(Forwarding::new(&self.url, &direct).unwrap());
        let passes = PrivacyPassConfig {
            issuer: Some(self.url.trim_start_matches("http://").to_owned()),
            directory: DirectorySource::Issuer(Arc::new(transport)),
            origins: vec!["127.0.0.1".to_owned()],
            not_before: None,
        };

        let pairs = [("Peru", "Lima"), ("Kenya", "Nairobi")];
        let database = papir::Database::build(pairs, &options("simple")).unwrap();
        let (prepared, layout) = database.into_parts();
        let served = Served::new("table", prepared, layout);
        serve_with(served, Some(passes)).await
    }
}

/// Options with an issuer and a token for it.
fn with_issuer(issuer: Option<&str>, token: Option<&str>) -> Options {
    Options {
        issuer: issuer.map(str::to_owned),
        issuer_token: token.map(str::to_owned),
        proxy: Some("none".to_owned()),
        ..stored_in(&Arc::default())
    }
}

/// The value of a key, or the code of the error.
async fn look(service: &Service, options: Options) -> Result<Vec<u8>, String> {
    let database = Database::connect(service.url.clone(), options).await;
    let found = database.unwrap().get(b"Peru".to_vec()).await;
    match found {
        Ok(value) => Ok(value.unwrap()),
        Err(PapirError::Failed { code, .. }) => Err(code),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lookups_are_paid_with_tokens_of_the_issuer() {
    let issuer = RunningIssuer::start().await;
    let service = issuer.serve().await;
    let paid = with_issuer(Some(&issuer.url), Some(&issuer.bearer));
    assert_eq!(look(&service, paid).await.unwrap(), b"Lima");

    let without = with_issuer(None, None);
    assert_eq!(look(&service, without).await.unwrap_err(), "no_issuer");
    let stranger = with_issuer(Some(&issuer.url), Some("papir_0"));
    assert_eq!(look(&service, stranger).await.unwrap_err(), "unauthorized");
}

#[tokio::test]
async fn unusable_issuers_are_refused() {
    let service = capitals("simple").await;
    for (url, token) in [
        (Some("http://i.example"), None),
        (Some("https://i.example/path"), Some("papir_0")),
        (None, Some("papir_0")),
    ] {
        let (kind, code, text) = refused(&service.url, with_issuer(url, token)).await;
        let found = (kind, code.as_str());
        assert_eq!(found, (ErrorKind::Other, "bad_issuer"), "{text}");
        assert!(!text.contains("papir_0"), "{text}");
    }
}
