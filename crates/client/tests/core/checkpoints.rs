//! Signed checkpoints: fetched before any query, pinned, and refused.

use std::time::Duration;

use papir_checkpoint::{Certificate, Kind, Seen, SigningKey, cosign};
use papir_client::Error;
use papir_client::core::{CheckpointSettings, Pin, PinnedOwner, Session, Settings};
use papir_lookup::Wanted;

use crate::peer::{EPOCH, Peer, Reply, record, rng, short, simple};
use crate::signing::{append_delta, delta_of, given, owner, pinning, sign, sign_again, signed};

fn events(peer: &Peer) -> Vec<String> {
    short(&peer.take())
}

fn without_pins() -> Settings {
    Settings {
        pin: Pin::Nothing,
        ..Settings::default()
    }
}

const FETCHES: [&str; 4] = ["GET ", "GET ", "GET /checkpoint/proof", "GET /public"];

#[test]
fn the_checkpoint_is_fetched_before_any_query_and_pinned_after_the_public_part() {
    let mut peer = signed(simple(1), &owner(1));
    let mut session = peer.open(pinning()).unwrap();
    assert_eq!(
        events(&peer),
        [&FETCHES[..], &["lock", "pin", "unlock", "pin name"]].concat()
    );
    let pin = peer.pin.clone().unwrap();
    assert_eq!((&pin.key, pin.highest.sequence), (&owner(1).public(), 0));
    assert_eq!(
        session.checkpoint().map(|accepted| accepted.seen),
        Some(pin.highest)
    );
    for index in [3, 49] {
        let values = peer.run(session.get(&[Wanted::Index(index)])).unwrap();
        assert_eq!(values, [Some(record(1, index))]);
        assert_eq!(events(&peer), ["POST /query"]);
    }
    // Nothing new to pin.
    peer.open(pinning()).unwrap();
    assert_eq!(events(&peer), FETCHES);
    // Without pins nothing is stored.
    peer.pin = None;
    peer.open(without_pins()).unwrap();
    assert_eq!(
        (events(&peer), peer.pin.is_none()),
        (FETCHES.map(str::to_owned).to_vec(), true)
    );
}

#[test]
fn databases_without_a_checkpoint_are_refused_if_one_is_required() {
    let mut peer = signed(simple(1), &owner(1));
    peer.log = None;
    peer.open(pinning()).unwrap();
    assert_eq!(events(&peer), ["GET ", "GET ", "GET /public"]);
    let refused = |peer: &mut Peer, settings| {
        let error = peer.open(settings).err().unwrap();
        assert!(matches!(error, Error::NoCheckpoint { .. }), "{error}");
        assert_eq!(
            events(peer),
            ["GET ", "GET "],
            "nothing is fetched or stored"
        );
    };
    refused(&mut peer, given(owner(1).public()));
    let requiring = |checkpoint| Settings {
        checkpoint,
        ..pinning()
    };
    let age = Some(Duration::from_secs(60));
    refused(
        &mut peer,
        requiring(CheckpointSettings {
            max_age: age,
            ..CheckpointSettings::default()
        }),
    );
    refused(
        &mut peer,
        requiring(CheckpointSettings {
            cosignatures: 1,
            ..CheckpointSettings::default()
        }),
    );
    refused(
        &mut peer,
        requiring(CheckpointSettings {
            sequence: Some(0),
            ..CheckpointSettings::default()
        }),
    );
    let highest = Seen {
        sequence: 0,
        leaf: [0; 32],
    };
    peer.pin = Some(PinnedOwner {
        key: owner(1).public(),
        first: owner(1).public(),
        highest,
    });
    refused(&mut peer, pinning());
}

