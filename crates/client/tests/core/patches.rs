//! Copies of earlier public parts, brought up to date by blocks.
#![allow(unreachable_pub)]

use papir_client::core::{Patches, Response, Session, Settings};
use papir_core::{Change, Choice, NoProgress, Records};
use papir_lookup::{BlockList, Wanted};
use papir_schemes::registry;

use crate::peer::{Event, Offer, Peer, Reply, record, records, rng};
use crate::signing::{owner, sign, signed};

pub const HASHES: &str = "/public/V/hashes";
pub const BLOCKS: &str = "/public/V/blocks";
pub const WHOLE: &str = "/public";

/// Versions of one database, each of which has one record more of another seed, from record 1 on.
/// A record changes a tenth of the public part.
pub fn versions(count: u64) -> Vec<Offer> {
    let scheme = registry::by_name("simple").unwrap();
    let records = records(1);
    let candidate = scheme
        .candidate(records.shape(), Choice::Columns(5))
        .unwrap();
    let first = scheme
        .setup_candidate(&candidate.parameters, &records, &mut rng(1), &NoProgress)
        .unwrap();

    let mut versions = vec![Offer::from(first)];
    for index in 1..count {
        let change = Change {
            index,
            record: record(9, index),
        };
        let before = versions.last().unwrap();
        let next = before
            .server
            .update(&[change], &mut rng(10 + index), &NoProgress)
            .unwrap();
        versions.push(next.into());
    }
    versions
}

/// The stored copy of a version.
pub fn copy(offer: &Offer) -> Vec<u8> {
    let version = offer.server.version().to_string();
    [version.as_bytes(), offer.bundle.as_slice()].concat()
}

/// A service of a signed database whose client has pinned the owner, and has a copy of an earlier
/// version.
pub fn with_copy(newest: &Offer, earlier: &Offer) -> Peer {
    let key = owner(1);
    let mut peer = signed(earlier.clone(), &key);
    peer.open(Settings::default()).unwrap();
    peer.take();

    peer.versions.push(newest.clone());
    sign(&mut peer, &key, &[]);
    peer.patches = Patches::Auto;
    peer.copy = Some(copy(earlier));
    peer
}

/// Removes what the client has pinned.
fn unpin(peer: &mut Peer) {
    peer.pin = None;
    peer.pinned_name = None;
}

/// The requests for the public part since the last call, without versions and blocks.
pub fn fetches(peer: &Peer) -> Vec<String> {
    let version = peer.newest().server.version().to_string();
    let mut fetches = Vec::new();
    for event in peer.take() {
        let Event::Sent(call) = event else {
            continue;
        };
        let Some((_, part)) = call.route().split_once("/table/public") else {
            continue;
        };
        let part = part.replace(&version, "V");
        let part = part.split_once("/blocks/").map_or(&*part, |_| "/V/blocks");
        fetches.push(format!("/public{part}"));
    }
    fetches
}

/// Opens a session, whose lookups find the newest records. Returns the requests for the public part
/// and the number of its bytes that were fetched.
fn opened(peer: &mut Peer, settings: Settings) -> (Vec<String>, u64) {
    peer.take();
    let mut session = peer.open(settings).unwrap();
    let fetches = fetches(peer);
    assert_reads(peer, &mut session);
    (fetches, session.costs().public_bytes)
}

/// Checks that a session reads records as they are in the newest version.
pub fn assert_reads(peer: &mut Peer, session: &mut Session) {
    for index in [0, 1, 2, 49] {
        let values = peer.run(session.get(&[Wanted::Index(index)])).unwrap();
        // Of the version that is the newest now: the lookup may have met a new one.
        let server = &peer.newest().server;
        let mut expected = vec![0; 8];
        server.read_packed(index, 1, &mut expected).unwrap();
        assert_eq!(values, [Some(expected)], "record {index}");
    }
}

/// The bytes of the list and of the blocks that a copy lacks.
fn patch_bytes(newest: &Offer, copy: &[u8]) -> u64 {
    let list = BlockList::of(&newest.bundle);
    let blocks = list.bytes_of(&list.missing(copy));
    (list.encode().len() + blocks) as u64
}

/// Opens a session. `tamper` changes the responses with the list or with blocks, by its text.
fn open_tampered(
    peer: &mut Peer,
    part: &str,
    tamper: &dyn Fn(&mut Response),
) -> (Vec<String>, Session) {
    peer.take();
    let settings = Settings {
        patches: Patches::Always,
        ..Settings::default()
    };
    let opening = Session::open(peer.service().unwrap(), settings);
    let session = peer.run_through(opening, &mut |peer, call| {
        let mut response = peer.receive(call)?;
        if call.route().contains(part) {
            tamper(&mut response);
        }
        Ok(response)
    });
    (fetches(peer), session.unwrap())
}

