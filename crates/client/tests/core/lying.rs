//! A service that lies about patches and about filters of keys, and what its clients do.
//!
//! A patch only saves bytes: after a lie, the client fetches the whole public part, which passes
//! the checks of any other. A filter could hide keys: after a lie, the client refuses the service
//! before it sends a query.

use std::ops::Range;

use papir_client::core::{Patches, PrefilterUse, Response, Session, Settings};
use papir_client::{Error, Result};
use papir_core::NoProgress;
use papir_lookup::{BlockList, BlockRanges, Entry, TableOptions, Wanted, prefilter};
use papir_protocol::{code, header};

use crate::known::filtered;
use crate::patches::{BLOCKS, HASHES, WHOLE, assert_reads, copy, fetches, versions, with_copy};
use crate::peer::{Call, Offer, Peer, queries, refusal, rng};
use crate::signing::{given, owner, signed};

/// Changes the response to a request.
type Tell<'a> = &'a dyn Fn(&Call, &mut Response);

/// Bytes of a response that a client reads to its limit only.
const ENDLESS: usize = 1 << 24;

/// Opens a session. `tell` changes the responses to requests whose path has `part`.
fn open(peer: &mut Peer, settings: Settings, part: &str, tell: Tell<'_>) -> Result<Session> {
    peer.take();
    let opening = Session::open(peer.service()?, settings);
    peer.run_through(opening, &mut |peer, call| {
        let mut response = peer.receive(call)?;
        if call.route().contains(part) {
            tell(call, &mut response);
        }
        Ok(response)
    })
}

/// Removes the last byte of a response.
fn truncate(_: &Call, response: &mut Response) {
    if let Ok(body) = &mut response.body {
        body.pop();
    }
}

/// Continues a response far beyond its length.
fn continue_it(_: &Call, response: &mut Response) {
    if let Ok(body) = &mut response.body {
        body.resize(ENDLESS, 0);
    }
}

/// Names a response as that of no version.
fn unname(_: &Call, response: &mut Response) {
    response.headers.clear();
}

/// Names a response as that of another version.
fn rename(response: &mut Response, version: &str) {
    response.headers = vec![(header::VERSION.to_owned(), version.to_owned())];
}

/// The bytes of a public part in these places.
fn bytes_at(offer: &Offer, places: Vec<Range<usize>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for place in places {
        bytes.extend_from_slice(&offer.bundle[place]);
    }
    bytes
}

/// The response to a request for a list, for blocks, or for the whole public part, if this version
/// were the newest.
fn response_of(offer: &Offer, call: &Call) -> Vec<u8> {
    let list = BlockList::of(&offer.bundle);
    let route = call.route();
    if route.ends_with("/hashes") {
        return list.encode();
    }

    match route.split_once("/blocks/") {
        Some((_, text)) => {
            let ranges = BlockRanges::parse(text, list.blocks()).unwrap();
            bytes_at(offer, list.places(&ranges))
        }
        None => offer.bundle.to_vec(),
    }
}

