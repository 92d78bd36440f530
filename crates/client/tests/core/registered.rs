//! Lookups of registered clients: their state is durable before a query is sent.
#![allow(unreachable_pub)]

use papir_client::Error;
use std::time::Duration;

use papir_client::core::{Place, Rotation, SavedRegistration, Schemes, Session, Settings};
use papir_core::erased::{Erased, ErasedServer};
use papir_lookup::Wanted;
use papir_testkit::stateful::{self, Stateful};

use crate::peer::{Event, Peer, Reply, queries, record, records, rng, short};

pub static STATEFUL: Erased<Stateful> =
    Erased::allowing_insecure(papir_core::NotPrivate::acknowledged());

fn prepared(seed: u64) -> Box<dyn ErasedServer> {
    stateful::setup(&records(seed), stateful::KEYS_BYTES, &mut rng(seed)).unwrap()
}

pub fn open() -> (Peer, Session) {
    open_with(Rotation::default())
}

pub fn open_with(rotation: Rotation) -> (Peer, Session) {
    let mut peer = Peer::new(prepared(1));
    let session = peer.open(settings(rotation)).unwrap();
    peer.take();
    (peer, session)
}

fn settings(rotation: Rotation) -> Settings {
    Settings {
        allow_not_private: true,
        schemes: Schemes::and(vec![&STATEFUL]),
        rotation,
        ..Settings::default()
    }
}

/// Returns the client and the ticket of each query request.
pub fn tickets(events: &[Event]) -> Vec<(String, String)> {
    let pairs = queries(events).into_iter().map(|call| {
        let client: u64 = call.header("papir-client").unwrap().parse().unwrap();
        (
            client.to_string(),
            call.header("papir-ticket").unwrap().to_owned(),
        )
    });
    pairs.collect()
}

pub fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(client, tickets)| ((*client).to_owned(), (*tickets).to_owned()))
        .collect()
}

/// A client's id becomes a part of paths and headers.
#[test]
fn an_id_of_another_form_is_refused() {
    for id in ["../../../psi", "", &"0".repeat(31), &"g".repeat(32)] {
        let (mut peer, mut session) = open();
        let refused = peer.run_through(session.register(), &mut |peer, call| {
            let mut response = peer.receive(call)?;
            let body = String::from_utf8(response.body?)?;
            response.body = Ok(body.replace(&"0".repeat(32), id).into_bytes());
            Ok(response)
        });
        let error = refused.unwrap_err().to_string();
        assert!(
            error.contains(&format!("id {id:?}: expected 32 hexadecimal digits")),
            "{error}"
        );
        assert!(peer.saved.is_none() && short(&peer.take()).last().unwrap() == "unlock");
    }
}

/// Registers, and loses the response to the first request. Returns the keys of every request.
fn register_twice(peer: &mut Peer, session: &mut Session) -> Vec<Vec<u8>> {
    let mut sent = Vec::new();
    let registered = peer.run_through(session.register(), &mut |peer, call| {
        let response = peer.receive(call);
        if !call.route().ends_with("/clients") {
            return response;
        }

        sent.push(call.body.clone());
        if sent.len() == 1 {
            Err("lost".into())
        } else {
            response
        }
    });
    registered.unwrap();
    sent
}

#[test]
fn a_registration_whose_response_was_lost_sends_the_same_keys() {
    let (mut peer, mut session) = open();
    let sent = register_twice(&mut peer, &mut session);
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0], sent[1]);
}

/// Copies of a machine may have generators that draw the same bytes.
#[test]
fn state_at_another_place_has_other_keys() {
    let keys = |place| {
        let (mut peer, mut session) = open();
        peer.place = place;
        register_twice(&mut peer, &mut session).swap_remove(0)
    };
    let place = |slot, boot| {
        Some(Place {
            slot: [slot; 32],
            boot: [boot; 32],
        })
    };

    let all = [
        keys(None),
        keys(place(1, 2)),
        keys(place(2, 2)),
        keys(place(1, 1)),
    ];
    for (position, one) in all.iter().enumerate() {
        assert!(!all[..position].contains(one), "{position}");
    }
    assert_eq!(all[1], keys(place(1, 2)));
}

