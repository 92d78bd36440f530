//! Lookups without registration.

use std::sync::Arc;
use std::time::Duration;

use papir_client::Error;
use papir_client::core::{Method, Pin, Platform, Request, Service, Session, Settings, Step, Task};
use papir_core::{Error as CoreError, Goal, NoProgress};
use papir_lookup::Wanted;
use papir_schemes::registry;

use crate::peer::{
    Call, Event, FixedPlatform, MAX_BATCH, Peer, Reply, queries, record, records, rng, short,
    simple,
};
use crate::registered;

fn open(seed: u64) -> (Peer, Session) {
    let mut peer = Peer::new(simple(seed));
    let session = peer.open(Settings::default()).unwrap();
    (peer, session)
}

fn get(peer: &mut Peer, session: &mut Session, index: u64) -> Result<Vec<u8>, Error> {
    let values = peer.run(session.get(&[Wanted::Index(index)]))?;
    Ok(values.into_iter().next().flatten().unwrap())
}

#[test]
fn a_lookup_fetches_the_public_part_once() {
    let (mut peer, mut session) = open(1);
    assert_eq!(short(&peer.take()), ["GET ", "GET ", "GET /public"]);
    for index in [3, 49] {
        assert_eq!(
            get(&mut peer, &mut session, index).unwrap(),
            record(1, index)
        );
        let events = peer.take();
        assert_eq!(short(&events), ["POST /query"]);
        let [
            Call {
                method,
                headers,
                body,
                ..
            },
        ] = &queries(&events)[..]
        else {
            panic!()
        };
        let version = session.info().version.clone();
        let expected = [
            ("papir-version", version.as_str()),
            ("authorization", "Bearer secret"),
            ("content-type", "application/octet-stream"),
        ];
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!((*method, headers.as_slice()), (Method::Post, &expected[..]));
        assert_eq!(body.len() as u64, session.info().sizes.query);
    }
    let costs = session.costs();
    assert_eq!(
        (costs.requests, costs.query_bytes),
        (2, 2 * session.info().sizes.query)
    );
}

/// Settings of a session with the database of this name.
fn named(name: &str) -> Settings {
    Settings {
        database: Some(name.to_owned()),
        ..Settings::default()
    }
}

#[test]
fn a_session_that_knows_the_name_reads_no_list() {
    let mut peer = Peer::new(simple(1));
    let mut session = peer.open(named("table")).unwrap();
    let events = peer.take();
    assert_eq!(short(&events), ["GET ", "GET /public"]);
    assert!(
        matches!(&events[0], Event::Sent(call) if call.path == "/v1/databases/table"),
        "{events:?}"
    );
    assert_eq!(get(&mut peer, &mut session, 7).unwrap(), record(1, 7));
}

