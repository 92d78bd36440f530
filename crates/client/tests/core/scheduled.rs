//! Schedules: their requests do not depend on what is looked up.

use std::time::Duration;

use papir_client::core::{
    FoundValue, MAX_KEY_BYTES, MAX_WAITING, Schedule, ScheduleRunner, Scheduled, ScheduledBatch,
    Session, Settings,
};
use papir_client::{Error, Result};
use papir_core::{Goal, NoProgress, NotPrivate};
use papir_schemes::registry;

use crate::peer::{
    Event, MAX_BATCH, Offer, Peer, RECORDS, Reply, queries, record, records, rng, short, simple,
};
use crate::traces::world::table;

/// The interval of the schedule in seconds.
const EVERY: u64 = 20;
const SCHEDULE: Schedule = Schedule {
    every: Duration::from_secs(EVERY),
    batch: 2,
};
/// Number of slots in a trace.
const SLOTS: u64 = 8;
/// Number of keys of the database that is looked up by key.
const KEYS: u64 = 40;

/// Something that the service sees in a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Observation {
    Request {
        /// The time of the slot.
        slot: Duration,
        path: String,
        /// Names and lengths of the headers.
        headers: Vec<(String, usize)>,
        bytes: usize,
    },
    Other(Event),
}

impl Observation {
    fn of(event: Event, slot: Duration) -> Self {
        match event {
            Event::Sent(call) => Self::Request {
                slot,
                path: call.path,
                headers: call
                    .headers
                    .into_iter()
                    .map(|(name, value)| (name, value.len()))
                    .collect(),
                bytes: call.body.len(),
            },
            other => Self::Other(other),
        }
    }
}

/// A user of a schedule, who submits lookups before each slot.
type User = fn(u64, &Scheduled);

/// A database, and misbehaviour of its service.
struct Setting {
    offer: fn() -> Offer,
    misbehave: fn(&mut Peer, u64),
}

impl Setting {
    /// Runs a schedule, with the user's and the service's behaviour before each slot. Returns what
    /// the service sees.
    fn trace(&self, user: User) -> Vec<Observation> {
        let mut peer = Peer::new((self.offer)());
        let mut session = peer.open(Settings::default()).unwrap();
        let (scheduled, runner) = SCHEDULE.start(session.info(), session.lookup()).unwrap();
        peer.take();

        let mut slots = runner.slots(peer.now());
        let mut trace = Vec::new();
        for number in 0..SLOTS {
            user(number, &scheduled);
            (self.misbehave)(&mut peer, number);
            let slot = slots.next(peer.now());
            peer.platform.advance(slot.at - peer.now());

            let batch = draw(&runner, &session, number);
            let found = look_up(&mut peer, &mut session, &batch);
            batch.answer(found);
            let events = peer.take().into_iter();
            trace.extend(events.map(|event| Observation::of(event, slot.at)));
        }
        trace
    }

    /// Checks that the service sees the same of all users. Returns what it sees.
    fn compare(&self, users: &[User]) -> Vec<Observation> {
        let idle = self.trace(|_, _| {});
        for (number, user) in users.iter().enumerate() {
            assert_eq!(self.trace(*user), idle, "user {number}");
        }
        idle
    }
}

fn draw(runner: &ScheduleRunner, session: &Session, seed: u64) -> ScheduledBatch {
    let records = session.lookup().describe().shape.records();
    runner.draw(records, &mut rng(seed))
}

fn look_up(
    peer: &mut Peer,
    session: &mut Session,
    batch: &ScheduledBatch,
) -> Result<Vec<FoundValue>> {
    peer.run(session.get_each(&batch.wanted()))
}

fn indexed() -> Offer {
    simple(1).into()
}

fn keyed() -> Offer {
    let (records, layout) = table(KEYS);
    let scheme = registry::by_name("simple").unwrap();
    let server = scheme
        .setup(&records, Goal::Balanced, &mut rng(1), &NoProgress)
        .unwrap();
    Offer::new(server, layout)
}

fn submit_indices(scheduled: &Scheduled, indices: impl IntoIterator<Item = u64>) {
    for index in indices {
        drop(scheduled.submit_index(index).unwrap());
    }
}

/// Users of a database that is looked up by index.
const BY_INDEX: [User; 3] = [
    // Bursts.
    |number, scheduled| {
        if number.is_multiple_of(3) {
            submit_indices(scheduled, 0..5);
        }
    },
    // One index repeated.
    |_, scheduled| submit_indices(scheduled, [7, 7]),
    // An index that does not exist.
    |_, scheduled| submit_indices(scheduled, [RECORDS + 5]),
];