#[test]
fn a_copy_of_any_earlier_version_is_patched_and_replaced() {
    let versions = versions(3);
    let newest = &versions[2];
    for earlier in &versions[..2] {
        let mut peer = with_copy(newest, earlier);
        let (fetched, bytes) = opened(&mut peer, Settings::default());
        assert_eq!(fetched, [HASHES, BLOCKS]);
        assert_eq!(bytes, patch_bytes(newest, &earlier.bundle));
        assert!(bytes < newest.bundle.len() as u64 / 2, "{bytes} bytes");
        assert_eq!(peer.copy, Some(copy(newest)));

        let (fetched, bytes) = opened(&mut peer, Settings::default());
        assert_eq!((fetched.as_slice(), bytes), (&[WHOLE.to_owned()][..], 0));
    }
}

/// The service may have given it to this client alone, as the public part of an unsigned database.
#[test]
fn a_copy_from_before_the_owner_was_pinned_is_not_patched() {
    let versions = versions(2);
    let mut peer = with_copy(&versions[1], &versions[0]);
    unpin(&mut peer);
    let (fetched, _) = opened(&mut peer, Settings::default());
    assert_eq!(fetched, [WHOLE]);
    assert_eq!(peer.copy, Some(copy(&versions[1])));
    assert!(peer.pin.is_some());
}

#[test]
fn a_damaged_copy_costs_the_damaged_blocks() {
    let versions = versions(2);
    let mut peer = with_copy(&versions[1], &versions[0]);
    let mut damaged = copy(&versions[0]);
    let end = damaged.len() - 9000;
    damaged[end] ^= 1;
    let bytes_of_both = patch_bytes(&versions[1], &damaged[16..]);
    assert!(bytes_of_both > patch_bytes(&versions[1], &versions[0].bundle));

    peer.copy = Some(damaged);
    let (fetched, bytes) = opened(&mut peer, Settings::default());
    assert_eq!(fetched, [HASHES, BLOCKS]);
    assert_eq!(bytes, bytes_of_both);
    assert_eq!(peer.copy, Some(copy(&versions[1])));
}

#[test]
fn a_copy_that_differs_in_most_blocks_is_replaced() {
    let versions = versions(1);
    let other = Offer::from(crate::peer::simple(2));
    let mut peer = with_copy(&versions[0], &other);
    let (fetched, bytes) = opened(&mut peer, Settings::default());
    assert_eq!(fetched, [HASHES, WHOLE]);
    let list = BlockList::of(&versions[0].bundle).encode();
    assert_eq!(bytes, (list.len() + versions[0].bundle.len()) as u64);
    assert_eq!(peer.copy, Some(copy(&versions[0])));
}

#[test]
fn an_unsigned_database_is_patched_only_by_the_session_that_uses_the_copy() {
    let versions = versions(2);
    let unsigned = |patches| {
        let mut peer = Peer::new(versions[1].clone());
        peer.patches = patches;
        peer.copy = Some(copy(&versions[0]));
        opened(&mut peer, Settings::default()).0
    };
    assert_eq!(unsigned(Patches::Auto), [WHOLE]);
    assert_eq!(unsigned(Patches::Never), [WHOLE]);
    assert_eq!(unsigned(Patches::Always), [HASHES, BLOCKS]);

    for (patches, expected) in [
        (Patches::Auto, &[HASHES, BLOCKS][..]),
        (Patches::Never, &[WHOLE][..]),
    ] {
        let mut peer = Peer::new(versions[0].clone());
        peer.patches = patches;
        let mut session = peer.open(Settings::default()).unwrap();
        peer.take();
        peer.script.push_back(Reply {
            next: Some(versions[1].clone()),
            ..Reply::refusal(409, "wrong_version")
        });
        assert_reads(&mut peer, &mut session);
        assert_eq!(fetches(&peer), expected, "{patches:?}");
        assert_eq!(peer.copy, Some(copy(&versions[1])));
    }
}

