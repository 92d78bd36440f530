//! Rotations of the owner's key: nothing brings a replaced key back.

use std::time::Duration;

use papir_checkpoint::{Certificate, Log};
use papir_client::Error;
use papir_client::core::{Pin, PinnedOwner, Session, Settings};
use papir_lookup::Wanted;

use crate::peer::{Call, EPOCH, Peer, record, short, simple};
use crate::signing::{append, given, owner, pinning, sign, signed};

/// Seed of the key that is stolen and replaced.
const STOLEN: u64 = 1;
/// Seed of the key that replaces it.
const NEXT: u64 = 2;
/// Seed of the key of another owner of the same name.
const OTHER: u64 = 3;

/// A service whose owner has rotated a stolen key, and the logs that it may show.
struct World {
    peer: Peer,
    /// Version 0, under the stolen key.
    first: Log,
    /// Version 1, under the next key, with the certificate.
    rotated: Log,
    /// Versions up to 4 that the thief has signed, without the certificate.
    forged: Log,
}

impl World {
    fn new() -> Self {
        let mut peer = signed(simple(1), &owner(STOLEN));
        let first = peer.log.clone().unwrap();

        let overlap = (EPOCH, EPOCH + 1);
        let rotation = Certificate::rotate(&owner(STOLEN), &owner(NEXT), overlap).unwrap();
        sign(&mut peer, &owner(NEXT), &[rotation]);
        let rotated = peer.log.clone().unwrap();

        let mut forged = first.clone();
        for _ in 0..4 {
            forged = append(Some(&forged), peer.newest(), &owner(STOLEN), &[]);
        }
        Self {
            peer,
            first,
            rotated,
            forged,
        }
    }

    /// A client that has seen the rotation. Its overlap has ended, and the service shows what the
    /// thief has signed.
    fn after_the_theft() -> Self {
        let mut world = Self::new();
        for log in [&world.first, &world.rotated] {
            world.peer.log = Some(log.clone());
            world.peer.open(Settings::default()).unwrap();
        }
        assert_eq!(world.pinned().key, owner(NEXT).public());

        world.peer.wait(Duration::from_secs(2));
        world.peer.log = Some(world.forged.clone());
        world.peer.take();
        world
    }

    fn pinned(&self) -> PinnedOwner {
        self.peer.pin.clone().unwrap()
    }

    /// Opens a session, which is refused without a change of the pin. Returns the error.
    fn refused(&mut self, settings: Settings) -> Error {
        let before = self.pinned();
        let error = self.peer.open(settings).err().unwrap();

        assert_eq!(error.code(), "checkpoint_untrusted", "{error}");
        let events = short(&self.peer.take());
        assert_eq!(
            events,
            ["GET ", "GET ", "GET /checkpoint/proof"],
            "refused before the public part"
        );
        assert_eq!(self.pinned(), before);
        error
    }
}

/// Returns settings with the given key of an owner, and with each way of pinning.
fn given_and_pinned(seed: u64) -> [Settings; 2] {
    [Pin::Owner, Pin::OwnerAndRoot].map(|pin| Settings {
        pin,
        ..given(owner(seed).public())
    })
}

/// Runs the opening of a session. `meanwhile` changes what another session does before the public
/// part arrives.
fn open_while(
    peer: &mut Peer,
    settings: Settings,
    meanwhile: &mut dyn FnMut(&mut Peer),
) -> Result<Session, Error> {
    let task = Session::open(peer.service().unwrap(), settings);
    peer.run_through(task, &mut |peer, call: &Call| {
        if call.route().ends_with("/public") {
            meanwhile(peer);
        }
        peer.receive(call)
    })
}

#[test]
fn a_given_key_does_not_undo_a_rotation_that_was_seen() {
    for settings in given_and_pinned(STOLEN) {
        let mut world = World::new();
        for log in [world.first.clone(), world.rotated.clone()] {
            world.peer.log = Some(log);
            world.peer.open(settings.clone()).unwrap();
        }
        let pin = world.pinned();
        assert_eq!(pin.key, owner(NEXT).public());
        assert_eq!(pin.first, owner(STOLEN).public());

        world.peer.wait(Duration::from_secs(2));
        world.peer.log = Some(world.forged.clone());
        world.peer.take();
        for again in [settings.clone(), pinning(), Settings::default(), settings] {
            world.refused(again);
        }
        for given in given_and_pinned(NEXT) {
            world.refused(given);
        }
    }
}