/// Users of a database that is looked up by key.
const BY_KEY: [User; 3] = [
    // Bursts, with keys of many lengths.
    |number, scheduled| {
        if number.is_multiple_of(3) {
            for length in 0..5 {
                drop(scheduled.submit_key(&vec![b'k'; 100 * length]).unwrap());
            }
        }
    },
    // One key repeated.
    |_, scheduled| drop(scheduled.submit_key(b"key 7").unwrap()),
    // A key that is absent.
    |_, scheduled| drop(scheduled.submit_key(b"absent").unwrap()),
];

/// Checks that there is one query request for each slot, of one length, in its slot.
fn assert_one_request_per_slot(trace: &[Observation]) {
    let mut times = Vec::new();
    let mut lengths = Vec::new();
    for observation in trace {
        match observation {
            Observation::Request {
                slot, path, bytes, ..
            } if path.ends_with("/query") => {
                times.push(slot.as_secs());
                lengths.push(*bytes);
            }
            other => panic!("{other:?}"),
        }
    }

    let expected: Vec<u64> = (1..=SLOTS).map(|number| EVERY * number).collect();
    assert_eq!(times, expected);
    lengths.dedup();
    assert_eq!(lengths.len(), 1);
}

#[test]
fn requests_do_not_depend_on_the_indices_that_are_looked_up() {
    let setting = Setting {
        offer: indexed,
        misbehave: |_, _| {},
    };
    assert_one_request_per_slot(&setting.compare(&BY_INDEX));
}

#[test]
fn requests_do_not_depend_on_the_keys_that_are_looked_up() {
    let setting = Setting {
        offer: keyed,
        misbehave: |_, _| {},
    };
    assert_one_request_per_slot(&setting.compare(&BY_KEY));
}

/// Misbehaves in different ways, one after the other.
fn misbehave(peer: &mut Peer, slot: u64) {
    peer.damage = |_| {};
    match slot {
        // Answers that do not decode.
        1 => peer.damage = |answers| answers.fill(0xff),
        // Answers of a wrong length.
        2 => peer.damage = |answers| answers.truncate(7),
        // A refusal that is final, and refusals that are not.
        3 => peer.script.push_back(Reply::refusal(400, "malformed")),
        4 => peer.script.push_back(Reply {
            retry_after: Some("7"),
            ..Reply::refusal(429, "busy")
        }),
        // A wait that is longer than the interval.
        5 => peer.script.push_back(Reply {
            retry_after: Some("30"),
            ..Reply::refusal(503, "busy")
        }),
        _ => {}
    }
}

#[test]
fn requests_do_not_depend_on_lookups_of_a_service_that_misbehaves() {
    let by_index = Setting {
        offer: indexed,
        misbehave,
    };
    by_index.compare(&BY_INDEX);

    let by_key = Setting {
        offer: keyed,
        misbehave,
    };
    by_key.compare(&BY_KEY);
}

#[test]
fn a_new_version_leads_to_the_same_requests_for_all_lookups() {
    let setting = Setting {
        offer: indexed,
        misbehave: |peer, slot| {
            if slot == 3 {
                peer.script.push_back(Reply {
                    next: Some(simple(2).into()),
                    ..Reply::refusal(409, "wrong_version")
                });
            }
        },
    };
    let trace = setting.compare(&BY_INDEX);
    assert!(trace.len() > usize::try_from(SLOTS).unwrap());
}

/// A schedule whose queue holds more lookups than one request, and whose database changes while the
/// first of them are sent.
#[test]
fn waiting_lookups_survive_a_new_version() {
    let mut peer = Peer::new(indexed());
    let mut session = peer.open(Settings::default()).unwrap();
    let (scheduled, runner) = SCHEDULE.start(session.info(), session.lookup()).unwrap();
    let awaited: Vec<_> = [3, 7, 20]
        .map(|index| scheduled.submit_index(index).unwrap())
        .into();
    peer.take();
    peer.script.push_back(Reply {
        next: Some(simple(2).into()),
        ..Reply::refusal(409, "wrong_version")
    });

    for slot in 0..2 {
        let batch = draw(&runner, &session, slot);
        let found = look_up(&mut peer, &mut session, &batch);
        batch.answer(found);
    }
    let values = awaited.into_iter().map(|one| one.wait().unwrap());
    let expected = [3, 7, 20].map(|index| Some(record(2, index)));
    assert_eq!(values.collect::<Vec<_>>(), expected);

    // The refused request, the same lookups for the new version, and the last lookup.
    let sent = queries(&peer.take());
    let versions: Vec<_> = sent
        .iter()
        .map(|call| call.header("papir-version"))
        .collect();
    let [old, new] = [1, 2].map(|seed| simple(seed).version().to_string());
    assert_eq!(
        versions,
        [Some(&*old), Some(&*new), Some(&*new)],
        "each version"
    );
    for (number, call) in sent.iter().enumerate() {
        assert!(
            sent[..number].iter().all(|before| before.body != call.body),
            "no query is sent twice"
        );
    }
}

