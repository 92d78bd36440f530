//! Stored copies of public parts.

use papir_client::Error;
use papir_client::core::{Response, Session, Settings};
use papir_lookup::{Root, Wanted};
use papir_protocol::header;

use crate::peer::{Call, Event, Offer, Peer, record, short, simple};

/// A database whose public part is stored: it is long enough.
fn stored(seed: u64) -> Offer {
    let server = simple(seed);
    assert!(server.public().len() > 16 << 10);
    server.into()
}

/// Returns a copy with the version of one database and the public part of another.
fn copy(version: &Offer, part: &Offer) -> Vec<u8> {
    [
        version.server.version().to_string().as_bytes(),
        part.bundle.as_slice(),
    ]
    .concat()
}

/// Opens a session and looks up a record. Returns the version that was offered and the number of
/// bytes that were fetched.
fn offered(peer: &mut Peer, settings: Settings) -> (Option<String>, u64) {
    peer.take();
    let mut session = peer.open(settings).unwrap();
    let events = peer.take();
    assert_eq!(short(&events), ["GET ", "GET ", "GET /public"]);
    let values = peer.run(session.get(&[Wanted::Index(7)])).unwrap();
    assert_eq!(values, [Some(record(1, 7))]);
    let Some(Event::Sent(call)) = events.last() else {
        panic!()
    };
    (
        call.header(header::IF_NONE_MATCH).map(str::to_owned),
        session.costs().public_bytes,
    )
}

#[test]
fn a_copy_of_the_described_version_is_offered_and_used() {
    let first = stored(1);
    let second = stored(2);
    let length = first.bundle.len() as u64;
    let tag = format!("\"{}\"", first.server.version());
    let mut damaged = copy(&first, &first);
    *damaged.last_mut().unwrap() ^= 1;
    for (stored, expected) in [
        (None, (None, length)),
        (Some(copy(&first, &first)), (Some(tag), 0)),
        (Some(copy(&second, &second)), (None, length)),
        (Some(copy(&first, &second)), (None, length)),
        (Some(damaged), (None, length)),
        (Some(copy(&first, &first)[..99].to_vec()), (None, length)),
        (Some(Vec::new()), (None, length)),
    ] {
        let mut peer = Peer::new(first.clone());
        peer.copy = stored;
        assert_eq!(offered(&mut peer, Settings::default()), expected);
        assert_eq!(
            peer.copy.as_ref(),
            Some(&copy(&first, &first)),
            "a bad copy is replaced"
        );
        let without = Settings {
            no_cache: true,
            ..Settings::default()
        };
        assert_eq!(offered(&mut peer, without), (None, length));
    }
    let mut peer = Peer::new(first);
    offered(
        &mut peer,
        Settings {
            no_cache: true,
            ..Settings::default()
        },
    );
    assert_eq!(peer.copy, None);
}

/// A dishonest service could describe another version to each client that asks directly.
#[test]
fn a_copy_is_offered_only_through_the_relay_that_it_was_fetched_through() {
    let first = stored(1);
    let tag = format!("\"{}\"", first.server.version());
    let length = first.bundle.len() as u64;
    let mut peer = Peer::new(first);

    for relay in [
        None,
        Some("https://r.example"),
        Some("https://other.example"),
    ] {
        peer.relay = relay;
        let fetched = offered(&mut peer, Settings::default());
        assert_eq!(fetched, (None, length), "{relay:?}");
        let confirmed = offered(&mut peer, Settings::default());
        assert_eq!(confirmed, (Some(tag.clone()), 0), "{relay:?}");
    }
}

/// Opens a session with a copy. `tamper` changes the responses with the public part.
fn open_tampered(copied: bool, tamper: fn(&mut Response)) -> (Result<Session, Error>, usize) {
    let offer = stored(1);
    let mut peer = Peer::new(offer.clone());
    peer.copy = copied.then(|| copy(&offer, &offer));
    let mut asked = 0;
    let task = Session::open(peer.service().unwrap(), Settings::default());
    let opened = peer.run_through(task, &mut |peer, call: &Call| {
        let mut response = peer.receive(call)?;
        if call.route().ends_with("/public") {
            asked += 1;
            tamper(&mut response);
        }
        Ok(response)
    });
    (opened, asked)
}

#[test]
fn a_confirmation_counts_only_for_an_offered_copy_of_this_version() {
    let (opened, asked) = open_tampered(false, |response| response.status = 304);
    assert!(matches!(
        opened.err().unwrap(),
        Error::Http { status: 304, .. }
    ));
    assert_eq!(asked, 1);
    let other = |response: &mut Response| response.headers[0].1 = "0123456789abcdef".to_owned();
    let (opened, asked) = open_tampered(true, other);
    assert!(matches!(opened.err().unwrap(), Error::Unexpected { .. }));
    assert_eq!(asked, 6);
    let (opened, asked) = open_tampered(true, |response| response.headers.clear());
    assert!(matches!(opened.err().unwrap(), Error::Unexpected { .. }));
    assert_eq!(asked, 1);
    // The tag and a body count for nothing.
    let odd = |response: &mut Response| {
        response.headers[1].1 = "*".to_owned();
        response.body = Ok(b"body".to_vec());
    };
    let (opened, asked) = open_tampered(true, odd);
    assert_eq!((opened.unwrap().costs().public_bytes, asked), (0, 1));
}

#[test]
fn a_copy_without_the_trusted_root_is_refused() {
    let offer = stored(1);
    let mut peer = Peer::new(offer.clone());
    peer.copy = Some(copy(&offer, &offer));
    let settings = Settings {
        root: Some(Root([7; 32])),
        ..Settings::default()
    };
    assert!(matches!(
        peer.open(settings).err().unwrap(),
        Error::Root { .. }
    ));
}