#[test]
fn either_key_of_the_pin_opens_what_the_next_key_has_signed() {
    let mut world = World::after_the_theft();
    world.peer.log = Some(world.rotated.clone());
    sign(&mut world.peer, &owner(NEXT), &[]);

    for seed in [STOLEN, NEXT] {
        for settings in given_and_pinned(seed) {
            world.peer.open(settings).unwrap();
            let pin = world.pinned();
            assert_eq!(pin.key, owner(NEXT).public());
            assert_eq!(pin.first, owner(STOLEN).public());
            assert_eq!(pin.highest.sequence, 2);
        }
    }
}

#[test]
fn another_owners_key_is_no_detour_to_a_replaced_one() {
    let mut world = World::after_the_theft();
    let offer = world.peer.newest().clone();
    let mut others = append(None, &offer, &owner(OTHER), &[]);
    for _ in 0..4 {
        others = append(Some(&others), &offer, &owner(OTHER), &[]);
    }

    world.peer.log = Some(others.clone());
    for settings in given_and_pinned(OTHER) {
        let error = world.refused(settings).to_string();
        let pinned = owner(NEXT).public().to_string();
        let given = owner(OTHER).public().to_string();
        for part in ["papir pin remove", &pinned, &given] {
            assert!(error.contains(part), "{error}");
        }
    }
    world.peer.log = Some(world.forged.clone());
    for settings in given_and_pinned(STOLEN) {
        world.refused(settings);
    }

    // The user removes the pin.
    world.peer.pin = None;
    world.peer.log = Some(others);
    world.peer.open(given(owner(OTHER).public())).unwrap();
    assert_eq!(world.pinned().key, owner(OTHER).public());
}

#[test]
fn a_given_key_that_is_not_pinned_needs_a_certificate() {
    let mut world = World::new();
    let rotated = world.rotated.clone();
    let unconnected = {
        let offer = world.peer.newest().clone();
        let first = append(None, &offer, &owner(NEXT), &[]);
        append(Some(&first), &offer, &owner(NEXT), &[])
    };

    // Pinned after the rotation, and the replaced key is given.
    world.peer.pin = None;
    world.peer.log = Some(unconnected.clone());
    world.peer.open(Settings::default()).unwrap();
    assert_eq!(world.pinned().first, owner(NEXT).public());
    world.peer.take();
    world.refused(given(owner(STOLEN).public()));
    world.peer.pin = None;
    world.peer.log = Some(rotated.clone());
    world.peer.open(given(owner(NEXT).public())).unwrap();
    world.peer.open(given(owner(STOLEN).public())).unwrap();
    assert_eq!(world.pinned().key, owner(NEXT).public());

    // Pinned before the rotation, and the next key is given.
    world.peer.pin = None;
    world.peer.log = Some(world.first.clone());
    world.peer.open(Settings::default()).unwrap();
    world.peer.log = Some(unconnected);
    world.peer.take();
    world.refused(given(owner(NEXT).public()));
    world.peer.log = Some(rotated);
    world.peer.open(given(owner(NEXT).public())).unwrap();
    let pin = world.pinned();
    assert_eq!(pin.key, owner(NEXT).public());
    assert_eq!(pin.first, owner(STOLEN).public());
}

#[test]
fn sessions_without_pins_leave_the_pinned_key() {
    let mut world = World::after_the_theft();
    let before = world.pinned();

    // It knows of no rotation, as a client that was away.
    let without_pins = Settings {
        pin: Pin::Nothing,
        ..given(owner(STOLEN).public())
    };
    let mut session = world.peer.open(without_pins).unwrap();
    world.peer.versions = vec![simple(2).into()];
    let forged = append(
        Some(&world.forged),
        world.peer.newest(),
        &owner(STOLEN),
        &[],
    );
    world.peer.log = Some(forged);
    world.peer.run(session.get(&[Wanted::Index(3)])).unwrap();
    assert_eq!(world.pinned(), before);

    world.peer.take();
    world.refused(given(owner(STOLEN).public()));
}