/// Lookups whose request meets more changes of the version than it follows get the refusal, and the
/// ones behind them get their values.
#[test]
fn lookups_that_cannot_follow_the_versions_get_the_reason() {
    let mut peer = Peer::new(indexed());
    let mut session = peer.open(Settings::default()).unwrap();
    let (scheduled, runner) = SCHEDULE.start(session.info(), session.lookup()).unwrap();
    let mut awaited: Vec<_> = [3, 7, 20]
        .map(|index| scheduled.submit_index(index).unwrap())
        .into();
    for seed in 2..9 {
        peer.script.push_back(Reply {
            next: Some(simple(seed).into()),
            ..Reply::refusal(409, "wrong_version")
        });
    }

    for slot in 0..2 {
        let batch = draw(&runner, &session, slot);
        let found = look_up(&mut peer, &mut session, &batch);
        batch.answer(found);
    }
    let last = awaited.pop().unwrap();
    for one in awaited {
        assert_eq!(one.wait().unwrap_err().code(), "wrong_version");
    }
    assert_eq!(last.wait().unwrap(), Some(record(8, 20)));
}

#[test]
fn an_index_out_of_range_fails_alone() {
    let mut peer = Peer::new(indexed());
    let mut session = peer.open(Settings::default()).unwrap();
    let (scheduled, runner) = SCHEDULE.start(session.info(), session.lookup()).unwrap();
    let wrong = scheduled.submit_index(RECORDS).unwrap();
    let right = scheduled.submit_index(7).unwrap();

    let batch = draw(&runner, &session, 1);
    let found = look_up(&mut peer, &mut session, &batch);
    batch.answer(found);
    assert_eq!(wrong.wait().unwrap_err().code(), "index_out_of_range");
    assert_eq!(right.wait().unwrap(), Some(record(1, 7)));
}

/// The error of starting a schedule in a database.
fn refusal(schedule: Schedule, offer: Offer, settings: Settings) -> Error {
    let mut peer = Peer::new(offer);
    let session = peer.open(settings).unwrap();
    let started = schedule.start(session.info(), session.lookup());
    assert_eq!(short(&peer.take()), ["GET ", "GET ", "GET /public"]);
    started.err().unwrap()
}

#[test]
fn a_scheme_that_is_not_private_is_refused_even_if_it_is_allowed() {
    let settings = Settings {
        allow_not_private: true,
        ..Settings::default()
    };
    let error = refusal(SCHEDULE, plain(2), settings);
    assert_eq!(error.code(), "not_private");
}

/// A database in a scheme that is not private.
fn plain(seed: u64) -> Offer {
    registry::by_name("plain")
        .unwrap()
        .allow_insecure(NotPrivate::acknowledged())
        .setup(&records(seed), Goal::Balanced, &mut rng(seed), &NoProgress)
        .unwrap()
        .into()
}

#[test]
fn intervals_and_batches_out_of_bounds_are_refused() {
    let wrong = [
        Schedule {
            every: Duration::from_micros(999),
            ..SCHEDULE
        },
        Schedule {
            batch: 0,
            ..SCHEDULE
        },
        // More than fit into one request.
        Schedule {
            batch: MAX_BATCH + 1,
            ..SCHEDULE
        },
    ];
    for schedule in wrong {
        let error = refusal(schedule, indexed(), Settings::default());
        assert_eq!(error.code(), "schedule", "{error}");
    }
}

/// A schedule of lookups in a database, whose transport does nothing.
fn started(offer: Offer) -> (Scheduled, ScheduleRunner) {
    let mut peer = Peer::new(offer);
    let session = peer.open(Settings::default()).unwrap();
    SCHEDULE.start(session.info(), session.lookup()).unwrap()
}