#[test]
fn another_owner_is_refused_before_the_public_part_is_fetched() {
    let mut peer = signed(simple(1), &owner(1));
    peer.open(pinning()).unwrap();
    peer.log = None;
    sign(&mut peer, &owner(2), &[]);
    events(&peer);
    for settings in [pinning(), given(owner(1).public())] {
        let error = peer.open(settings).err().unwrap();
        assert_eq!(error.code(), "checkpoint_untrusted");
        assert_eq!(events(&peer), ["GET ", "GET ", "GET /checkpoint/proof"]);
    }
    assert_eq!(peer.pin.as_ref().unwrap().key, owner(1).public());
    // Another owner's key replaces the pinned one only once the user has removed that. The
    // sequences of the former owner no longer count.
    sign(&mut peer, &owner(2), &[]);
    let settings = Settings {
        pin: Pin::OwnerAndRoot,
        ..given(owner(2).public())
    };
    let error = peer.open(settings.clone()).err().unwrap();
    assert_eq!(error.code(), "checkpoint_untrusted");
    assert!(error.to_string().contains("papir pin remove"), "{error}");
    peer.pin = None;
    peer.open(settings).unwrap();
    assert_eq!(peer.pin.as_ref().unwrap().key, owner(2).public());
}

#[test]
fn a_session_from_before_the_pin_does_not_replace_it() {
    let mut peer = Peer::new(simple(1));
    let mut session = peer.open(Settings::default()).unwrap();
    // The owner signs the next version, and another session pins the key.
    peer.versions = vec![simple(2).into()];
    sign(&mut peer, &owner(1), &[]);
    peer.open(Settings::default()).unwrap();
    let pinned = peer.pin.clone();
    assert_eq!(pinned.as_ref().unwrap().key, owner(1).public());
    // The earlier session meets another key.
    peer.versions = vec![simple(3).into()];
    peer.log = None;
    sign(&mut peer, &owner(2), &[]);
    for _ in 0..2 {
        let error = peer.run(session.get(&[Wanted::Index(3)])).unwrap_err();
        assert_eq!((error.code(), &peer.pin), ("checkpoint_untrusted", &pinned));
    }
    // The owner's next version is accepted again.
    peer.versions = vec![simple(4).into()];
    peer.log = None;
    sign(&mut peer, &owner(1), &[]);
    sign(&mut peer, &owner(1), &[]);
    assert_eq!(
        peer.run(session.get(&[Wanted::Index(3)])).unwrap(),
        [Some(record(4, 3))]
    );
}

#[test]
fn a_public_part_that_the_checkpoint_does_not_name_is_refused() {
    let mut peer = signed(simple(1), &owner(1));
    // The service shows version 2 under the checkpoint of version 1.
    peer.versions.push(simple(2).into());
    let error = peer.open(pinning()).err().unwrap();
    assert_eq!(error.code(), "checkpoint_public_part");
    assert_eq!(
        (events(&peer), peer.pin.is_none()),
        (FETCHES.map(str::to_owned).to_vec(), true)
    );
}

#[test]
fn a_service_that_is_behind_is_asked_again_until_the_deadline() {
    let key = owner(1);
    let mut peer = signed(simple(1), &key);
    let old = peer.log.clone().unwrap();
    sign(&mut peer, &key, &[]);
    peer.open(pinning()).unwrap();
    events(&peer);
    // Twice behind, then up to date.
    peer.behind = [old.clone(), old.clone()].into();
    peer.open(pinning()).unwrap();
    let seen = events(&peer);
    let waits: Vec<&String> = seen
        .iter()
        .filter(|event| event.starts_with("wait"))
        .collect();
    assert_eq!(waits.len(), 2, "{seen:?}");
    assert_eq!(
        seen.iter().filter(|event| *event == "GET /public").count(),
        1,
        "{seen:?}"
    );

    peer.behind = vec![old; 1000].into();
    let start = peer.now();
    let error = peer.open(pinning()).err().unwrap();
    assert_eq!(error.code(), "checkpoint_rollback");
    assert!(
        error.to_string().contains("sequence 0, but sequence 1"),
        "{error}"
    );
    assert_eq!(peer.now() - start, Duration::from_secs(30));
    assert!(!events(&peer).contains(&"GET /public".to_owned()));
    let impatient = CheckpointSettings {
        catch_up: Some(Duration::ZERO),
        ..CheckpointSettings::default()
    };
    let start = peer.now();
    assert!(
        peer.open(Settings {
            checkpoint: impatient,
            ..pinning()
        })
        .is_err()
    );
    assert_eq!(peer.now(), start);
}