#[test]
fn a_stored_registration_of_another_database_is_refused() {
    let (mut peer, mut session) = open();
    peer.run(session.register()).unwrap();
    let saved = peer.saved.clone().unwrap();
    let address = "https://papir.example/v1/databases/other".to_owned();
    peer.saved = Some(SavedRegistration { address, ..saved });
    peer.take();

    let error = peer.run(session.get(&[Wanted::Index(4)])).unwrap_err();
    assert_eq!(error.code(), "unexpected");
    let text = error.to_string();
    for part in ["databases/other", "databases/table"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(short(&peer.take()), ["lock", "read", "unlock"]);
}

#[test]
fn state_is_written_and_unlocked_before_a_query_is_sent() {
    let (mut peer, mut session) = open();
    let wanted = [Wanted::Index(4), Wanted::Index(5), Wanted::Index(6)];
    let values = peer.run(session.get(&wanted)).unwrap();
    assert_eq!(values, [4, 5, 6].map(|index| Some(record(1, index))));
    let events = peer.take();
    let registering = [
        "lock",
        "read",
        "read",
        "forget",
        "POST /clients",
        "write",
        "unlock",
    ];
    let querying = ["lock", "read", "write", "unlock", "POST /query"];
    // The service prepares two tickets ahead, so three lookups take two requests. Before the second
    // one, the client asks whether its ticket is ready.
    let asking = [
        "lock",
        "read",
        "GET /clients/0",
        "write",
        "unlock",
        "POST /query",
    ];
    assert_eq!(
        short(&events),
        [&registering[..], &querying[..], &asking[..]].concat()
    );
    assert_eq!(tickets(&events), pairs(&[("0", "0,1"), ("0", "2")]));
}

#[test]
fn a_removed_client_registers_again_once() {
    let (mut peer, mut session) = open();
    peer.run(session.register()).unwrap();
    peer.script.push_back(Reply::refusal(410, "client_gone"));
    let values = peer.run(session.get(&[Wanted::Index(4)])).unwrap();
    assert_eq!(values, [Some(record(1, 4))]);
    let sent = tickets(&peer.take());
    assert_eq!(sent[0].0, "0");
    assert_eq!(
        sent[1].0, "1",
        "the second query is of the new registration"
    );
    peer.script.extend([
        Reply::refusal(410, "client_gone"),
        Reply::refusal(410, "client_gone"),
    ]);
    let error = peer.run(session.get(&[Wanted::Index(4)])).unwrap_err();
    assert_eq!(error.code(), "client_gone");
    assert_eq!(queries(&peer.take()).len(), 2);
}

#[test]
fn a_ticket_used_by_a_copy_removes_the_registration() {
    let (mut peer, mut session) = open();
    peer.run(session.register()).unwrap();
    peer.take();
    peer.script.push_back(Reply::refusal(410, "ticket_used"));
    let error = peer.run(session.get(&[Wanted::Index(4)])).unwrap_err();
    assert!(matches!(error, Error::StateCopied { .. }), "{error}");
    let events = peer.take();
    assert_eq!(short(&events)[5..], ["lock", "read", "forget", "unlock"]);
    assert!(peer.saved.is_none());
    assert_eq!(
        peer.run(session.get(&[Wanted::Index(4)])).unwrap(),
        [Some(record(1, 4))]
    );
    assert_eq!(tickets(&peer.take())[0].0, "1");
}

#[test]
fn a_ticket_is_used_once_even_if_the_answer_is_lost() {
    let (mut peer, mut session) = open();
    peer.damage = |answers| answers.clear();
    assert!(peer.run(session.get(&[Wanted::Index(4)])).is_err());
    peer.damage = |_| {};
    assert_eq!(
        peer.run(session.get(&[Wanted::Index(4)])).unwrap(),
        [Some(record(1, 4))]
    );
    assert_eq!(tickets(&peer.take()), pairs(&[("0", "0"), ("0", "1")]));
}

/// Looks up one record. Returns the client and the ticket of the query.
pub fn look_up(peer: &mut Peer, session: &mut Session) -> (String, String) {
    let values = peer.run(session.get(&[Wanted::Index(4)])).unwrap();
    assert_eq!(values, [Some(record(1, 4))]);
    tickets(&peer.take()).remove(0)
}

#[test]
fn keys_are_replaced_after_a_number_of_queries() {
    let (mut peer, mut session) = open_with(Rotation {
        queries: 3,
        ..Rotation::default()
    });
    let found: Vec<_> = (0..5).map(|_| look_up(&mut peer, &mut session)).collect();
    assert_eq!(
        found,
        pairs(&[("0", "0"), ("0", "1"), ("0", "2"), ("1", "0"), ("1", "1")])
    );
    // The old client was removed from the service.
    assert_eq!(peer.clients.len(), 2);
    look_up(&mut peer, &mut session);
    let values = peer.run(session.get(&[Wanted::Index(4)])).unwrap();
    assert_eq!(values, [Some(record(1, 4))]);
    let removing = [
        "lock",
        "read",
        "read",
        "forget",
        "POST /clients",
        "write",
        "read",
        "DELETE /clients/1",
    ];
    assert_eq!(short(&peer.take())[..8], removing);
}

#[test]
fn old_keys_are_replaced() {
    let age = Duration::from_secs(3600);
    let (mut peer, mut session) = open_with(Rotation {
        age,
        ..Rotation::default()
    });
    assert_eq!(look_up(&mut peer, &mut session).0, "0");
    peer.platform.advance(age - Duration::from_secs(1));
    assert_eq!(look_up(&mut peer, &mut session).0, "0");
    peer.platform.advance(Duration::from_secs(1));
    assert_eq!(look_up(&mut peer, &mut session).0, "1");
}

/// A service without room for a second registration still answers under the first.
#[test]
fn keys_stay_while_the_service_refuses_new_ones() {
    let (mut peer, mut session) = open_with(Rotation {
        queries: 1,
        ..Rotation::default()
    });
    look_up(&mut peer, &mut session);
    peer.registering = Some((413, "over_quota"));
    let found: Vec<_> = (0..2).map(|_| look_up(&mut peer, &mut session)).collect();
    assert_eq!(found, pairs(&[("0", "1"), ("0", "2")]));
    peer.registering = None;
    assert_eq!(
        look_up(&mut peer, &mut session),
        ("1".to_owned(), "0".to_owned())
    );
}

/// New keys are expensive to make: a client does not make them for every lookup that follows.
#[test]
fn a_refused_replacement_is_tried_again_later() {
    let (mut peer, mut session) = open_with(Rotation {
        queries: 32,
        ..Rotation::default()
    });
    (0..32).for_each(|_| drop(look_up(&mut peer, &mut session)));
    peer.registering = Some((413, "over_quota"));
    let attempts: Vec<bool> = (0..5)
        .map(|_| {
            peer.run(session.get(&[Wanted::Index(4)])).unwrap();
            short(&peer.take()).contains(&"POST /clients".to_owned())
        })
        .collect();
    assert_eq!(attempts, [true, false, true, false, true]);
}

/// The service knows the address behind direct requests, and could recognise the client by its id.
#[test]
fn a_registration_is_used_only_through_the_relay_that_it_was_made_through() {
    let mut peer = Peer::new(prepared(1));
    let ways = [
        None,
        Some("https://r.example"),
        Some("https://other.example/relay"),
    ];

    for ticket in ["0", "1"] {
        for (number, relay) in ways.into_iter().enumerate() {
            peer.relay = relay;
            // As in another run of the program, which has only what is stored.
            let mut session = peer.open(settings(Rotation::default())).unwrap();
            let values = peer.run(session.get(&[Wanted::Index(4)])).unwrap();
            assert_eq!(values, [Some(record(1, 4))], "{relay:?}");

            let events = peer.take();
            let client = number.to_string();
            assert_eq!(
                tickets(&events),
                pairs(&[(client.as_str(), ticket)]),
                "{relay:?}"
            );
            let own = format!("/clients/{client}");
            for step in short(&events) {
                let names_client = step.contains("/clients/");
                assert!(!names_client || step.ends_with(&own), "{relay:?}: {step}");
            }
        }
    }
    assert_eq!(peer.clients.len(), ways.len());
}

#[test]
fn a_dropped_task_releases_the_lock() {
    let (peer, mut session) = open();
    let events = peer.events.clone();
    let task = session.register().start();
    let papir_client::core::Step::Store(_, then) = task else {
        panic!("no lock is taken")
    };
    let lock = papir_client::core::StoreLock::new(OnDrop(events));
    drop(then.resume(Ok(papir_client::core::Stored::Locked(lock))));
    assert_eq!(short(&peer.take()), ["unlock"]);
}

struct OnDrop(std::sync::Arc<std::sync::Mutex<Vec<Event>>>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(Event::Stored("unlock"));
    }
}