#[test]
fn lookups_of_the_wrong_kind_are_refused_before_their_slot() {
    let (by_index, _runner) = started(indexed());
    let error = by_index.submit_key(b"key 7").err().unwrap();
    assert!(matches!(
        error,
        Error::Lookup(papir_lookup::Error::NotKeyed)
    ));

    let (by_key, _runner) = started(keyed());
    let error = by_key.submit_index(7).err().unwrap();
    assert!(matches!(error, Error::Lookup(papir_lookup::Error::Keyed)));
    assert_eq!([by_index.waiting(), by_key.waiting()], [0, 0]);
}

#[test]
fn keys_whose_hash_would_delay_a_request_are_refused() {
    let (scheduled, _runner) = started(keyed());
    drop(scheduled.submit_key(&[b'k'; MAX_KEY_BYTES]).unwrap());
    let error = scheduled.submit_key(&[b'k'; MAX_KEY_BYTES + 1]);
    assert_eq!(error.err().unwrap().code(), "out_of_bounds");
    assert_eq!(scheduled.waiting(), 1);
}

#[test]
fn as_many_lookups_wait_as_may_wait() {
    let (scheduled, runner) = started(indexed());
    submit_indices(&scheduled, (0..MAX_WAITING).map(|_| 7));
    let error = scheduled.submit_index(7).err().unwrap();
    assert_eq!((error.code(), error.is_retryable()), ("queue_full", true));

    drop(runner.draw(RECORDS, &mut rng(1)));
    submit_indices(&scheduled, [7, 7]);
    assert_eq!(scheduled.waiting(), MAX_WAITING);
}

#[test]
fn a_transport_that_ends_closes_the_schedule() {
    let (scheduled, runner) = started(indexed());
    let awaited = scheduled.submit_index(7).unwrap();
    drop(runner);
    assert_eq!(awaited.wait().unwrap_err().code(), "schedule_closed");
    let refused = scheduled.submit_index(7).err().unwrap();
    assert_eq!(refused.code(), "schedule_closed");
}

mod over_http {
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use papir_client::{Connection, Options};

    use super::*;
    use crate::traces::socket::{Seen, serve};

    const QUICK: Schedule = Schedule {
        every: Duration::from_millis(5),
        batch: 2,
    };
    /// Number of requests before the first slot.
    const OPENING: usize = 3;
    /// Number of slots that are compared.
    const COMPARED: usize = 6;
    /// Indices that users submit at once.
    const USERS: [&[u64]; 3] = [&[], &[3, 7, 20, 49, 11], &[7, 7, 7]];

    /// The service's view of a schedule, and the values that its user gets.
    #[derive(Debug)]
    struct Outcome {
        seen: Vec<Seen>,
        values: Vec<Option<Vec<u8>>>,
    }

