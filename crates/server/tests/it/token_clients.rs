//! Clients that spend tokens of an issuer at a service that demands them.

use std::fs;
use std::future::pending;
use std::thread;

use papir_client::{Issuer, Options, Token};
use papir_privacy_pass::DIRECTORY_PATH;
use papir_server::{
    BoundIssuer, Database, DirectorySource, IssuerConfig, NewToken, PrivacyPassConfig,
    RegistryConfig, Scope, ServerConfig, TokenFile, TokenSource,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::support::faulty::{Fault, FaultyDatabase, Latch};
use crate::support::transports::{AnyConnection, AsyncConnection, over_both_transports};
use crate::support::{Running, config, get, prepared, record, records, stateless, until};

over_both_transports!(
    a_busy_service_costs_no_tokens,
    clients_of_another_issuer_or_without_one_are_told_so,
);

/// The tokens of a day: one batch.
const DAILY: u32 = 32;

/// An issuer, which stops when it is dropped.
struct RunningIssuer {
    url: String,
    /// The bearer token of its client.
    bearer: String,
    /// The directory of its keys.
    directory: Vec<u8>,
    _runtime: Runtime,
}

impl RunningIssuer {
    fn start(folder: &TempDir) -> Self {
        let file = |name: &str| folder.path().join(name);
        let client = NewToken::new("client", [Scope::Query]);
        let bearer = TokenFile::add(&file("clients.toml"), client).unwrap();
        let tokens = vec![TokenSource::new(file("clients.toml"))];
        let config = IssuerConfig {
            listen: "127.0.0.1:0".parse().unwrap(),
            daily: DAILY,
            ..IssuerConfig::new(file("issuer.toml"), file("counts.redb"), tokens)
        };

        let runtime = Runtime::new().unwrap();
        let bound = runtime.block_on(BoundIssuer::bind(config)).unwrap();
        let url = bound.url();
        runtime.spawn(bound.serve(pending()));
        Self {
            directory: get(&format!("{url}{DIRECTORY_PATH}")).body,
            bearer: bearer.to_string(),
            url,
            _runtime: runtime,
        }
    }
}

/// A service that demands tokens and answers one request at a time, and an issuer.
struct Demanding {
    server: Running,
    issuer: RunningIssuer,
    folder: TempDir,
}

impl Demanding {
    fn start(fault: Fault) -> Self {
        let folder = TempDir::new().unwrap();
        let issuer = RunningIssuer::start(&folder);
        let keys = folder.path().join("keys.json");
        fs::write(&keys, &issuer.directory).unwrap();

        let passes = PrivacyPassConfig {
            issuer: Some(issuer.url.trim_start_matches("http://").to_owned()),
            directory: DirectorySource::File(keys),
            origins: vec!["127.0.0.1".to_owned()],
            not_before: None,
        };
        let config = ServerConfig {
            registry: Some(RegistryConfig::new(folder.path().join("clients"))),
            privacy_pass: Some(passes),
            max_concurrent: 1,
            max_queued: 0,
            ..config()
        };
        let database = FaultyDatabase {
            inner: prepared("plain", &records(50)),
            scheme: 0,
            fault,
        };
        let database = Database::new("table", Box::new(database), None);

        let server = Running::start(config, vec![database]);
        let ready = format!("{}/readyz", server.url());
        until("the keys are known", || get(&ready).status == 200);
        Self {
            server,
            issuer,
            folder,
        }
    }

    /// Options with the issuer at an address, and a bearer token for it. All clients share their
    /// tokens.
    fn options(&self, issuer: &str, bearer: &str) -> Options {
        let token = Token::new(bearer).unwrap();
        Options {
            issuer: Some(Issuer::new(issuer, Some(token))),
            state: Some(self.folder.path().join("state")),
            ..without_issuer()
        }
    }

    fn connect<C: AnyConnection>(&self) -> C {
        let options = self.options(&self.issuer.url, &self.issuer.bearer);
        C::open_with(&self.server.url(), &options).unwrap()
    }

    /// The number of requests that were refused as busy.
    fn refused(&self) -> u64 {
        let text = get(&format!("{}/metrics", self.server.url())).body;
        let text = String::from_utf8(text).unwrap();
        let busy = "papir_query_requests_total{database=\"table\",code=\"busy\"} ";
        let found = text.lines().find_map(|line| line.strip_prefix(busy));
        found.map_or(0, |number| number.parse().unwrap())
    }
}

fn without_issuer() -> Options {
    Options {
        allow_not_private: true,
        ..stateless()
    }
}

#[test]
fn both_clients_spend_each_token_of_a_batch_once() {
    let service = Demanding::start(Fault::Honest);
    let mut blocking: papir_client::Connection = service.connect();
    let mut asynchronous: AsyncConnection = service.connect();
    for index in 0..u64::from(DAILY / 2) {
        assert_eq!(blocking.get_index(index).unwrap(), record(index));
        assert_eq!(asynchronous.get_index(index).unwrap(), record(index));
    }

    // The 33rd token needs a second batch, which the issuer gives tomorrow.
    let refused = blocking.get_index(0).unwrap_err();
    assert_eq!(refused.code(), "token_quota");
    let refused = asynchronous.get_index(0).unwrap_err();
    assert_eq!(refused.code(), "token_quota");
}

fn a_busy_service_costs_no_tokens<C: AnyConnection>() {
    let latch = Latch::default();
    let service = Demanding::start(Fault::Wait(latch.clone()));
    let mut first: C = service.connect();
    let mut second: C = service.connect();

    thread::scope(|scope| {
        let held = scope.spawn(|| first.get_index(1));
        latch.wait_for(1);
        let refused = scope.spawn(|| second.get_index(2));
        until("it is refused twice", || service.refused() >= 2);
        latch.release();
        assert_eq!(held.join().unwrap().unwrap(), record(1));
        assert_eq!(refused.join().unwrap().unwrap(), record(2));
    });

    // The two lookups have cost one token each.
    for _ in 2..DAILY {
        first.get_index(3).unwrap();
    }
    let refused = first.get_index(3).unwrap_err();
    assert_eq!(refused.code(), "token_quota");
}

fn clients_of_another_issuer_or_without_one_are_told_so<C: AnyConnection>() {
    let service = Demanding::start(Fault::Honest);
    let other = service.options("http://127.0.0.1:9", &service.issuer.bearer);
    let stranger = service.options(&service.issuer.url, "papir_0");

    for (options, code) in [
        (without_issuer(), "no_issuer"),
        (other, "bad_challenge"),
        (stranger, "unauthorized"),
    ] {
        let mut connection = C::open_with(&service.server.url(), &options).unwrap();
        let error = connection.get_index(1).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }

    // No token of the day is gone.
    let mut connection: C = service.connect();
    for _ in 0..DAILY {
        connection.get_index(1).unwrap();
    }
}
