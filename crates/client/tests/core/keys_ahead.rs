//! Keys that a client of `zip` sends ahead of its lookups.

use papir_client::core::Settings;
use papir_core::NoProgress;
use papir_core::scheme::{Goal, SENT_AHEAD};
use papir_lookup::Wanted;
use papir_schemes::registry;

use crate::peer::{Peer, record, records, rng, short};
use crate::registered::{look_up, tickets};

/// The key leaves the state before its query is sent. A state that still has it is an old copy, and is
/// not used: the client registers anew.
#[test]
fn a_key_encrypts_one_query_even_if_the_state_is_restored() {
    let scheme = registry::by_name("zip").unwrap();
    let server = scheme
        .setup(&records(1), Goal::default(), &mut rng(1), &NoProgress)
        .unwrap();
    let online = server.describe().sizes.online;
    let mut peer = Peer::new(server);
    let mut session = peer.open(Settings::default()).unwrap();
    assert_eq!(peer.run(session.hold_ahead(1)).unwrap(), 1);
    let events = peer.take();
    let sending = ["lock", "read", "write", "unlock", "POST /query"];
    let holding = ["lock", "read", "write", "unlock"];
    let all = short(&events);
    assert_eq!(all[all.len() - 9..], [&sending[..], &holding[..]].concat());
    assert_eq!(tickets(&events).remove(0).1, "0");
    let old = peer.saved.clone();

    let before = session.costs().query_bytes;
    let values = peer.run(session.get(&[Wanted::Index(4)])).unwrap();
    assert_eq!(values, [Some(record(1, 4))]);
    assert_eq!(session.costs().query_bytes - before, online);
    let events = peer.take();
    assert_eq!(short(&events), sending);
    assert_eq!(tickets(&events).remove(0).1, SENT_AHEAD.to_string());

    peer.saved = old;
    let mut session = peer.open(Settings::default()).unwrap();
    peer.take();
    assert_eq!(
        look_up(&mut peer, &mut session),
        ("1".into(), "0".into()),
        "another client"
    );
}