/// Tells each lie to a client with a copy of an earlier version, in the responses to requests whose
/// path has `part`. Afterwards the client must have sent the requests `expected` for the public
/// part, and use the newest version.
fn whole_is_fetched(
    newest: &Offer,
    earlier: &Offer,
    part: &str,
    lies: &[(&str, Tell<'_>)],
    expected: &[&str],
) {
    let whole = newest.bundle.len() as u64;
    let settings = Settings {
        patches: Patches::Auto,
        ..Settings::default()
    };

    for &(name, tell) in lies {
        let mut peer = with_copy(newest, earlier);
        let mut session = open(&mut peer, settings.clone(), part, tell).unwrap();
        assert_eq!(fetches(&peer), expected, "{name}");

        let fetched = session.costs().public_bytes;
        assert!(fetched < 2 * whole, "{name}: {fetched} bytes of {whole}");
        assert_reads(&mut peer, &mut session);
        assert_eq!(peer.copy, Some(copy(newest)), "{name}");
    }
}

#[test]
fn after_a_lie_about_the_list_the_whole_is_fetched_and_no_block() {
    let versions = versions(3);
    let between = &versions[1];
    let other = between.server.version().to_string();

    let lies: [(&str, Tell<'_>); 5] = [
        ("truncated", &truncate),
        ("endless", &continue_it),
        ("of no version", &unname),
        ("named as another version's", &|_, response| {
            rename(response, &other);
        }),
        // Well formed, but its root is not that of the signed leaf.
        ("of another version", &|call, response| {
            response.body = Ok(response_of(between, call));
        }),
    ];
    let expected = [HASHES, WHOLE];
    whole_is_fetched(&versions[2], &versions[0], "/hashes", &lies, &expected);
}

#[test]
fn after_a_lie_about_blocks_the_whole_is_fetched() {
    let versions = versions(3);
    let earlier = &versions[0];
    let between = &versions[1];
    let newest = &versions[2];
    let other = between.server.version().to_string();

    // The client does not hold the version that this patch is for.
    let list = BlockList::of(&newest.bundle);
    let of_another_copy = bytes_at(newest, list.places(&list.missing(&between.bundle)));
    assert!(of_another_copy.len() < list.bytes_of(&list.missing(&earlier.bundle)));

    let lies: [(&str, Tell<'_>); 7] = [
        ("truncated", &truncate),
        ("endless", &continue_it),
        ("of no version", &unname),
        ("named as another version's", &|_, response| {
            rename(response, &other);
        }),
        ("of another version", &|call, response| {
            response.body = Ok(response_of(between, call));
        }),
        ("for the copy of another version", &|_, response| {
            response.body = Ok(of_another_copy.clone());
        }),
        ("none", &|_, response| response.body = Ok(Vec::new())),
    ];
    let expected = [HASHES, BLOCKS, WHOLE];
    whole_is_fetched(newest, earlier, "/blocks/", &lies, &expected);
}

/// List and blocks fit each other, so that only the version in the public part tells.
#[test]
fn a_patch_to_another_version_than_the_described_one_is_not_used() {
    let versions = versions(3);
    let mut peer = Peer::new(versions[2].clone());
    peer.copy = Some(copy(&versions[0]));
    let settings = Settings {
        patches: Patches::Always,
        ..Settings::default()
    };

    let mut session = open(&mut peer, settings, "/public/", &|call, response| {
        response.body = Ok(response_of(&versions[1], call));
    })
    .unwrap();
    assert_eq!(fetches(&peer), [HASHES, BLOCKS, WHOLE]);
    assert_reads(&mut peer, &mut session);
    assert_eq!(peer.copy, Some(copy(&versions[2])));
}

#[test]
fn another_version_in_place_of_the_signed_one_is_refused() {
    let versions = versions(3);
    let mut peer = with_copy(&versions[2], &versions[0]);

    let error = open(
        &mut peer,
        Settings::default(),
        "/public",
        &|call, response| {
            response.body = Ok(response_of(&versions[1], call));
        },
    )
    .err()
    .unwrap();
    assert_eq!(error.code(), "checkpoint_public_part", "{error}");
    assert_eq!(fetches(&peer), [HASHES, WHOLE]);
    assert_eq!(peer.copy, Some(copy(&versions[0])), "the copy stays");
}

/// A filter that excludes all keys of [`filtered`]: it is that of another table.
fn hiding_filter() -> Vec<u8> {
    let entries = vec![Entry {
        key: b"other".to_vec(),
        value: vec![7],
        line: 1,
    }];
    let options = TableOptions::default();
    let table = papir_lookup::build(entries, &options, &mut rng(3), &NoProgress).unwrap();
    prefilter::of_ids(24, &table.ids).unwrap()
}

/// Settings of a client that ignores filters.
fn ignoring(settings: Settings) -> Settings {
    Settings {
        prefilter: PrefilterUse::Ignore,
        ..settings
    }
}

/// The value of a key of [`filtered`].
fn present(peer: &mut Peer, session: &mut Session) -> Option<Vec<u8>> {
    let values = peer.run(session.get(&[Wanted::Key(b"key 7")])).unwrap();
    values.into_iter().next().flatten()
}

#[test]
fn after_a_lie_about_the_filter_no_query_is_sent() {
    let key = owner(1);
    let lies: [(&str, Tell<'_>, &str); 7] = [
        (
            "other bytes",
            &|_, response| {
                if let Ok(body) = &mut response.body {
                    *body.last_mut().unwrap() ^= 1;
                }
            },
            "unexpected",
        ),
        ("truncated", &truncate, "unexpected"),
        ("endless", &continue_it, "too_long"),
        ("of no version", &unname, "unexpected"),
        (
            "always of another version",
            &|_, response| rename(response, "0123456789abcdef"),
            "unexpected",
        ),
        (
            "of another table",
            &|_, response| response.body = Ok(hiding_filter()),
            "unexpected",
        ),
        (
            "stated, and not there",
            &|_, response| *response = refusal(404, code::NO_PREFILTER),
            code::NO_PREFILTER,
        ),
    ];

    for (name, tell, expected) in lies {
        let mut peer = signed(filtered(), &key);
        let opened = open(&mut peer, given(key.public()), "/prefilter", tell);
        let error = opened.err().unwrap();
        assert_eq!(error.code(), expected, "{name}: {error}");
        assert!(queries(&peer.take()).is_empty(), "{name}");

        // A client that asks for no filter is told no lie.
        let settings = ignoring(given(key.public()));
        let mut session = open(&mut peer, settings, "/prefilter", tell).unwrap();
        assert_eq!(present(&mut peer, &mut session), Some(vec![7]), "{name}");
    }
}

#[test]
fn a_filter_that_the_owner_did_not_sign_is_refused() {
    let key = owner(1);
    let mut peer = signed(filtered(), &key);
    let mut session = peer.open(given(key.public())).unwrap();
    assert_eq!(present(&mut peer, &mut session), Some(vec![7]));

    // The public part states the service's filter, beside the owner's checkpoint and without it.
    peer.copy = None;
    peer.versions.push(filtered().with_filter(hiding_filter()));
    let error = peer.open(given(key.public())).err().unwrap();
    assert_eq!(error.code(), "checkpoint_public_part", "{error}");

    peer.log = None;
    let error = peer.open(given(key.public())).err().unwrap();
    assert!(matches!(error, Error::NoCheckpoint { .. }), "{error}");
}

/// The limit that docs/security.md states: without a signature, the service chooses what it serves.
#[test]
fn the_filter_of_an_unsigned_database_is_its_services_word() {
    let mut peer = Peer::new(filtered().with_filter(hiding_filter()));
    let mut session = peer.open(Settings::default()).unwrap();
    peer.take();
    assert_eq!(present(&mut peer, &mut session), None);
    assert!(queries(&peer.take()).is_empty());

    let mut session = peer.open(ignoring(Settings::default())).unwrap();
    assert_eq!(present(&mut peer, &mut session), Some(vec![7]));
}
