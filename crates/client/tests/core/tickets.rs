//! Queries of registered clients wait for their tickets, and are then sent once.

use std::time::Duration;

use papir_client::core::{Response, Session};
use papir_lookup::Wanted;
use papir_testkit::stateful;

use crate::peer::{Event, Peer, queries, record, records, rng, short};
use crate::registered::{look_up, open, pairs, tickets};

const EACH: Duration = Duration::from_secs(20);

/// Returns a service that needs [`EACH`] for a ticket.
fn slow() -> (Peer, Session) {
    let (mut peer, session) = open();
    peer.ticket_time = EACH;
    (peer, session)
}

/// Looks up records in one call.
fn get(peer: &mut Peer, session: &mut Session, indices: &[u64]) {
    let wanted: Vec<_> = indices.iter().map(|&index| Wanted::Index(index)).collect();
    let expected: Vec<_> = indices
        .iter()
        .map(|&index| Some(record(1, index)))
        .collect();
    assert_eq!(peer.run(session.get(&wanted)).unwrap(), expected);
}

/// Loses the queries of a lookup, so that the service does not see them.
fn lose(peer: &mut Peer, session: &mut Session) {
    let task = session.get(&[Wanted::Index(4)]);
    let lost = peer.run_through(
        task,
        &mut |peer, call| match call.path.ends_with("/query") {
            true => Err("lost".into()),
            false => peer.receive(call),
        },
    );
    assert_eq!(lost.unwrap_err().code(), "transport");
}

fn waited(events: &[Event]) -> u64 {
    events
        .iter()
        .map(|event| {
            if let Event::Waited(seconds) = event {
                *seconds
            } else {
                0
            }
        })
        .sum()
}

#[test]
fn every_query_is_uploaded_once() {
    let (mut peer, mut session) = slow();
    let mut events = Vec::new();
    for indices in [&[4][..], &[5], &[6, 7], &[8, 9, 10], &[11]] {
        get(&mut peer, &mut session, indices);
        let new = peer.take();
        // Each wait is before the upload.
        let names = short(&new);
        let after = names.iter().skip_while(|name| *name != "POST /query");
        assert!(indices.len() > 2 || after.count() == 1, "{names:?}");
        events.extend(new);
    }
    let sent = queries(&events);
    assert_eq!(
        tickets(&events),
        pairs(&[
            ("0", "0"),
            ("0", "1"),
            ("0", "2,3"),
            ("0", "4,5"),
            ("0", "6"),
            ("0", "7")
        ])
    );
    assert_eq!(sent.len() as u64, session.costs().requests);
    let bytes: usize = sent.iter().map(|call| call.body.len()).sum();
    assert_eq!(bytes as u64, session.costs().query_bytes);
    // Eight tickets, and a pause of at most 8 s too long for each request.
    assert!(
        (8 * 20..8 * 20 + 6 * 8).contains(&waited(&events)),
        "{}",
        waited(&events)
    );
    assert_eq!(
        session.costs().query,
        Duration::ZERO,
        "waiting is no work of the client"
    );
    assert_eq!(session.costs().round_trip.as_secs(), waited(&events));
}

#[test]
fn tickets_that_are_ready_are_asked_for_once() {
    let (mut peer, mut session) = open();
    (0..6).for_each(|index| get(&mut peer, &mut session, &[index]));
    let asked = short(&peer.take())
        .iter()
        .filter(|name| name.starts_with("GET"))
        .count();
    assert_eq!(
        asked, 2,
        "two tickets are ready at each look, and two with the registration"
    );
}

/// The state is unlocked during the wait, and no number is taken.
#[test]
fn a_wait_without_end_takes_no_number() {
    let (mut peer, mut session) = open();
    peer.ticket_time = Duration::from_secs(1 << 30);
    let late = peer.run(session.get(&[Wanted::Index(4)])).unwrap_err();
    assert_eq!(late.code(), "no_ticket");
    let events = peer.take();
    assert!(queries(&events).is_empty());
    assert!((600..608).contains(&waited(&events)), "{}", waited(&events));
    let names = short(&events);
    for (position, name) in names
        .iter()
        .enumerate()
        .filter(|(_, name)| name.starts_with("wait"))
    {
        assert_eq!(names[position - 1], "unlock", "{name}");
    }
    peer.ticket_time = Duration::ZERO;
    assert_eq!([look_up(&mut peer, &mut session)], pairs(&[("0", "0")])[..]);
}