#[test]
fn waits_differ_between_clients() {
    let key = owner(1);
    let mut waits = Vec::new();
    for _ in 0..2 {
        let mut peer = signed(simple(1), &key);
        let old = peer.log.clone().unwrap();
        sign(&mut peer, &key, &[]);
        peer.open(pinning()).unwrap();
        if !waits.is_empty() {
            // Another client has drawn other randomness before.
            drop(papir_client::core::Platform::rng(&*peer.platform));
        }
        let start = peer.now();
        peer.behind = [old].into();
        peer.open(pinning()).unwrap();
        waits.push(peer.now() - start);
    }
    assert_ne!(waits[0], waits[1]);
    assert!(
        waits
            .iter()
            .all(|wait| (500..2500).contains(&wait.as_millis())),
        "{waits:?}"
    );
}

#[test]
fn the_owner_is_pinned_by_default_and_the_root_is_not() {
    let mut peer = signed(simple(1), &owner(1));
    peer.open(Settings::default()).unwrap();
    assert_eq!(peer.pin.as_ref().unwrap().key, owner(1).public());
    assert!(!events(&peer).contains(&"pin root".to_owned()));
    peer.log = None;
    let error = peer.open(Settings::default()).err().unwrap();
    assert!(matches!(error, Error::NoCheckpoint { .. }), "{error}");
}

/// The pins are kept under the database's name, which the service states if the caller does not.
#[test]
fn another_name_does_not_escape_the_pins() {
    let mut peer = signed(simple(1), &owner(1));
    peer.open(Settings::default()).unwrap();
    assert_eq!(peer.pinned_name.as_deref(), Some("table"));
    peer.rename("other");
    peer.log = None;
    events(&peer);
    for settings in [Settings::default(), pinning(), given(owner(1).public())] {
        let error = peer.open(settings).err().unwrap();
        assert_eq!(error.code(), "other_name");
        let text = "the only database is named `other`: expected `table`, as before";
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(events(&peer), ["GET "], "nothing is fetched or stored");
    }
    // The caller names it. The pinned name stays.
    let named = Settings {
        database: Some("other".to_owned()),
        ..Settings::default()
    };
    peer.open(named).unwrap();
    assert!(peer.open(Settings::default()).is_err());
    peer.rename("table");
    peer.open(Settings::default()).unwrap();
}

#[test]
fn a_name_is_pinned_with_an_owner_or_a_root_only() {
    let mut peer = Peer::new(simple(1));
    for settings in [pinning(), Settings::default()] {
        peer.open(settings).unwrap();
        assert_eq!(peer.pinned_name, None);
    }
    sign(&mut peer, &owner(1), &[]);
    let named = Settings {
        database: Some("table".to_owned()),
        ..Settings::default()
    };
    for settings in [without_pins(), named] {
        peer.open(settings).unwrap();
        assert_eq!(peer.pinned_name, None);
    }
    // A session that meets a signed version later.
    (peer.log, peer.pin) = (None, None);
    let mut session = peer.open(Settings::default()).unwrap();
    peer.versions = vec![simple(2).into()];
    sign(&mut peer, &owner(1), &[]);
    peer.run(session.get(&[Wanted::Index(7)])).unwrap();
    assert_eq!(peer.pinned_name.as_deref(), Some("table"));
}

#[test]
fn two_versions_under_one_sequence_are_refused() {
    let key = owner(1);
    let mut peer = signed(simple(1), &key);
    peer.open(pinning()).unwrap();
    peer.versions.push(simple(2).into());
    peer.log = None;
    sign(&mut peer, &key, &[]);
    let error = peer.open(pinning()).err().unwrap();
    assert_eq!(error.code(), "checkpoint_equivocation");
    assert!(peer.pin.is_some());
}

