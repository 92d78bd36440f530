//! Keys of gateways that the owner of a database names for all clients.

use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use papir_checkpoint::{
    Base, Certificate, GatewayKeys, Kind, Log, SigningKey, Statement, VerifyingKey,
    public_part_hash,
};
use papir_client::{CheckpointSettings, Options, Relay};
use papir_ohttp::{Gateway, GatewayKey, Kem, SealForm};

use crate::clients::CLIENTS;
use crate::peer::{Peer, record, rng, simple};
use crate::relay::{FakeRelay, Received};
use crate::{Unvisited, answer, gateway, has_token, keys, options};

/// The path of the proof, as a client asks for it before it knows a version.
const PROOF: &str = "/v1/databases/table/checkpoint/proof";

fn owner() -> SigningKey {
    let name = "example.org/owner".parse().unwrap();
    SigningKey::generate(name, Kind::Note, &mut rng(7))
}

/// The hash of the key of [`gateway`].
fn hash(seed: u8) -> [u8; 32] {
    let list = gateway(seed).key_list().unwrap();
    list.digests().next().unwrap().0
}

/// A signed database whose newest leaf commits to the key of this gateway.
fn signed(named: Option<u8>) -> Peer {
    let mut peer = Peer::new(simple(1));
    let clock = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = clock.unwrap().as_secs();
    let statement = Statement {
        database: "table".to_owned(),
        time: now,
        base: Base::Content([1; 32]),
        delta_root: None,
        public_part: public_part_hash(&peer.newest().bundle),
    };

    let mut certificates = Vec::new();
    if let Some(seed) = named {
        let keys = GatewayKeys::new(Some("table"), &[hash(seed)]).unwrap();
        let certificate = Certificate::gateways(&owner(), &keys, (now - 60, now + 600));
        certificates.push(certificate.unwrap());
    }
    peer.log = Some(Log::append(None, &statement, &owner(), &certificates).unwrap());
    peer
}

/// The paths of opened requests, with a mark if a request has the token.
type Opened = Arc<Mutex<Vec<String>>>;

/// A relay, a gateway and a service whose owner names the key of another gateway, or none.
fn relay(
    named: Option<u8>,
    gateway: impl FnOnce() -> Gateway + Send + 'static,
    seen: &Opened,
) -> FakeRelay {
    let seen = Arc::clone(seen);
    FakeRelay::start(move || {
        let gateway = gateway();
        let mut service = signed(named);
        move |received: &Received| {
            if received.target.starts_with("GET ") {
                return keys(&gateway);
            }

            let opened = gateway.open(&received.body, SealForm::Chunked).unwrap();
            let mark = if has_token(&opened.request) {
                " token"
            } else {
                ""
            };
            let line = format!("{}{mark}", opened.request.path);
            seen.lock().unwrap().push(line);
            answer(&mut service, opened)
        }
    })
}

fn take(seen: &Opened) -> Vec<String> {
    std::mem::take(&mut *seen.lock().unwrap())
}

/// Options of a client that knows the owner's key, or trusts the one that it is shown, and sends
/// the token to a gateway whose key only the relay vouches for.
fn knowing(owner: Option<VerifyingKey>, relay: &FakeRelay) -> Options {
    Options {
        database: Some("table".to_owned()),
        insecure_http: owner.is_none(),
        checkpoint: CheckpointSettings {
            owner,
            ..CheckpointSettings::default()
        },
        ..options(Relay::new(&relay.url))
    }
}

#[test]
fn the_token_is_sent_once_the_owner_names_the_key() {
    for (name, look_up) in CLIENTS {
        let seen = Opened::default();
        let relay = relay(Some(1), || gateway(1), &seen);
        let service = Unvisited::new();
        let options = knowing(Some(owner().public()), &relay);
        let found = look_up(&service.url, &options).unwrap();
        assert_eq!(found, record(1, 3), "{name}");

        let seen = take(&seen);
        assert_eq!(seen[0], PROOF, "{name}: {seen:?}");
        let later = &seen[1..];
        assert!(
            later.iter().all(|line| line.ends_with(" token")),
            "{name}: {seen:?}"
        );
        assert!(
            later.iter().any(|line| line.contains("/query")),
            "{name}: {seen:?}"
        );
        service.assert_unvisited();
    }
}

#[test]
fn a_key_for_one_client_alone_gets_neither_token_nor_query() {
    for (name, look_up) in CLIENTS {
        let seen = Opened::default();
        let relay = relay(Some(1), || gateway(2), &seen);
        let service = Unvisited::new();
        let options = knowing(Some(owner().public()), &relay);
        let error = look_up(&service.url, &options).unwrap_err();

        assert_eq!(
            (error.code(), error.is_retryable()),
            ("relay", false),
            "{name}: {error}"
        );
        let found = papir_checkpoint::hex(&hash(2));
        let expected = papir_checkpoint::hex(&hash(1));
        let words =
            format!("{found}: expected one that the owner of the database names, {expected}");
        let text = error.to_string();
        assert!(text.contains(&words), "{name}: {text}");
        assert_eq!(take(&seen), [PROOF], "{name}");
        service.assert_unvisited();
    }
}

#[test]
fn an_owner_that_names_no_keys_is_an_error_for_a_client_that_knows_the_owner() {
    for (name, look_up) in CLIENTS {
        let seen = Opened::default();
        let relay = relay(None, || gateway(1), &seen);
        let service = Unvisited::new();
        let options = knowing(Some(owner().public()), &relay);
        let error = look_up(&service.url, &options).unwrap_err();
        assert_eq!(
            error.code(),
            "checkpoint_no_gateway_keys",
            "{name}: {error}"
        );
        assert_eq!(take(&seen), [PROOF], "{name}");

        // Nobody has said that there is an owner.
        let options = knowing(None, &relay);
        let found = look_up(&service.url, &options).unwrap();
        assert_eq!(found, record(1, 3), "{name}");
        service.assert_unvisited();
    }
}

#[test]
fn keys_that_the_first_owner_names_hold_for_the_session() {
    for (name, look_up) in CLIENTS {
        let seen = Opened::default();
        let relay = relay(Some(1), || gateway(2), &seen);
        let service = Unvisited::new();
        let error = look_up(&service.url, &knowing(None, &relay)).unwrap_err();

        assert_eq!(error.code(), "relay", "{name}: {error}");
        let seen = take(&seen);
        for line in &seen {
            let is_late = line.contains("/public") || line.contains("/query");
            assert!(!is_late, "{name}: {seen:?}");
        }
        service.assert_unvisited();
    }
}

/// A gateway with two keys.
fn both() -> Gateway {
    let keys = [2, 1].map(|seed| GatewayKey::derive(seed, Kem::X25519, &[seed; 32]).unwrap());
    Gateway::new(keys.into())
}

#[test]
fn among_several_keys_the_client_takes_one_that_the_owner_names() {
    for (name, look_up) in CLIENTS {
        let seen = Opened::default();
        let relay = relay(Some(1), both, &seen);
        let service = Unvisited::new();
        let options = knowing(Some(owner().public()), &relay);
        let found = look_up(&service.url, &options).unwrap();
        assert_eq!(found, record(1, 3), "{name}");
        service.assert_unvisited();
    }
}
