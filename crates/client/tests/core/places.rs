//! State of schemes with tickets is bound to its place.

use papir_client::core::{Place, Session, Settings};
use papir_core::erased::ErasedServer;
use papir_core::{Goal, NoProgress, NotPrivate, RecordBuffer};
use papir_lookup::Wanted;

use crate::peer::{Event, Peer, record, rng, short};
use crate::registered::{look_up, open, pairs};
use crate::traces::schemes::{self, scheme};

const HERE: Place = Place {
    slot: [1; 32],
    boot: [2; 32],
};

/// Returns the places of a copied folder, of another boot or machine, and of both.
fn elsewhere() -> [Place; 3] {
    let slot = [3; 32];
    let boot = [4; 32];
    [
        Place { slot, ..HERE },
        Place { boot, ..HERE },
        Place { slot, boot },
    ]
}

/// Returns true if a request names this client.
fn names(event: &Event, client: &str) -> bool {
    let number = |id: &str| id.parse().ok() == client.parse::<u64>().ok();
    matches!(event, Event::Sent(call)
        if call.header("papir-client").is_some_and(number)
            || call.path.split('/').skip_while(|part| *part != "clients").nth(1).is_some_and(number))
}

/// Returns the events of a lookup, with which a client registers anew.
fn registers_anew(peer: &mut Peer, session: &mut Session, old: &str) -> Vec<Event> {
    assert_eq!(
        peer.run(session.get(&[Wanted::Index(4)])).unwrap(),
        [Some(record(1, 4))]
    );
    let events = peer.take();
    let registering = short(&events)
        .iter()
        .position(|event| event == "POST /clients")
        .unwrap();
    assert!(
        !events[..registering].iter().any(|event| names(event, old)),
        "{:?}",
        short(&events)
    );
    events
}

#[test]
fn state_from_elsewhere_registers_anew_without_a_word_about_the_old_client() {
    for place in elsewhere() {
        for reopened in [true, false] {
            let (mut peer, mut session) = open();
            assert_eq!(look_up(&mut peer, &mut session).0, "0");
            assert_eq!(peer.saved.as_ref().unwrap().place, Some(HERE));
            peer.place = Some(place);
            if reopened {
                session = peer.open(session_settings()).unwrap();
                peer.take();
            }
            let events = registers_anew(&mut peer, &mut session, "0");
            // After a restart of the machine nobody else uses the old client, so it is removed.
            let removed = short(&events).contains(&"DELETE /clients/0".to_owned());
            assert_eq!(removed, place.slot == HERE.slot);
            assert_eq!(
                events.iter().filter(|event| names(event, "0")).count(),
                usize::from(removed)
            );
            assert_eq!(peer.saved.as_ref().unwrap().place, Some(place));
            // It stays at the new place.
            assert_eq!([look_up(&mut peer, &mut session)], pairs(&[("1", "1")])[..]);
            assert_eq!(peer.clients.len(), 2);
        }
    }
}

fn session_settings() -> Settings {
    let schemes = papir_client::core::Schemes::and(vec![&crate::registered::STATEFUL]);
    Settings {
        allow_not_private: true,
        schemes,
        ..Settings::default()
    }
}

#[test]
fn state_at_its_place_is_resumed() {
    for place in [Some(HERE), None] {
        let (mut peer, mut session) = open();
        peer.place = place;
        for number in ["0", "1", "2"] {
            assert_eq!(
                [look_up(&mut peer, &mut session)],
                pairs(&[("0", number)])[..]
            );
            session = peer.open(session_settings()).unwrap();
        }
        assert_eq!(peer.saved.as_ref().unwrap().place, place);
    }
}

/// The state was saved on a platform that could not tell its place.
#[test]
fn state_that_is_bound_to_no_place_registers_anew_where_there_is_one() {
    let (mut peer, mut session) = open();
    look_up(&mut peer, &mut session);
    peer.saved.as_mut().unwrap().place = None;
    let events = registers_anew(&mut peer, &mut session, "0");
    assert!(!events.iter().any(|event| names(event, "0")));
    assert_eq!(peer.saved.as_ref().unwrap().place, Some(HERE));
}

#[test]
fn state_from_elsewhere_is_not_used_even_if_the_service_refuses_a_new_client() {
    let (mut peer, mut session) = open();
    look_up(&mut peer, &mut session);
    (peer.place, peer.registering) = (Some(elsewhere()[0]), Some((413, "over_quota")));
    for _ in 0..2 {
        let refused = peer.run(session.get(&[Wanted::Index(4)])).unwrap_err();
        assert_eq!(refused.code(), "over_quota");
    }
    peer.registering = None;
    let events = registers_anew(&mut peer, &mut session, "0");
    assert!(!events.iter().any(|event| names(event, "0")));
}

/// The keys of this state are long, and two queries from copies of the state have their own masks.
#[test]
fn state_without_tickets_is_bound_to_no_place() {
    let records = RecordBuffer::from_records((0..40u8).map(|index| [index])).unwrap();
    let pirouette = scheme("pirouette").allow_insecure(NotPrivate::acknowledged());
    let server: Box<dyn ErasedServer> = pirouette
        .setup(&records, Goal::Balanced, &mut rng(1), &NoProgress)
        .unwrap();
    let mut peer = Peer::new(server);
    let settings = Settings {
        schemes: schemes::short(),
        ..Settings::default()
    };
    for place in elsewhere() {
        peer.place = Some(place);
        let mut session = peer.open(settings.clone()).unwrap();
        peer.run(session.get(&[Wanted::Index(4)])).unwrap();
        assert_eq!(peer.saved.as_ref().unwrap().place, None);
    }
    assert_eq!(peer.clients.len(), 1);
}