#[test]
fn through_a_relay_only_always_patches() {
    let versions = versions(2);
    for (patches, expected) in [
        (Patches::Auto, &[WHOLE][..]),
        (Patches::Never, &[WHOLE][..]),
        (Patches::Always, &[HASHES, BLOCKS][..]),
    ] {
        let key = owner(1);
        let mut peer = signed(versions[0].clone(), &key);
        peer.relay = Some("https://r.example");
        peer.patches = patches;
        // Stores the copy for this relay.
        peer.open(Settings::default()).unwrap();
        peer.versions.push(versions[1].clone());
        sign(&mut peer, &key, &[]);

        let (fetched, _) = opened(&mut peer, Settings::default());
        assert_eq!(fetched, expected, "{patches:?}");
    }
}

#[test]
fn without_copies_nothing_is_patched() {
    let versions = versions(2);
    let mut peer = with_copy(&versions[1], &versions[0]);
    peer.patches = Patches::Always;
    let settings = Settings {
        no_cache: true,
        ..Settings::default()
    };
    assert_eq!(opened(&mut peer, settings).0, [WHOLE]);
    assert_eq!(peer.copy, Some(copy(&versions[0])));

    // A copy without a version.
    peer.copy = Some(vec![7; 9]);
    assert_eq!(opened(&mut peer, Settings::default()).0, [WHOLE]);
}

#[test]
fn an_older_service_is_asked_for_blocks_once() {
    let versions = versions(2);
    let mut peer = with_copy(&versions[1], &versions[0]);
    peer.serves_blocks = false;
    let (fetched, bytes) = opened(&mut peer, Settings::default());
    assert_eq!(fetched, [HASHES, WHOLE]);
    assert_eq!(bytes, versions[1].bundle.len() as u64);
    assert_eq!(peer.copy, Some(copy(&versions[1])));
}

#[test]
fn after_a_bad_list_or_a_bad_block_the_whole_is_fetched_once() {
    let flipped = |place: usize| {
        move |response: &mut Response| {
            if let Ok(body) = &mut response.body {
                body[place] ^= 1;
            }
        }
    };
    let shortened = |response: &mut Response| {
        if let Ok(body) = &mut response.body {
            body.pop();
        }
    };
    let unnamed = |response: &mut Response| response.headers.clear();

    let versions = versions(2);
    let bad_lists: [&dyn Fn(&mut Response); 4] = [&flipped(0), &flipped(100), &shortened, &unnamed];
    let bad_blocks: [&dyn Fn(&mut Response); 3] = [&flipped(100), &shortened, &unnamed];
    for tamper in bad_lists {
        let mut peer = with_copy(&versions[1], &versions[0]);
        let (fetched, mut session) = open_tampered(&mut peer, "/hashes", tamper);
        assert_eq!(fetched, [HASHES, WHOLE]);
        assert_reads(&mut peer, &mut session);
        assert_eq!(peer.copy, Some(copy(&versions[1])));
    }
    for tamper in bad_blocks {
        let mut peer = with_copy(&versions[1], &versions[0]);
        let (fetched, mut session) = open_tampered(&mut peer, "/blocks/", tamper);
        assert_eq!(fetched, [HASHES, BLOCKS, WHOLE]);
        assert_reads(&mut peer, &mut session);
        assert_eq!(peer.copy, Some(copy(&versions[1])));
    }

    // Without a signed hash, a damaged value shows in its block.
    let mut peer = with_copy(&versions[1], &versions[0]);
    peer.log = None;
    unpin(&mut peer);
    let (fetched, mut session) = open_tampered(&mut peer, "/hashes", &flipped(16));
    assert_eq!(fetched, [HASHES, BLOCKS, WHOLE]);
    assert_reads(&mut peer, &mut session);
}

#[test]
fn a_version_that_is_replaced_meanwhile_is_fetched_again() {
    let versions = versions(3);
    let key = owner(1);
    let mut peer = with_copy(&versions[1], &versions[0]);
    let settings = Settings {
        patches: Patches::Auto,
        ..Settings::default()
    };

    let mut replaced = false;
    let opening = Session::open(peer.service().unwrap(), settings);
    let session = peer.run_through(opening, &mut |peer, call| {
        if call.route().contains("/blocks/") && !std::mem::replace(&mut replaced, true) {
            peer.versions.push(versions[2].clone());
            sign(peer, &key, &[]);
        }
        peer.receive(call)
    });
    let mut session = session.unwrap();
    let fetched = fetches(&peer);
    assert_eq!(fetched[fetched.len() - 2..], [HASHES, BLOCKS]);
    assert!(!fetched.contains(&WHOLE.to_owned()), "{fetched:?}");
    assert_reads(&mut peer, &mut session);
    assert_eq!(peer.copy, Some(copy(&versions[2])));
}
