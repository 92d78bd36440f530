//! The exported functions of a database: open, move, look up, close.

use std::cell::RefCell;
use std::rc::Rc;

use papir_client::Result;
use papir_client::core::{FoundValue, OwnedWanted, Session};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::event::{Body, Event, Head, description};
use crate::host::report_panics;
use crate::memory::take;
use crate::options::{Options, SessionOptions};
use crate::route::Route;
use crate::task::{Ending, event};

/// An opened database, which its lookups share.
struct Database {
    session: RefCell<Session>,
    /// The way of its requests.
    route: RefCell<Route>,
}

/// The bit of a lookup by index.
const INDEX: u8 = 1;
/// The bit of a lookup of a schedule.
const SCHEDULED: u8 = 2;

/// The kinds of outcomes of a lookup.
const ABSENT: u8 = 0;
const PRESENT: u8 = 1;
const FAILED: u8 = 2;

/// The outcome of lookups.
type Looked = (Session, Result<Vec<FoundValue>>);

/// Opens a database with the options in JSON. The last event is `opened`, with the database as its
/// handle.
///
/// # Safety
/// The options come from `papir_allocate` with this length.
#[unsafe(no_mangle)]
unsafe extern "C" fn papir_open(options: *mut u8, length: usize) -> *mut Event {
    report_panics();
    // SAFETY: as the caller promises.
    let options = unsafe { take(options, length) };
    let parsed = Options::parse(&options).and_then(|options| options.session());

    let first = match parsed {
        Err(error) => Event::refused(&error),
        Ok(options) => open(options),
    };
    Box::into_raw(first)
}

/// The first event of `papir_open`.
fn open(options: SessionOptions) -> Box<Event> {
    let SessionOptions {
        service,
        settings,
        route,
    } = options;

    let task = Session::open_known(service, settings);
    let kept = route.clone();
    let ending: Ending<Result<Session>> = Ending {
        route,
        finish: Box::new(move |session| opened(session, kept)),
    };
    event(task.start(), ending)
}

/// The last event of `papir_open`.
fn opened(session: Result<Session>, route: Route) -> Box<Event> {
    match session {
        Err(error) => Event::failed(&error),
        Ok(session) => {
            let head = json!({ "kind": "opened", "database": describe(&session) });
            let database = Rc::new(Database {
                session: RefCell::new(session),
                route: RefCell::new(route),
            });
            Event::new(
                Head::from(&head),
                Body::None,
                Rc::into_raw(database).cast_mut().cast(),
            )
        }
    }
}

/// Moves a database to another of its servers, with the options of a connection to that one. The
/// last event is `moved`. Lookups that begin before it use the server before.
///
/// # Safety
/// `database` was opened and not closed; the options come from `papir_allocate` with this length.
#[unsafe(no_mangle)]
unsafe extern "C" fn papir_move(
    database: *const Database,
    options: *mut u8,
    length: usize,
) -> *mut Event {
    // SAFETY: as the caller promises. The count is raised for the move, which drops it at its end.
    let (database, options) = unsafe {
        Rc::increment_strong_count(database);
        (Rc::from_raw(database), take(options, length))
    };
    let parsed = Options::parse(&options).and_then(|options| options.session());

    let first = match parsed {
        Err(error) => Event::refused(&error),
        Ok(options) => move_over(database, options),
    };
    Box::into_raw(first)
}

/// The first event of `papir_move`.
fn move_over(database: Rc<Database>, options: SessionOptions) -> Box<Event> {
    let SessionOptions { service, route, .. } = options;

    // Its own settings hold at all servers.
    let task = database.session.borrow().clone().moved(service);
    let kept = route.clone();
    let ending: Ending<Result<Session>> = Ending {
        route,
        finish: Box::new(move |session| moved(&database, session, kept)),
    };
    event(task.start(), ending)
}

/// The last event of `papir_move`.
fn moved(database: &Database, session: Result<Session>, route: Route) -> Box<Event> {
    match session {
        Err(error) => Event::failed(&error),
        Ok(session) => {
            let head = json!({ "kind": "moved", "database": describe(&session) });
            database.session.replace(session);
            database.route.replace(route);
            Event::new(Head::from(&head), Body::None, std::ptr::null_mut())
        }
    }
}

