//! Pinned roots of verifiable databases, some of which are signed.

use papir_client::Error;
use papir_client::core::{Pin, Settings};
use papir_core::erased::ErasedServer;
use papir_core::{Goal, NoProgress, RecordBuffer};
use papir_lookup::{Commitment, Root, Wanted};
use papir_schemes::registry;

use crate::peer::{Offer, Peer, Reply, rng, simple};
use crate::signing::{append_delta, delta_of, given, owner, pinning, sign, signed};

#[test]
fn the_key_of_a_first_checkpoint_does_not_replace_a_pinned_root() {
    let mut peer = signed(simple(1), &owner(1));
    peer.root = Some(Root([7; 32]));
    for settings in [pinning(), Settings::default()] {
        let error = peer.open(settings).err().unwrap();
        assert!(matches!(error, Error::Root { .. }), "{error}");
        assert!(
            peer.pin.is_none(),
            "the key is pinned although the root is wrong"
        );
    }
    // A key that the caller gives does.
    peer.open(Settings {
        pin: Pin::OwnerAndRoot,
        ..given(owner(1).public())
    })
    .unwrap();
    peer.open(pinning()).unwrap();
}

/// Otherwise a service could sign the version with that root, and then any other.
#[test]
fn a_pinned_root_stays_when_a_service_starts_to_sign() {
    for settings in [
        pinning(),
        Settings {
            root: Some(root(1)),
            ..pinning()
        },
    ] {
        let mut peer = Peer::new(verifiable(1));
        peer.open(settings.clone()).unwrap();
        assert_eq!(peer.root, Some(root(1)));
        sign(&mut peer, &owner(1), &[]);
        let mut session = peer.open(settings).unwrap();
        assert_eq!(peer.pin, None, "a key is pinned beside a root");
        let next = verifiable(2);
        peer.versions.push(next);
        sign(&mut peer, &owner(1), &[]);
        peer.script.push_back(Reply::refusal(409, "wrong_version"));
        let error = peer.run(session.get(&[Wanted::Index(7)])).unwrap_err();
        assert!(matches!(error, Error::Root { .. }), "{error}");
        for settings in [pinning(), Settings::default()] {
            let error = peer.open(settings).err().unwrap();
            assert!(matches!(error, Error::Root { .. }), "{error}");
        }
        peer.open(Settings {
            pin: Pin::OwnerAndRoot,
            ..given(owner(1).public())
        })
        .unwrap();
        peer.open(pinning()).unwrap();
    }
}

/// The service prepares the same records again, and signs.
#[test]
fn a_session_that_pinned_a_root_pins_no_key() {
    let mut peer = Peer::new(verifiable(1));
    let mut session = peer.open(pinning()).unwrap();
    peer.versions
        .push(Offer::new(prepared(1, 2), None).with_top(top(1)));
    sign(&mut peer, &owner(1), &[]);
    peer.script.push_back(Reply::refusal(409, "wrong_version"));
    // The records of this test have no proofs.
    peer.run(session.get(&[Wanted::Index(7)])).unwrap_err();
    assert_eq!(session.checkpoint().unwrap().seen.sequence, 0);
    assert_eq!((peer.root, peer.pin), (Some(root(1)), None));
}

/// The root does not cover a delta, and no key is trusted to sign it.
#[test]
fn a_delta_beside_a_pinned_root_is_refused() {
    let mut peer = Peer::new(verifiable(1));
    peer.open(pinning()).unwrap();
    peer.log = Some(append_delta(None, peer.newest(), &owner(1)));
    peer.delta = Some(delta_of(peer.newest()));
    let error = peer.open(pinning()).err().unwrap().to_string();
    assert!(
        error.contains("a delta beside a database whose root alone is known"),
        "{error}"
    );
}

#[test]
fn the_root_of_a_database_that_was_always_signed_may_change() {
    let mut peer = signed(verifiable(1), &owner(1));
    peer.open(pinning()).unwrap();
    assert_eq!((peer.root, peer.pin.is_some()), (None, true));
    peer.versions.push(verifiable(2));
    sign(&mut peer, &owner(1), &[]);
    peer.open(pinning()).unwrap();
}

/// Returns the top of a hash tree. No lookup of these tests reaches a proof.
fn top(seed: u64) -> [u8; 32] {
    [seed as u8; 32]
}

fn root(seed: u64) -> Root {
    let client = registry::by_name("simple")
        .unwrap()
        .client(&long(seed).public())
        .unwrap();
    Commitment::of_prepared(&client.describe().shape, top(seed))
        .unwrap()
        .root(None)
}

/// Returns a database whose records are long enough for proofs.
fn long(seed: u64) -> Box<dyn ErasedServer> {
    prepared(seed, seed)
}

/// Prepares long records. `version` seeds the preparation, and with it the version number.
fn prepared(records: u64, version: u64) -> Box<dyn ErasedServer> {
    let record = |index: u64| vec![(records + index) as u8; 400];
    let records = RecordBuffer::from_records((0..50).map(record)).unwrap();
    let scheme = registry::by_name("simple").unwrap();
    scheme
        .setup(&records, Goal::Balanced, &mut rng(version), &NoProgress)
        .unwrap()
}

/// Returns a verifiable database.
fn verifiable(seed: u64) -> Offer {
    Offer::new(long(seed), None).with_top(top(seed))
}
