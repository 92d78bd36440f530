//! The keys of the issuer, and settings.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use papir_privacy_pass::{DIRECTORY_PATH, MAX_DIRECTORY_BYTES, write_authorization};
use papir_server::{
    DirectoryExchange, DirectoryFailure, DirectorySource, DirectoryTransport, Error,
    PrivacyPassConfig, RelayBody, Request, Response, Scope, ServerConfig, TokenSource,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{
    ISSUER, OTHER, ask, challenge, dated_directory, directory, good_token, is_ready, issue, offer,
    passes, priced, query, query_url, start,
};
use crate::support::secured::token;
use crate::support::{Running, get, indexed, send, until};

/// An issuer that returns one text as its directory, or is away.
#[derive(Default)]
struct FakeIssuer {
    directory: Mutex<Option<String>>,
}

impl FakeIssuer {
    fn publish(&self, directory: String) {
        *self.directory.lock().unwrap() = Some(directory);
    }
}

impl DirectoryTransport for FakeIssuer {
    fn send(&self, request: Request<String>) -> DirectoryExchange {
        assert_eq!(request.method(), "GET");
        assert_eq!(request.uri(), DIRECTORY_PATH);
        assert!(request.body().is_empty());

        let directory = self.directory.lock().unwrap().clone();
        Box::pin(async move {
            match directory {
                Some(text) => Ok(Response::new(RelayBody::from(text))),
                None => Err(DirectoryFailure::from("away")),
            }
        })
    }
}

#[test]
fn without_a_key_of_the_issuer_no_request_is_answered() {
    let folder = TempDir::new().unwrap();
    let issuer = Arc::new(FakeIssuer::default());
    let transport: Arc<dyn DirectoryTransport> = issuer.clone();
    let config = ServerConfig {
        privacy_pass: Some(passes(DirectorySource::Issuer(transport))),
        ..priced(&folder)
    };
    let server = Running::start(config, vec![indexed("table", "plain", 50)]);
    let body = query(&server);
    let runtime = Runtime::new().unwrap();

    let too_long = format!(
        "{}{}",
        directory(&[&ISSUER]),
        " ".repeat(MAX_DIRECTORY_BYTES)
    );
    for unusable in [
        None,
        Some(too_long),
        Some(directory(&[])),
        Some("{}".to_owned()),
    ] {
        if let Some(directory) = unusable {
            issuer.publish(directory);
            runtime.block_on(server.handle.reload()).unwrap();
        }
        let reply = get(&format!("{}/readyz", server.url()));
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (503, "no_issuer_key")
        );
        assert_eq!(reply.header("retry-after"), Some("1"));

        let reply = ask(&server, &body, &good_token());
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (503, "no_issuer_key")
        );
        assert_eq!(reply.json()["token_unspent"], true);
        let reply = send("POST", &query_url(&server), &[], &body);
        assert_eq!(reply.code(), "no_issuer_key");
        assert_eq!(get(&format!("{}/v1/databases", server.url())).status, 200);
    }

    issuer.publish(directory(&[&ISSUER]));
    runtime.block_on(server.handle.reload()).unwrap();
    until("the keys are known", || is_ready(&server));
    assert_eq!(ask(&server, &body, &good_token()).status, 200);
}

#[test]
fn an_old_key_is_accepted_for_as_long_as_the_issuer_lists_it() {
    let folder = TempDir::new().unwrap();
    let issuer = Arc::new(FakeIssuer::default());
    issuer.publish(directory(&[&ISSUER]));
    let transport: Arc<dyn DirectoryTransport> = issuer.clone();
    let config = ServerConfig {
        privacy_pass: Some(passes(DirectorySource::Issuer(transport))),
        ..priced(&folder)
    };
    let server = start(config);
    let body = query(&server);
    let runtime = Runtime::new().unwrap();

    issuer.publish(directory(&[&OTHER, &ISSUER]));
    runtime.block_on(server.handle.reload()).unwrap();
    until("the new key is offered", || {
        let refused = send("POST", &query_url(&server), &[], &body);
        let offered = offer(&refused).parse_key().unwrap();
        offered.as_ref() == Some(OTHER.public())
    });
    let by_other = write_authorization(&issue(&OTHER, &challenge()));
    assert_eq!(ask(&server, &body, &by_other).status, 200);
    assert_eq!(ask(&server, &body, &good_token()).status, 200);

    // A key that is no longer listed, such as one that was stolen, ends at the next reading.
    issuer.publish(directory(&[&OTHER]));
    runtime.block_on(server.handle.reload()).unwrap();
    until("the old key is refused", || {
        let reply = ask(&server, &body, &good_token());
        reply.status == 401 && reply.code() == "token_invalid"
    });

    // An issuer that is away changes nothing.
    *issuer.directory.lock().unwrap() = None;
    runtime.block_on(server.handle.reload()).unwrap();
    let by_other = write_authorization(&issue(&OTHER, &challenge()));
    assert_eq!(ask(&server, &body, &by_other).status, 200);
}