/// Looks up keys and indices: for each a byte (0 for a key, 1 for an index, and 2 more for a lookup
/// of a schedule), its length in four bytes, little-endian, and the key or the index in eight
/// bytes. All are of a schedule, or none. The last event is `values`: for
/// each a byte (0 for an absent key, 1 for a value, 2 for an error of this lookup alone), the
/// length in four bytes, and the value or the error's description in JSON.
///
/// # Safety
/// `database` was opened and not closed; the bytes come from `papir_allocate` with this length.
#[unsafe(no_mangle)]
unsafe extern "C" fn papir_get(
    database: *const Database,
    wanted: *mut u8,
    length: usize,
) -> *mut Event {
    // SAFETY: as the caller promises. The count is raised for the lookup, which drops it at its
    // end.
    let (database, wanted) = unsafe {
        Rc::increment_strong_count(database);
        (Rc::from_raw(database), take(wanted, length))
    };

    let session = database.session.borrow().clone();
    let route = database.route.borrow().clone();
    // Every lookup of a schedule is sent, also of a key that a filter excludes.
    let scheduled = wanted.first().is_some_and(|kind| kind & SCHEDULED != 0);
    let wanted = decode(&wanted);
    let task = if scheduled {
        session.get_scheduled_owned(wanted)
    } else {
        session.get_each_owned(wanted)
    };
    let ending: Ending<Looked> = Ending {
        route,
        finish: Box::new(move |looked| found(&database, looked)),
    };
    Box::into_raw(event(task.start(), ending))
}

/// The last event of `papir_get`.
fn found(database: &Database, looked: Looked) -> Box<Event> {
    let (session, found) = looked;
    let head = json!({ "kind": "values", "database": describe(&session) });
    database.session.replace(session);

    match found {
        Ok(found) => Event::new(
            Head::from(&head),
            Body::Own(encode(found)),
            std::ptr::null_mut(),
        ),
        Err(error) => Event::failed(&error),
    }
}

/// Closes a database. Lookups that are under way keep what they need of it.
///
/// # Safety
/// `database` was opened and not closed.
#[unsafe(no_mangle)]
unsafe extern "C" fn papir_close(database: *const Database) {
    // SAFETY: as the caller promises.
    drop(unsafe { Rc::from_raw(database) });
}

fn decode(mut bytes: &[u8]) -> Vec<OwnedWanted> {
    let mut wanted = Vec::new();
    while let Some((&[kind, a, b, c, d], rest)) = bytes.split_first_chunk::<5>() {
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let (item, rest) = rest.split_at(length.min(rest.len()));
        bytes = rest;
        wanted.push(match (kind & INDEX, <[u8; 8]>::try_from(item)) {
            (INDEX, Ok(index)) => OwnedWanted::Index(Zeroizing::new(u64::from_le_bytes(index))),
            _ => OwnedWanted::Key(Zeroizing::new(item.to_vec())),
        });
    }
    wanted
}

/// The encoding of a lookup's outcome.
struct EncodedOutcome {
    kind: u8,
    bytes: Zeroizing<Vec<u8>>,
}

impl EncodedOutcome {
    fn of(found: FoundValue) -> Self {
        match found {
            Ok(None) => Self::new(ABSENT, Vec::new()),
            Ok(Some(value)) => Self::new(PRESENT, value),
            Err(error) => Self::new(FAILED, description(&error).to_string().into_bytes()),
        }
    }

    fn new(kind: u8, bytes: Vec<u8>) -> Self {
        Self {
            kind,
            bytes: Zeroizing::new(bytes),
        }
    }
}

fn encode(found: Vec<FoundValue>) -> Zeroizing<Vec<u8>> {
    let outcomes: Vec<EncodedOutcome> = found.into_iter().map(EncodedOutcome::of).collect();
    let total = outcomes.iter().map(|outcome| 5 + outcome.bytes.len()).sum();

    // Allocated once: a vector that grows would leave copies of values in memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(total));
    for outcome in &outcomes {
        bytes.push(outcome.kind);
        bytes.extend_from_slice(&(outcome.bytes.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&outcome.bytes);
    }
    bytes
}

/// The database and the costs, for the page.
fn describe(session: &Session) -> Value {
    let info = session.info();
    let costs = session.costs();

    let checkpoint = session.checkpoint().map(|accepted| {
        json!({
            "owner": accepted.owner.to_string(),
            "sequence": accepted.seen.sequence,
            "cosignatures": accepted.cosignatures,
        })
    });

    json!({
        "info": {
            "name": info.name,
            "scheme": info.scheme,
            "version": info.version,
            "records": info.records,
            "recordBits": info.record_bits,
            "keyed": info.keyed,
            "maxBatch": info.max_batch,
            "private": info.private,
            "sizes": info.sizes,
            "securityBits": info.security_bits,
            "failureLog2": info.failure_log2,
            "parameters": info.parameters,
        },
        "version": session.lookup().version().to_string(),
        "checkpoint": checkpoint,
        "root": session.lookup().root().map(|root| root.to_string()),
        "costs": {
            "publicBytes": costs.public_bytes,
            "queryBytes": costs.query_bytes,
            "answerBytes": costs.answer_bytes,
            "requests": costs.requests,
            "fetchSeconds": costs.fetch.as_secs_f64(),
            "querySeconds": costs.query.as_secs_f64(),
            "roundTripSeconds": costs.round_trip.as_secs_f64(),
            "extractSeconds": costs.extract.as_secs_f64(),
        },
    })
}