/// A session from before the rotation meets the thief's version, after another session has pinned
/// the next key.
#[test]
fn a_session_from_before_a_rotation_does_not_bring_the_replaced_key_back() {
    for settings in [Settings::default(), given(owner(STOLEN).public())] {
        let mut world = World::new();
        world.peer.log = Some(world.first.clone());
        let mut session = world.peer.open(settings).unwrap();
        world.peer.log = Some(world.rotated.clone());
        world.peer.open(Settings::default()).unwrap();
        let pinned = world.pinned();
        assert_eq!(pinned.key, owner(NEXT).public());

        world.peer.wait(Duration::from_secs(2));
        world.peer.versions = vec![simple(2).into()];
        let forged = append(
            Some(&world.forged),
            world.peer.newest(),
            &owner(STOLEN),
            &[],
        );
        world.peer.log = Some(forged);
        for _ in 0..2 {
            let error = world
                .peer
                .run(session.get(&[Wanted::Index(3)]))
                .unwrap_err();
            assert_eq!(error.code(), "checkpoint_untrusted", "{error}");
            assert_eq!(world.pinned(), pinned);
        }

        // Versions that the next key signs are accepted again.
        world.peer.log = Some(world.rotated.clone());
        sign(&mut world.peer, &owner(NEXT), &[]);
        let values = world.peer.run(session.get(&[Wanted::Index(3)])).unwrap();
        assert_eq!(values, [Some(record(2, 3))]);
    }
}

/// Two sessions at once: the one that is shown the thief's version stores its pin last.
#[test]
fn a_race_does_not_bring_the_replaced_key_back() {
    let pinned = World::after_the_theft().pinned();
    for settings in [Settings::default(), given(owner(STOLEN).public())] {
        let mut world = World::new();
        world.peer.wait(Duration::from_secs(2));
        world.peer.log = Some(world.forged.clone());

        let opened = open_while(&mut world.peer, settings, &mut |peer| {
            peer.pin = Some(pinned.clone());
        });
        assert_eq!(opened.err().unwrap().code(), "checkpoint_untrusted");
        assert_eq!(world.pinned(), pinned);
    }
}

/// Two sessions at once: the slower one has fetched the version before the rotation.
#[test]
fn a_session_that_a_rotation_overtakes_fetches_again() {
    let pinned = World::after_the_theft().pinned();
    for settings in [Settings::default(), given(owner(STOLEN).public())] {
        let mut world = World::new();
        let rotated = world.rotated.clone();
        world.peer.log = Some(world.first.clone());

        let opened = open_while(&mut world.peer, settings, &mut |peer| {
            peer.pin = Some(pinned.clone());
            peer.log = Some(rotated.clone());
        });
        assert_eq!(opened.unwrap().checkpoint().unwrap().seen.sequence, 1);
        assert_eq!(world.pinned(), pinned);
    }
}

#[test]
fn a_pin_that_was_removed_is_not_written_back_by_an_open_session() {
    for settings in [
        Settings::default(),
        pinning(),
        given(owner(STOLEN).public()),
    ] {
        let mut peer = signed(simple(1), &owner(STOLEN));
        let mut session = peer.open(settings.clone()).unwrap();
        assert_eq!(peer.pinned_name.as_deref(), Some("table"));
        peer.pin = None;
        peer.pinned_name = None;

        for seed in [2, 3] {
            peer.versions = vec![simple(seed).into()];
            sign(&mut peer, &owner(STOLEN), &[]);
            let values = peer.run(session.get(&[Wanted::Index(3)])).unwrap();
            assert_eq!(values, [Some(record(seed, 3))]);
            assert_eq!(peer.pin, None);
            assert_eq!(peer.pinned_name, None);
        }

        // The next session pins anew.
        peer.open(settings).unwrap();
        assert_eq!(peer.pin.unwrap().highest.sequence, 2);
        assert_eq!(peer.pinned_name.as_deref(), Some("table"));
    }
}
