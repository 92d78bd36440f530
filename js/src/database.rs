//! The exported functions of a database: open, look up, close.

use std::cell::RefCell;
use std::rc::Rc;

use papir_client::Result;
use papir_client::core::{OwnedWanted, Session};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::event::{Body, Event, Head};
use crate::host::report_panics;
use crate::memory::take;
use crate::options::Options;
use crate::task::{Finish, event};

/// An opened database, which its lookups share.
type Database = RefCell<Session>;

/// The outcome of lookups.
type Looked = (Session, Result<Vec<Option<Vec<u8>>>>);

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
    let parsed = Options::parse(&options).and_then(|options| options.service_and_settings());

    let first = match parsed {
        Err(error) => Event::failed(&error),
        Ok((service, settings)) => {
            let finish: Finish<Result<Session>> = Box::new(opened);
            event(Session::open(service, settings).start(), finish)
        }
    };
    Box::into_raw(first)
}

/// The last event of `papir_open`.
fn opened(session: Result<Session>) -> Box<Event> {
    match session {
        Err(error) => Event::failed(&error),
        Ok(session) => {
            let head = json!({ "kind": "opened", "database": describe(&session) });
            let database: Rc<Database> = Rc::new(RefCell::new(session));
            Event::new(
                Head::from(&head),
                Body::None,
                Rc::into_raw(database).cast_mut().cast(),
            )
        }
    }
}

/// Looks up keys and indices: for each a byte (0 for a key, 1 for an index), its length in four
/// bytes, little-endian, and the key or the index in eight bytes. The last event is `values`: for
/// each a byte (1 if present), the length in four bytes, and the value.
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

    let session = database.borrow().clone();
    let task = session.get_owned(decode(&wanted));

    let finish: Finish<Looked> = Box::new(move |(session, values)| {
        let head = json!({ "kind": "values", "database": describe(&session) });
        database.replace(session);
        match values {
            Ok(values) => Event::new(
                Head::from(&head),
                Body::Own(encode(values)),
                std::ptr::null_mut(),
            ),
            Err(error) => Event::failed(&error),
        }
    });

    Box::into_raw(event(task.start(), finish))
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
        wanted.push(match (kind, <[u8; 8]>::try_from(item)) {
            (1, Ok(index)) => OwnedWanted::Index(Zeroizing::new(u64::from_le_bytes(index))),
            _ => OwnedWanted::Key(Zeroizing::new(item.to_vec())),
        });
    }
    wanted
}

fn encode(values: Vec<Option<Vec<u8>>>) -> Zeroizing<Vec<u8>> {
    let total = values
        .iter()
        .map(|value| 5 + value.as_ref().map_or(0, Vec::len))
        .sum();

    let mut bytes = Zeroizing::new(Vec::with_capacity(total));
    for value in values.into_iter().map(|value| value.map(Zeroizing::new)) {
        let value = value.as_ref().map(|value| value.as_slice());
        bytes.push(u8::from(value.is_some()));

        let value = value.unwrap_or_default();
        bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        bytes.extend_from_slice(value);
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
