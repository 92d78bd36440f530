//! Kept versions, with which sessions begin without a request.

use papir_client::core::{KnownVersion, Patches, Session, Settings};
use papir_core::{Goal, NoProgress};
use papir_lookup::{BucketTarget, Entry, TableOptions, Wanted, prefilter};
use papir_schemes::registry;

use crate::patches::{WHOLE, assert_reads, copy, fetches, versions};
use crate::peer::{Offer, Peer, Reply, rng};
use crate::signing::{owner, signed};

/// Settings of a session that begins with the kept version.
fn known() -> Settings {
    Settings {
        known: KnownVersion::Use,
        patches: Patches::Auto,
        ..Settings::default()
    }
}

/// Opens a session with the kept version, if there is one.
fn open(peer: &mut Peer, settings: Settings) -> Session {
    let service = peer.service().unwrap();
    peer.run(Session::open_known(service, settings)).unwrap()
}

#[test]
fn a_session_begins_with_the_kept_version_and_moves_when_it_is_refused() {
    let versions = versions(2);
    let mut peer = Peer::new(versions[0].clone());
    open(&mut peer, known());
    assert_eq!(fetches(&peer), [WHOLE]);

    let mut session = open(&mut peer, known());
    assert!(peer.take().is_empty(), "nothing is sent");
    peer.script.push_back(Reply {
        next: Some(versions[1].clone()),
        ..Reply::refusal(409, "wrong_version")
    });
    assert_reads(&mut peer, &mut session);

    // Not by blocks: they would tell what an earlier session got from this unsigned service.
    assert_eq!(fetches(&peer), [WHOLE]);
    assert_eq!(peer.copy, Some(copy(&versions[1])));

    let mut session = open(&mut peer, known());
    assert!(peer.take().is_empty(), "the newer version is kept");
    assert_reads(&mut peer, &mut session);
}

/// A version with a filter of its 40 keys.
pub(crate) fn filtered() -> Offer {
    let entries = (0..40)
        .map(|number| Entry {
            key: format!("key {number}").into_bytes(),
            value: vec![7],
            line: number + 1,
        })
        .collect();
    let options = TableOptions {
        bucket: BucketTarget::Grow(64),
        ..TableOptions::default()
    };
    let table = papir_lookup::build(entries, &options, &mut rng(9), &NoProgress).unwrap();
    let filter = prefilter::of_ids(24, &table.ids).unwrap();

    let scheme = registry::by_name("simple").unwrap();
    let server = scheme
        .setup(&table.records, Goal::Balanced, &mut rng(1), &NoProgress)
        .unwrap();
    Offer::new(server, Some(table.layout)).with_filter(filter)
}

#[test]
fn a_kept_version_uses_no_filter() {
    let absent = [Wanted::Key(b"absent")];
    let mut peer = Peer::new(filtered());
    let mut session = peer.open(Settings::default()).unwrap();
    peer.take();
    assert!(peer.run(session.get(&absent)).unwrap()[0].is_none());
    assert!(peer.take().is_empty(), "the filter excludes the key");

    // Neither the session that keeps the version uses the filter, nor one that begins with it.
    for _ in 0..2 {
        let mut session = open(&mut peer, known());
        assert!(session.lookup().stated_prefilter().is_some());
        assert!(session.lookup().prefilter().is_none());

        peer.take();
        assert!(peer.run(session.get(&absent)).unwrap()[0].is_none());
        assert!(!peer.take().is_empty(), "the key is looked up");
    }
}

#[test]
fn a_copy_that_the_owner_did_not_sign_is_not_kept() {
    let versions = versions(2);
    let mut peer = signed(versions[0].clone(), &owner(1));
    let named = versions[0].server.version().to_string();
    let other = [named.as_bytes(), versions[1].bundle.as_slice()].concat();
    peer.overwriting = Some(other);

    // The session itself uses what it has fetched.
    let mut session = open(&mut peer, known());
    assert_reads(&mut peer, &mut session);
    assert!(peer.version.is_none());

    open(&mut peer, known());
    assert!(peer.version.is_some(), "the copy was fetched again");
}
