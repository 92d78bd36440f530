//! Set intersection: the service's view of it, and the sets that are refused.

use papir_client::Error;
use papir_client::core::{Response, Settings, psi};
use papir_core::{Goal, NoProgress};
use papir_lookup::Root;
use papir_protocol::{PsiInfo, path};
use papir_schemes::registry;

use crate::peer::{Event, Offer, Peer, Reply, json, rng, simple};
use crate::signing::{given, owner, signed};
use crate::traces::world::table;

/// Intersects one element with the set whose elements are looked up in the peer's database.
fn intersect(peer: &mut Peer, settings: Settings, named: bool) -> Result<psi::Intersection, Error> {
    let key = papir_lookup::oprf::Key::generate(&mut rng(7)).unwrap();
    let task = psi::intersect(peer.service().unwrap(), settings, vec!["element"]);
    peer.run_through(task, &mut |peer, call| match call.path.as_str() {
        path::PSI => Ok(json(200, &set_in(peer, named))),
        path::PSI_EVALUATE => {
            let body = Ok(key.evaluate(&call.body).unwrap());
            Ok(Response {
                status: 200,
                headers: Vec::new(),
                body,
            })
        }
        _ => peer.receive(call),
    })
}

/// A service names the database of its set.
#[test]
fn another_name_of_a_sets_database_does_not_escape_the_pins() {
    let mut peer = signed(simple(1), &owner(1));
    let code = |peer: &mut Peer, named| {
        intersect(peer, Settings::default(), named)
            .unwrap_err()
            .code()
            .to_owned()
    };
    // The database of this test has no keys, which ends the lookup.
    assert_eq!(code(&mut peer, true), "not_keyed");
    assert_eq!(peer.pinned_name.as_deref(), Some("table"));
    peer.rename("other");
    peer.log = None;
    for named in [true, false] {
        assert_eq!(code(&mut peer, named), "other_name");
    }
}

/// Returns a keyed database.
fn keyed(seed: u64) -> Offer {
    let (records, layout) = table(60);
    let scheme = registry::by_name("simple").unwrap();
    Offer::new(
        scheme
            .setup(&records, Goal::Balanced, &mut rng(seed), &NoProgress)
            .unwrap(),
        layout,
    )
}

/// A service that knows the names of a set can make answers that decode for some of them only.
#[test]
fn a_new_version_is_followed_whether_or_not_answers_decode() {
    let traffic = |damage: fn(&mut Vec<u8>)| {
        let mut peer = Peer::new(keyed(1));
        peer.damage = damage;
        let next = Some(keyed(2));
        peer.script.push_back(Reply {
            next,
            ..Reply::refusal(409, "wrong_version")
        });
        let decoded = intersect(&mut peer, Settings::default(), true).is_ok();
        (decoded, peer.take())
    };
    let (decoded, intact) = traffic(|_| {});
    let (damaged_decoded, damaged) = traffic(|answers| answers.truncate(answers.len() - 1));
    assert!(decoded && !damaged_decoded);
    assert!(damaged == intact, "the traffic depends on the answers");
    let described = |event: &&Event| matches!(event, Event::Sent(call) if call.path == path::PSI);
    assert_eq!(intact.iter().filter(described).count(), 2);
}

/// Returns the description of a set whose elements are looked up in the peer's database.
fn set_in(peer: &Peer, named: bool) -> PsiInfo {
    PsiInfo {
        kind: "retrieval".into(),
        version: peer.newest().server.version().to_string(),
        elements: 9,
        longest_label: None,
        max_elements: 9,
        filter_bytes: None,
        database: named.then(|| peer.name.to_owned()),
    }
}

/// Only the database of a retrieval set is signed and verifiable. The service says the kind of its
/// set.
#[test]
fn a_filter_is_refused_if_the_set_must_be_signed_or_verifiable() {
    let refused = |peer: &mut Peer, settings: Settings| {
        let task = psi::intersect(peer.service().unwrap(), settings, vec!["element"]);
        let refused = peer.run_through(task, &mut |peer, call| {
            assert_eq!(call.path, path::PSI, "another request was sent");
            Ok(json(
                200,
                &PsiInfo {
                    kind: "filter".into(),
                    filter_bytes: Some(99),
                    ..set_in(peer, false)
                },
            ))
        });
        refused.unwrap_err()
    };
    let mut peer = signed(simple(1), &owner(1));
    let error = refused(&mut peer, given(owner(1).public()));
    assert!(matches!(error, Error::NoCheckpoint { .. }), "{error}");
    let error = refused(
        &mut peer,
        Settings {
            root: Some(Root([7; 32])),
            ..Settings::default()
        },
    );
    assert!(matches!(error, Error::Root { .. }), "{error}");
    // A set that was signed before.
    intersect(&mut peer, Settings::default(), true).unwrap_err();
    let error = refused(&mut peer, Settings::default());
    assert!(matches!(error, Error::NoCheckpoint { .. }), "{error}");
}