    /// The requests that the service has seen so far.
    struct Requests<'a>(&'a Mutex<Vec<Seen>>);

    impl Requests<'_> {
        /// Without connections: the HTTP library decides when to open one.
        fn get(&self) -> Vec<Seen> {
            let mut seen = self.0.lock().unwrap().clone();
            seen.retain(|seen| *seen != Seen::Connected);
            seen
        }

        fn are_enough(&self) -> bool {
            self.get().len() >= OPENING + COMPARED
        }
    }

    /// Stops the service when it is dropped, also if the client panics: the test would wait for it.
    struct StopsService<'a> {
        stopped: &'a AtomicBool,
        address: SocketAddr,
    }

    impl Drop for StopsService<'_> {
        fn drop(&mut self) {
            self.stopped.store(true, Ordering::SeqCst);
            drop(TcpStream::connect(self.address));
        }
    }

    /// Runs a schedule against a service. `client` gets the service's address and the requests, and
    /// returns the values of its lookups once there were enough.
    fn observe(
        client: impl FnOnce(&str, &Options, &Requests<'_>) -> Vec<Option<Vec<u8>>>,
    ) -> Outcome {
        observe_service(Peer::new(indexed()), client)
    }

    /// [`observe`] with this service.
    fn observe_service(
        service: Peer,
        client: impl FnOnce(&str, &Options, &Requests<'_>) -> Vec<Option<Vec<u8>>>,
    ) -> Outcome {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = tempfile::tempdir().unwrap();
        let options = Options {
            state: Some(state.path().to_owned()),
            ..Options::default()
        };
        let peer = Mutex::new(service);
        let seen = Mutex::new(Vec::new());
        let stopped = AtomicBool::new(false);

        let values = thread::scope(|scope| {
            scope.spawn(|| {
                serve(&listener, &stopped, &seen, &|call| {
                    peer.lock().unwrap().receive(call)
                });
            });
            let _stop = StopsService {
                stopped: &stopped,
                address,
            };
            client(&format!("http://{address}"), &options, &Requests(&seen))
        });

        let mut seen = Requests(&seen).get();
        seen.truncate(OPENING + COMPARED);
        Outcome { seen, values }
    }

    /// Checks that the service sees the same of all users, and that each gets its values.
    fn compare(outcomes: Vec<Outcome>) {
        let idle = outcomes[0].seen.clone();
        let queries = idle
            .iter()
            .filter(|seen| matches!(seen, Seen::Request { line, .. } if line.contains("/query")));
        assert_eq!(queries.count(), COMPARED, "{idle:?}");

        for (outcome, indices) in outcomes.into_iter().zip(USERS) {
            assert_eq!(outcome.seen, idle, "{indices:?}");
            let expected: Vec<_> = indices
                .iter()
                .map(|&index| Some(record(1, index)))
                .collect();
            assert_eq!(outcome.values, expected);
        }
    }

    #[test]
    fn a_thread_sends_the_same_for_all_lookups() {
        let outcomes = USERS.map(|indices| {
            observe(|url, options, requests| {
                let connection = Connection::open_with(url, options).unwrap();
                let scheduled = connection.schedule(QUICK).unwrap();
                let mut awaited = Vec::new();
                for &index in indices {
                    awaited.push(scheduled.submit_index(index).unwrap());
                }

                while !requests.are_enough() {
                    thread::sleep(Duration::from_millis(1));
                }
                awaited.into_iter().map(|one| one.wait().unwrap()).collect()
            })
        });
        compare(outcomes.into());
    }

    #[cfg(feature = "aio")]
    #[test]
    fn a_task_sends_the_same_for_all_lookups() {
        use papir_client::aio;
        use tokio::runtime::Runtime;

        let outcomes = USERS.map(|indices| {
            observe(|url, options, requests| {
                Runtime::new().unwrap().block_on(async {
                    let connection = aio::Connection::open_with(url, options).await.unwrap();
                    let scheduled = connection.schedule(QUICK).unwrap();
                    let mut awaited = Vec::new();
                    for &index in indices {
                        awaited.push(scheduled.submit_index(index).unwrap());
                    }

                    while !requests.are_enough() {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                    let mut values = Vec::new();
                    for one in awaited {
                        values.push(one.await.unwrap());
                    }
                    values
                })
            })
        });
        compare(outcomes.into());
    }

    /// A service that changes to a scheme which is not private at the first query.
    fn changing() -> Peer {
        let mut peer = Peer::new(indexed());
        peer.script.push_back(Reply {
            next: Some(plain(2)),
            ..Reply::refusal(409, "wrong_version")
        });
        peer
    }

    /// Checks that the only queries in what the service has seen are for the first version.
    fn assert_no_later_query(outcome: &Outcome) {
        let version = simple(1).version().to_string();
        let mut queries = 0;
        for seen in &outcome.seen {
            if let Seen::Request { line, headers, .. } = seen
                && line.contains("/query")
            {
                queries += 1;
                assert!(headers.contains(&("papir-version".to_owned(), version.clone())));
            }
        }
        assert!(queries > 0);
    }

    #[test]
    fn a_thread_follows_no_change_to_a_scheme_that_is_not_private() {
        let outcome = observe_service(changing(), |url, options, _| {
            let options = Options {
                allow_not_private: true,
                ..options.clone()
            };
            let connection = Connection::open_with(url, &options).unwrap();
            let scheduled = connection.schedule(QUICK).unwrap();
            let error = scheduled.submit_index(7).unwrap().wait().unwrap_err();
            assert_eq!(error.code(), "not_private");
            Vec::new()
        });
        assert_no_later_query(&outcome);
    }

    #[cfg(feature = "aio")]
    #[test]
    fn a_task_follows_no_change_to_a_scheme_that_is_not_private() {
        use papir_client::aio;
        use tokio::runtime::Runtime;

        let outcome = observe_service(changing(), |url, options, _| {
            let options = Options {
                allow_not_private: true,
                ..options.clone()
            };
            Runtime::new().unwrap().block_on(async {
                let connection = aio::Connection::open_with(url, &options).await.unwrap();
                let scheduled = connection.schedule(QUICK).unwrap();
                let error = scheduled.submit_index(7).unwrap().await.unwrap_err();
                assert_eq!(error.code(), "not_private");
            });
            Vec::new()
        });
        assert_no_later_query(&outcome);
    }
}