#[test]
fn after_a_restore_tokens_of_keys_that_began_before_are_refused() {
    const RESTORED: u64 = 1_000_000;
    let folder = TempDir::new().unwrap();
    let issuer = Arc::new(FakeIssuer::default());
    issuer.publish(dated_directory(&[(&*ISSUER, Some(RESTORED - 1))]));
    let transport: Arc<dyn DirectoryTransport> = issuer.clone();
    let config = ServerConfig {
        privacy_pass: Some(PrivacyPassConfig {
            not_before: Some(UNIX_EPOCH + Duration::from_secs(RESTORED)),
            ..passes(DirectorySource::Issuer(transport))
        }),
        ..priced(&folder)
    };
    let server = Running::start(config, vec![indexed("table", "plain", 50)]);
    let body = query(&server);
    let runtime = Runtime::new().unwrap();
    runtime.block_on(server.handle.reload()).unwrap();
    let refused = ask(&server, &body, &good_token());
    assert_eq!(refused.code(), "no_issuer_key");

    let both = [(&*OTHER, Some(RESTORED)), (&*ISSUER, Some(RESTORED - 1))];
    issuer.publish(dated_directory(&both));
    runtime.block_on(server.handle.reload()).unwrap();
    until("the new key is known", || is_ready(&server));
    let refused = ask(&server, &body, &good_token());
    assert_eq!(refused.code(), "token_invalid");
    assert_eq!(
        offer(&refused).parse_key().unwrap().as_ref(),
        Some(OTHER.public())
    );
    let by_other = write_authorization(&issue(&OTHER, &challenge()));
    assert_eq!(ask(&server, &body, &by_other).status, 200);
}

#[test]
fn settings_that_cannot_work_are_refused_at_the_start() {
    let folder = TempDir::new().unwrap();
    let good = priced(&folder);
    let file = folder.path().join("other.json");
    fs::write(&file, "{}").unwrap();
    let tokens = folder.path().join("tokens.toml");
    token(&tokens, "phone", &[Scope::Query], None);

    let with = |settings: PrivacyPassConfig| ServerConfig {
        privacy_pass: Some(settings),
        ..good.clone()
    };
    let settings = good.privacy_pass.clone().unwrap();
    let mut of_one = good.clone();
    of_one.protection.tokens = vec![TokenSource {
        only: Some("table".to_owned()),
        ..TokenSource::new(&tokens)
    }];
    let without_registry = ServerConfig {
        registry: None,
        ..good.clone()
    };
    let without_origin = with(PrivacyPassConfig {
        origins: Vec::new(),
        ..settings.clone()
    });
    let bad_origin = with(PrivacyPassConfig {
        origins: vec!["https://pir.example".to_owned()],
        ..settings.clone()
    });
    let without_name = with(PrivacyPassConfig {
        issuer: None,
        ..passes(DirectorySource::Issuer(Arc::new(FakeIssuer::default())))
    });

    for (config, part) in [
        (without_registry, "expected a registry"),
        (of_one, "`table` has bearer tokens"),
        (without_origin, "no origin"),
        (bad_origin, "origin"),
        (without_name, "the issuer has no name"),
        (
            with(passes(DirectorySource::File(file))),
            "issuer directory",
        ),
        (
            with(passes(DirectorySource::File("missing.json".into()))),
            "missing.json",
        ),
    ] {
        let started = Running::try_start(config, vec![indexed("table", "plain", 9)]);
        let error = started.map(drop).unwrap_err();
        assert!(matches!(error, Error::PrivacyPass { .. }), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }

    // The name of the issuer is in the file.
    let named = with(PrivacyPassConfig {
        issuer: None,
        ..settings
    });
    let server = start(named);
    let body = query(&server);
    assert_eq!(ask(&server, &body, &good_token()).status, 200);
}