/// Two sessions of one client that fetch at the same time.
#[test]
fn a_session_does_not_replace_a_newer_or_another_version_that_was_pinned_meanwhile() {
    let key = owner(1);
    let mut peer = signed(simple(1), &key);
    peer.open(Settings::default()).unwrap();
    let before = peer.pin.clone().unwrap();
    sign(&mut peer, &key, &[]);
    let impatient = CheckpointSettings {
        catch_up: Some(Duration::ZERO),
        ..CheckpointSettings::default()
    };
    for (sequence, leaf, code) in [
        (1, [9; 32], "checkpoint_equivocation"),
        (2, [9; 32], "checkpoint_rollback"),
    ] {
        peer.pin = Some(before.clone());
        let pinned = PinnedOwner {
            highest: Seen { sequence, leaf },
            ..before.clone()
        };
        let settings = Settings {
            checkpoint: impatient.clone(),
            ..Settings::default()
        };
        let task = Session::open(peer.service().unwrap(), settings);
        let opened = peer.run_through(task, &mut |peer, call| {
            if call.route().ends_with("/public") {
                peer.pin = Some(pinned.clone());
            }
            peer.receive(call)
        });
        assert_eq!(opened.err().unwrap().code(), code);
        assert_eq!(peer.pin, Some(pinned));
    }
    // A session that was overtaken fetches again.
    peer.pin = Some(before);
    let mut overtaken = false;
    let task = Session::open(peer.service().unwrap(), Settings::default());
    let opened = peer.run_through(task, &mut |peer, call| {
        if call.route().ends_with("/public") && !std::mem::replace(&mut overtaken, true) {
            sign(peer, &key, &[]);
            let leaf = peer.log.as_ref().unwrap().newest().unwrap().clone();
            let highest = Seen {
                sequence: leaf.sequence,
                leaf: leaf.hash().unwrap(),
            };
            peer.pin.as_mut().unwrap().highest = highest;
        }
        peer.receive(call)
    });
    assert_eq!(opened.unwrap().checkpoint().unwrap().seen.sequence, 2);
}

#[test]
fn a_session_follows_signed_versions_only() {
    let key = owner(1);
    let mut peer = signed(simple(1), &key);
    let mut session = peer.open(without_pins()).unwrap();
    let changed = |seed| Reply {
        next: Some(simple(seed).into()),
        ..Reply::refusal(409, "wrong_version")
    };
    // The new version is not signed yet: the checkpoint still names the old public part.
    peer.script.push_back(changed(2));
    let error = peer.run(session.get(&[Wanted::Index(7)])).unwrap_err();
    assert_eq!(error.code(), "checkpoint_public_part");
    sign(&mut peer, &key, &[]);
    peer.script.push_back(Reply::refusal(409, "wrong_version"));
    let values = peer.run(session.get(&[Wanted::Index(7)])).unwrap();
    assert_eq!(values, [Some(record(2, 7))]);
    assert_eq!(session.checkpoint().unwrap().seen.sequence, 1);
    // The key of the first checkpoint stays trusted for the session, although nothing is pinned.
    peer.log = None;
    sign(&mut peer, &owner(2), &[]);
    peer.script.push_back(changed(3));
    assert_eq!(
        peer.run(session.get(&[Wanted::Index(7)]))
            .unwrap_err()
            .code(),
        "checkpoint_untrusted"
    );
}

#[test]
fn ages_and_cosignatures_are_required_by_the_settings() {
    let key = owner(1);
    let witness = SigningKey::generate("w".parse().unwrap(), Kind::Cosignature, &mut rng(9));
    let mut peer = signed(simple(1), &key);
    let settings = |max_age: u64, cosignatures| {
        let witnesses = vec![witness.public()];
        let max_age = Some(Duration::from_secs(max_age));
        let checkpoint = CheckpointSettings {
            max_age,
            witnesses,
            cosignatures,
            ..CheckpointSettings::default()
        };
        Settings {
            checkpoint,
            ..Settings::default()
        }
    };
    peer.open(settings(60, 0)).unwrap();
    assert_eq!(
        peer.open(settings(60, 1)).err().unwrap().code(),
        "checkpoint_cosignatures"
    );
    let mut log = peer.log.clone().unwrap();
    log.add_cosignatures(&format!("{}\n", cosign(log.note(), &witness, EPOCH)))
        .unwrap();
    peer.log = Some(log);
    let session = peer.open(settings(60, 1)).unwrap();
    assert_eq!(session.checkpoint().unwrap().cosignatures, 1);
    peer.wait(Duration::from_secs(61));
    assert_eq!(
        peer.open(settings(60, 1)).err().unwrap().code(),
        "checkpoint_too_old"
    );
    peer.open(settings(61, 1)).unwrap();
}