#[test]
fn a_name_that_the_service_does_not_have_is_refused_with_those_that_it_has() {
    let mut peer = Peer::new(simple(1));
    let error = peer.open(named("absent")).err().unwrap();
    let Error::NoSuchDatabase { name, known, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!((name.as_str(), known.as_str()), ("absent", "`table`"));

    // The list is read only then.
    let paths: Vec<_> = peer
        .take()
        .into_iter()
        .filter_map(|event| match event {
            Event::Sent(call) => Some(call.path),
            _ => None,
        })
        .collect();
    assert_eq!(paths, ["/v1/databases/absent", "/v1/databases"]);
}

#[test]
fn a_new_version_is_fetched_and_queried_with_fresh_queries() {
    let (mut peer, mut session) = open(1);
    peer.take();
    peer.script.push_back(Reply {
        next: Some(simple(2).into()),
        ..Reply::refusal(409, "wrong_version")
    });
    assert_eq!(get(&mut peer, &mut session, 7).unwrap(), record(2, 7));
    let events = peer.take();
    assert_eq!(
        short(&events),
        ["POST /query", "GET ", "GET /public", "POST /query"]
    );
    let sent = queries(&events);
    assert_ne!(sent[0], sent[1], "the second query is for the new version");
}

#[test]
fn the_seventh_change_of_version_in_one_request_is_an_error() {
    let (mut peer, mut session) = open(1);
    peer.take();
    for seed in 2..9 {
        peer.script.push_back(Reply {
            next: Some(simple(seed).into()),
            ..Reply::refusal(409, "wrong_version")
        });
    }
    let error = get(&mut peer, &mut session, 7).unwrap_err();
    assert!(
        matches!(&error, Error::Http { status: 409, code, .. } if code == "wrong_version"),
        "{error}"
    );
    assert_eq!(queries(&peer.take()).len(), 7);
}

#[test]
fn the_same_bytes_are_sent_again_after_the_advised_wait() {
    for (status, code, (mut peer, mut session)) in [
        (503, "no_ticket", registered::open()),
        (429, "busy", open(1)),
    ] {
        peer.take();
        peer.script.push_back(Reply {
            retry_after: Some("7"),
            ..Reply::refusal(status, code)
        });
        // Without advice the client waits one second for a ticket, as with a shorter advice. It never
        // waits longer than 30 seconds.
        peer.script.push_back(Reply::refusal(status, code));
        peer.script.push_back(Reply {
            retry_after: Some("0"),
            ..Reply::refusal(status, code)
        });
        peer.script.push_back(Reply {
            retry_after: Some("100000"),
            ..Reply::refusal(status, code)
        });
        assert_eq!(get(&mut peer, &mut session, 7).unwrap(), record(1, 7));
        let events = peer.take();
        let waits: Vec<u64> = events.iter().filter_map(Event::waited).collect();
        let sent = queries(&events);
        assert!(
            sent.len() == 5 && sent.iter().all(|one| *one == sent[0]),
            "{status}"
        );
        // Up to half of the advised wait more, so that clients do not come back together.
        let bounds = match status {
            503 => [(7, 7), (1, 1), (1, 1), (30, 30)],
            _ => [(7, 10), (0, 0), (0, 0), (30, 45)],
        };
        assert!(
            waits
                .iter()
                .zip(bounds)
                .all(|(wait, (least, most))| (least..=most).contains(wait)),
            "{waits:?}"
        );
        assert!(session.costs().round_trip.as_secs() >= waits.iter().sum::<u64>());
    }
}

#[test]
fn retries_are_limited() {
    // The client waits a minute for a busy server, and ten for a ticket, if its query has one. After a
    // refusal that would be repeated it gives up at once.
    for (status, code, requests, (mut peer, mut session)) in [
        (429, "busy", 2, open(1)),
        (503, "no_ticket", 21, registered::open()),
        (503, "no_ticket", 1, open(1)),
        (503, "not_ready", 2, open(1)),
        (500, "internal", 1, open(1)),
    ] {
        peer.take();
        for _ in 0..100 {
            peer.script.push_back(Reply {
                retry_after: Some("30"),
                ..Reply::refusal(status, code)
            });
        }
        let error = get(&mut peer, &mut session, 7).unwrap_err();
        assert_eq!(error.code(), code);
        assert_eq!(queries(&peer.take()).len(), requests, "{code}");
    }
}

#[test]
fn without_advice_each_pause_is_twice_as_long_until_the_patience_ends() {
    let mut peer = Peer::new(simple(1));
    let service = peer
        .service()
        .unwrap()
        .with_patience(Duration::from_millis(600));
    let mut session = peer
        .run(Session::open(service, Settings::default()))
        .unwrap();
    peer.take();
    for _ in 0..100 {
        peer.script.push_back(Reply {
            retry_after: Some("0"),
            ..Reply::refusal(429, "busy")
        });
    }
    let start = peer.now();

    let error = get(&mut peer, &mut session, 7).unwrap_err();

    assert_eq!(error.code(), "busy");
    // After 50, 100 and 200 ms, each with up to half of it more. Another 400 ms would be too long.
    assert_eq!(queries(&peer.take()).len(), 4);
    let waited = (peer.now() - start).as_millis();
    assert!((350..525).contains(&waited), "{waited} ms");
}

/// Returns the requests for more lookups than one request holds, and the outcome.
fn several_batches(damage: fn(&mut Vec<u8>)) -> (Vec<Event>, Result<(), Error>) {
    let (mut peer, mut session) = open(1);
    peer.damage = damage;
    let wanted: Vec<_> = (0..3 * MAX_BATCH as u64 - 1).map(Wanted::Index).collect();
    let values = peer.run(session.get(&wanted));
    let second = get(&mut peer, &mut session, 5).map(drop);
    let outcome = values.map(|values| {
        let expected: Vec<_> = (0..wanted.len() as u64)
            .map(|index| Some(record(1, index)))
            .collect();
        assert_eq!(values, expected);
    });
    (peer.take(), outcome.and(second))
}

#[test]
fn requests_do_not_depend_on_whether_answers_decode() {
    let (honest, outcome) = several_batches(|_| {});
    outcome.unwrap();
    assert_eq!(short(&honest)[3..], ["POST /query"; 4]);
    let damages: [fn(&mut Vec<u8>); 3] = [
        |answers| *answers.last_mut().unwrap() ^= 1,
        |answers| answers.truncate(3),
        Vec::clear,
    ];
    for damage in damages {
        let (damaged, outcome) = several_batches(damage);
        assert!(matches!(outcome, Err(Error::Core(_))), "{outcome:?}");
        // Headers and bodies are equal too, since both sessions draw the same randomness.
        assert_eq!(damaged, honest);
    }
}

/// The number of records comes from the server, which must not learn from missing or different
/// requests that an index is larger.
#[test]
fn an_index_out_of_range_is_refused_after_a_query_for_record_0() {
    let look_up = |last: u64| {
        let (mut peer, mut session) = open(1);
        let wanted: Vec<_> = (0..50).chain([last]).map(Wanted::Index).collect();
        let values = peer.run(session.get(&wanted));
        (peer.take(), values)
    };
    let (expected, values) = look_up(0);
    values.unwrap();
    for beyond in [50, u64::MAX] {
        // Headers and bodies are equal too, since both sessions draw the same randomness.
        let (requests, values) = look_up(beyond);
        assert_eq!(requests, expected);
        let refusal = CoreError::IndexOutOfRange {
            found: beyond,
            records: 50,
        };
        assert_eq!(values.unwrap_err().to_string(), refusal.to_string());
    }
}

#[test]
fn answers_that_are_too_long_are_refused() {
    let (mut peer, mut session) = open(1);
    peer.damage = |answers| answers.resize(1 << 20, 0);
    let error = get(&mut peer, &mut session, 7).unwrap_err();
    assert!(
        matches!(error, Error::TooLong { limit, .. } if limit == session.info().sizes.answer),
        "{error}"
    );
}

#[test]
fn schemes_that_are_not_private_need_permission() {
    let plain = || {
        let scheme = registry::by_name("plain")
            .unwrap()
            .allow_insecure(papir_core::NotPrivate::acknowledged());
        scheme
            .setup(&records(2), Goal::Balanced, &mut rng(2), &NoProgress)
            .unwrap()
    };
    let refused = Peer::new(plain())
        .open(Settings::default())
        .map(drop)
        .unwrap_err();
    assert!(
        matches!(refused, Error::Core(CoreError::NotPrivate { .. })),
        "{refused}"
    );
    let allowed = Settings {
        allow_not_private: true,
        ..Settings::default()
    };
    assert!(Peer::new(plain()).open(allowed).is_ok());
    // A server cannot switch to such a scheme either.
    let (mut peer, mut session) = open(1);
    peer.script.push_back(Reply {
        next: Some(plain().into()),
        ..Reply::refusal(409, "wrong_version")
    });
    let refused = get(&mut peer, &mut session, 7).unwrap_err();
    assert!(
        matches!(refused, Error::Core(CoreError::NotPrivate { .. })),
        "{refused}"
    );
    assert_eq!(queries(&peer.take()).len(), 1);
}

#[test]
fn a_token_is_not_sent_in_the_clear_to_another_machine() {
    let token = papir_client::core::Token::new("secret").unwrap();
    let service = |url, insecure| {
        Service::new(
            url,
            Some(token.clone()),
            insecure,
            Arc::new(FixedPlatform::default()),
        )
    };
    let refused = service("http://papir.example", false).map(drop);
    assert!(
        matches!(refused, Err(Error::TokenInClear { .. })),
        "{refused:?}"
    );
    assert!(service("http://papir.example", true).is_ok());
    assert!(service("http://127.0.0.1:7470", false).is_ok());
}

/// Returns the requests of a task whose connections all break, and its error.
fn breaking<T>(
    mut step: Step<'_, Result<T, Error>>,
    platform: &FixedPlatform,
) -> (Vec<Request>, Error) {
    let mut sent = Vec::new();
    loop {
        step = match step {
            Step::Send(request, then) => {
                sent.push(request);
                then.resume(Err("cut".into()))
            }
            Step::Wait(duration, then) => {
                platform.advance(duration);
                then.resume()
            }
            Step::Store(..) => panic!("nothing is stored"),
            Step::Done(outcome) => return (sent, outcome.map(drop).unwrap_err()),
        };
    }
}

/// A client gives up soon on a service that never responded. A service that did respond may
/// restart: the client sends the same bytes again for a minute.
#[test]
fn broken_connections_are_retried_longer_after_a_response() {
    let platform = Arc::new(FixedPlatform::default());
    let service = Service::new("https://papir.example", None, false, platform.clone()).unwrap();
    let (sent, error) = breaking(papir_client::core::ready(service).start(), &platform);
    assert!(
        sent.len() == 4 && platform.now() < Duration::from_secs(1),
        "{sent:?}"
    );
    assert_eq!((error.code(), error.is_retryable()), ("transport", true));

    let (peer, mut session) = open(1);
    let start = peer.platform.now();
    let (sent, error) = breaking(session.get(&[Wanted::Index(1)]).start(), &peer.platform);
    let waited = (peer.platform.now() - start).as_secs();
    assert!(
        (50..=60).contains(&waited) && (14..=30).contains(&sent.len()),
        "{waited} s, {}",
        sent.len()
    );
    assert!(
        sent.iter()
            .all(|again| (&again.path, &again.body) == (&sent[0].path, &sent[0].body))
    );
    assert!(
        !format!("{:?}", sent[0]).contains("secret"),
        "headers are not printed"
    );
    assert_eq!(
        error.to_string(),
        "https://papir.example/v1/databases/table/query: cut"
    );
}

#[test]
fn bodies_of_another_version_are_not_read() {
    let service = Service::new(
        "https://papir.example",
        None,
        false,
        Arc::new(FixedPlatform::default()),
    )
    .unwrap();
    let mut peer = Peer::new(simple(1));
    let settings = Settings {
        pin: Pin::Nothing,
        no_cache: true,
        ..Settings::default()
    };
    let mut step = Session::open(service, settings).start();
    let public: Request = loop {
        step = match step {
            Step::Send(request, _) if request.path.contains("/public?version=") => break request,
            Step::Send(request, then) => then.resume(peer.respond(&request)),
            _ => panic!("only requests are expected"),
        };
    };
    let version = peer.versions[0].server.version().to_string();
    assert!(public.body_limit(200, Some(&version)).is_some());
    assert_eq!(public.body_limit(200, Some("0123456789abcdef")), None);
    assert_eq!(public.body_limit(200, None), None);
    assert_eq!(public.body_limit(404, None), Some((1 << 20) + 1));
}

#[test]
fn tasks_can_be_sent_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let (_, mut session) = open(1);
    let task: Task<'_, _> = session.get(&[]);
    is_send(&task);
}