/// The service does not prepare this ticket by itself, since it is too far ahead. A client that
/// waited would wait for ever.
#[test]
fn a_client_ahead_of_the_service_does_not_wait_for_ever() {
    let (mut peer, mut session) = slow();
    get(&mut peer, &mut session, &[4]);
    (0..5).for_each(|_| lose(&mut peer, &mut session));
    peer.take();
    get(&mut peer, &mut session, &[4]);
    let sent = tickets(&peer.take());
    assert!(
        sent.len() > 1 && sent.iter().all(|one| *one == sent[0]),
        "the same bytes: {sent:?}"
    );
    assert_eq!(sent[0].1, "6");
    // The service has followed. Tickets of skipped numbers are not taken for those of the next.
    (0..4).for_each(|_| get(&mut peer, &mut session, &[4]));
    assert_eq!(
        tickets(&peer.take()),
        pairs(&[("0", "7"), ("0", "8"), ("0", "9"), ("0", "10")])
    );
}

/// The service's tables are of an earlier time.
#[test]
fn a_client_of_a_restored_service_does_not_wait_for_ever() {
    let (mut peer, mut session) = slow();
    peer.run(session.register()).unwrap();
    let before = peer.clients.clone();
    (0..3).for_each(|_| get(&mut peer, &mut session, &[4]));
    peer.clients = before;
    peer.take();
    get(&mut peer, &mut session, &[4]);
    assert_eq!(tickets(&peer.take())[0].1, "3");
}

/// The place is the same, as after a restore of the whole machine, and the service is honest.
#[test]
fn an_old_state_is_replaced_before_a_query() {
    let (mut peer, mut session) = open();
    get(&mut peer, &mut session, &[4]);
    let old = peer.saved.clone();
    (0..4).for_each(|_| get(&mut peer, &mut session, &[4]));
    peer.saved = old;
    peer.take();
    assert_eq!(
        look_up(&mut peer, &mut session),
        ("1".to_owned(), "0".to_owned())
    );
}

#[test]
fn a_client_that_is_removed_while_it_waits_registers_once() {
    let (mut peer, mut session) = slow();
    let task = session.get(&[Wanted::Index(4)]);
    let mut looks = 0;
    let values = peer.run_through(task, &mut |peer, call| {
        looks += usize::from(call.path.ends_with(&"0".repeat(32)));
        if looks == 3 {
            peer.clients[0].remove();
        }
        peer.receive(call)
    });
    assert_eq!(values.unwrap(), [Some(record(1, 4))]);
    assert_eq!(tickets(&peer.take()), pairs(&[("1", "0")]));
    // A service that removes every client gets no client after the next one, and no query.
    get(&mut peer, &mut session, &[4]);
    peer.take();
    let task = session.get(&[Wanted::Index(4)]);
    let removed = peer.run_through(task, &mut |peer, call| -> Result<Response, _> {
        let response = peer.receive(call);
        peer.clients.iter_mut().for_each(|client| client.remove());
        response
    });
    assert_eq!(removed.unwrap_err().code(), "unexpected");
    let names = short(&peer.take());
    assert_eq!(
        names.iter().filter(|name| *name == "POST /clients").count(),
        1
    );
    assert!(!names.contains(&"POST /query".to_owned()));
}

/// Tickets of the old version are no longer prepared, and the old keys may not fit the new one.
#[test]
fn a_client_follows_a_new_version_while_it_waits() {
    for keys_bytes in [stateful::KEYS_BYTES, stateful::KEYS_BYTES + 8] {
        let (mut peer, mut session) = slow();
        let task = session.get(&[Wanted::Index(4)]);
        let mut looks = 0;
        let values = peer.run_through(task, &mut |peer, call| {
            looks += usize::from(call.path.ends_with(&"0".repeat(32)));
            if looks == 2 && peer.versions.len() == 1 {
                let newer = stateful::setup(&records(2), keys_bytes, &mut rng(2)).unwrap();
                peer.versions.push(newer.into());
            }
            peer.receive(call)
        });
        assert_eq!(values.unwrap(), [Some(record(2, 4))]);
        let sent = tickets(&peer.take());
        let client = if keys_bytes == stateful::KEYS_BYTES {
            "0"
        } else {
            "1"
        };
        assert_eq!(sent, pairs(&[(client, "0")]));
    }
}
