//! Sessions behind a relay that carries the keys of the service's gateway.

use papir_checkpoint::{Certificate, GatewayKeys};
use papir_client::core::Settings;
use papir_lookup::Wanted;

use crate::peer::{EPOCH, Event, Peer, record, simple};
use crate::signing::{given, owner, sign};

/// The path of the proof, below that of the databases.
const PROOF: &str = "/table/checkpoint/proof";

/// A signed database behind a relay that carries keys. If `named`, its newest leaf commits to keys
/// of gateways.
fn relayed(named: bool) -> Peer {
    let key = owner(7);
    let keys = GatewayKeys::new(Some("table"), &[[7; 32]]).unwrap();
    let times = (EPOCH - 60, EPOCH + 600);
    let mut certificates = Vec::new();
    if named {
        certificates.push(Certificate::gateways(&key, &keys, times).unwrap());
    }

    let mut peer = Peer::new(simple(1));
    sign(&mut peer, &key, &certificates);
    peer.relay = Some("https://r.example");
    peer.carries_keys = true;
    peer
}

/// Settings with the owner's key.
fn knowing(database: Option<&str>) -> Settings {
    Settings {
        database: database.map(str::to_owned),
        ..given(owner(7).public())
    }
}

/// The routes of the requests since the last call, with a mark if a request has the token.
fn take(peer: &Peer) -> Vec<String> {
    let mut routes = Vec::new();
    for event in peer.take() {
        if let Event::Sent(call) = event {
            let mark = match call.header("authorization") {
                Some(_) => " token",
                None => "",
            };
            routes.push(format!("{}{mark}", call.route()));
        }
    }
    routes
}

#[track_caller]
fn assert_all_have_token(routes: &[String]) {
    assert!(!routes.is_empty());
    for route in routes {
        assert!(route.ends_with(" token"), "{routes:?}");
    }
}

#[test]
fn the_token_is_held_back_until_the_owner_has_named_the_keys() {
    // Without a name the list comes first, which a service may refuse.
    let early: [(Option<&str>, &[&str]); 2] = [(Some("table"), &[PROOF]), (None, &["", PROOF])];
    for (database, early) in early {
        let mut peer = relayed(true);
        let mut session = peer.open(knowing(database)).unwrap();
        let routes = take(&peer);
        assert_eq!(routes[..early.len()], *early, "{database:?}");
        assert_all_have_token(&routes[early.len()..]);

        let found = peer.run(session.get(&[Wanted::Index(3)])).unwrap();
        assert_eq!(found, [Some(record(1, 3))]);
        assert_all_have_token(&take(&peer));
    }
}

#[test]
fn a_session_that_moves_holds_the_token_back_from_the_other_server() {
    let mut peer = relayed(true);
    let session = peer.open(knowing(Some("table"))).unwrap();
    take(&peer);

    let other = peer.service().unwrap();
    let mut moved = peer.run(session.moved(other)).unwrap();
    let routes = take(&peer);
    assert_eq!(routes[0], PROOF, "{routes:?}");
    assert_all_have_token(&routes[1..]);

    peer.run(moved.get(&[Wanted::Index(3)])).unwrap();
    assert_all_have_token(&take(&peer));
}

#[test]
fn a_session_does_not_move_to_a_server_without_named_keys() {
    let mut peer = relayed(true);
    let session = peer.open(knowing(Some("table"))).unwrap();
    take(&peer);

    peer.log = relayed(false).log;
    let other = peer.service().unwrap();
    let refused = peer.run(session.moved(other)).err().unwrap();
    assert_eq!(refused.code(), "checkpoint_no_gateway_keys");
    assert_eq!(take(&peer), [PROOF]);
}

#[test]
fn without_named_keys_nothing_is_sent_but_the_request_for_the_proof() {
    let mut peer = relayed(false);
    let refused = peer.open(knowing(Some("table"))).err().unwrap();
    assert_eq!(refused.code(), "checkpoint_no_gateway_keys");
    assert_eq!(take(&peer), [PROOF]);

    peer.log = None;
    let unsigned = peer.open(knowing(Some("table"))).err().unwrap();
    assert_eq!(unsigned.code(), "no_checkpoint");
    assert_eq!(take(&peer), [PROOF]);
}

#[test]
fn given_keys_or_an_unknown_owner_hold_no_token_back() {
    let mut peer = relayed(false);
    peer.carries_keys = false;
    peer.open(knowing(Some("table"))).unwrap();
    assert_all_have_token(&take(&peer));

    let mut peer = relayed(false);
    peer.open(Settings::default()).unwrap();
    assert_all_have_token(&take(&peer));
}

/// The pinned owner is another one than the given one: neither may name the keys.
#[test]
fn the_given_owner_must_be_the_pinned_one_before_a_token_is_sent() {
    let mut peer = relayed(true);
    peer.open(knowing(Some("table"))).unwrap();
    take(&peer);

    let other = Settings {
        database: Some("table".to_owned()),
        ..given(owner(8).public())
    };
    let refused = peer.open(other).err().unwrap();
    assert_eq!(refused.code(), "checkpoint_untrusted", "{refused}");
    assert_eq!(take(&peer), [PROOF]);
}