#[test]
fn a_session_needs_a_newer_checkpoint_once_its_own_is_too_old() {
    let mut peer = signed(simple(1), &owner(1));
    let max_age = Some(Duration::from_secs(60));
    let checkpoint = CheckpointSettings {
        max_age,
        ..CheckpointSettings::default()
    };
    let mut session = peer
        .open(Settings {
            checkpoint,
            ..without_pins()
        })
        .unwrap();
    peer.wait(Duration::from_secs(61));
    events(&peer);
    for _ in 0..2 {
        let error = peer.run(session.get(&[Wanted::Index(7)])).unwrap_err();
        assert_eq!(error.code(), "checkpoint_too_old");
        assert_eq!(
            events(&peer),
            ["GET ", "GET /checkpoint/proof"],
            "no query is sent"
        );
    }
    sign_again(&mut peer, &owner(1), 61);
    let fetched = ["GET ", "GET /checkpoint/proof", "POST /query"];
    for expected in [&fetched[..], &["POST /query"]] {
        let values = peer.run(session.get(&[Wanted::Index(7)])).unwrap();
        assert_eq!(
            (values, events(&peer)),
            (
                vec![Some(record(1, 7))],
                expected.iter().map(|one| (*one).to_owned()).collect()
            )
        );
    }
}

#[test]
fn a_pinned_client_follows_a_rotation_and_keeps_its_sequences() {
    let old = owner(1);
    let new = owner(2);
    let mut peer = signed(simple(1), &old);
    let first = peer.log.clone().unwrap();
    peer.open(pinning()).unwrap();
    let rotation = Certificate::rotate(&old, &new, (EPOCH, EPOCH + 600)).unwrap();
    sign(&mut peer, &new, &[rotation]);
    // A key that was given before the rotation is followed too, and pinned in its new form.
    for settings in [
        pinning(),
        Settings {
            pin: Pin::OwnerAndRoot,
            ..given(old.public())
        },
    ] {
        peer.open(settings.clone()).unwrap();
        let pin = peer.pin.clone().unwrap();
        assert_eq!((pin.key, pin.highest.sequence), (new.public(), 1));
        let current = peer.log.replace(first.clone());
        let impatient = CheckpointSettings {
            catch_up: Some(Duration::ZERO),
            ..settings.checkpoint.clone()
        };
        let error = peer
            .open(Settings {
                checkpoint: impatient,
                ..settings
            })
            .err()
            .unwrap();
        assert!(
            ["checkpoint_rollback", "checkpoint_untrusted"].contains(&error.code()),
            "{error}"
        );
        peer.log = current;
    }
    sign(&mut peer, &new, &[]);
    peer.open(pinning()).unwrap();
    assert_eq!(peer.pin.unwrap().highest.sequence, 2);
}

#[test]
fn a_delta_that_the_owner_did_not_sign_is_refused() {
    let mut peer = signed(simple(1), &owner(1));
    peer.delta = Some(delta_of(peer.newest()));
    let error = peer.open(pinning()).map(drop).unwrap_err();
    assert_eq!(error.code(), "checkpoint_delta", "{error}");
    assert_eq!(events(&peer), [&FETCHES[..], &["GET /public"]].concat());
}

#[test]
fn a_service_that_hides_a_delta_is_refused() {
    let mut peer = signed(simple(1), &owner(1));
    peer.log = Some(append_delta(peer.log.as_ref(), peer.newest(), &owner(1)));
    let error = peer.open(pinning()).map(drop).unwrap_err();
    assert_eq!(error.code(), "checkpoint_delta", "{error}");
    assert_eq!(events(&peer), FETCHES);
}
