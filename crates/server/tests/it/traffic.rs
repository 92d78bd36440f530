//! Network traffic does not depend on keys, on their presence, or on whether answers decode.

use std::sync::{Arc, Mutex};

use crate::support::faulty::{Fault, FaultyDatabase};
use crate::support::proxy::{Proxy, Traffic};
use crate::support::{self, Running, config, indexed, key, prepared_keys, value};
use papir_client::Error;
use papir_core::Error as CoreError;
use papir_server::{Database, ServerConfig};

/// Plain answers carry a nonce, so that they can fail to decode.
fn faulty(fault: Fault) -> Running {
    let (inner, layout) = prepared_keys("plain", 400, "a");
    let server = FaultyDatabase {
        inner,
        scheme: 0,
        fault,
    };
    Running::start(
        config(),
        vec![Database::new("words", Box::new(server), Some(layout))],
    )
}

type Outcome = Result<Option<Vec<u8>>, Error>;

/// The traffic of two lookups and of a third one in several batches, and the caller's results.
fn observe(fault: Fault) -> (Traffic, Vec<Outcome>) {
    let server = faulty(fault);
    let proxy = Proxy::to(server.address);
    let mut connection = support::open(&proxy.url(), None).unwrap();
    let batch = connection.lookup().lookups_in(connection.info().max_batch) as u64;
    let many: Vec<_> = (0..2 * batch + 1).map(key).collect();
    let mut results = vec![connection.get_key(&key(1)), connection.get_key(&key(2))];
    results.push(
        connection
            .get_keys(&many)
            .map(|values| values[300 % values.len()].clone()),
    );
    let first = connection.costs().requests;
    assert_eq!(first, 5, "two lookups and three batches, none repeated");
    (proxy.take(), results)
}

#[test]
fn traffic_is_the_same_whether_answers_decode_or_not() {
    let (honest, values) = observe(Fault::Honest);
    assert_eq!(values[0].as_ref().unwrap(), &Some(value(1, "a")));
    let (foreign, failures) = observe(Fault::OtherPayload);
    for failure in &failures {
        assert!(
            matches!(failure, Err(Error::Core(CoreError::NotDecodable))),
            "{failure:?}"
        );
    }
    let (flipped, failures) = observe(Fault::FlippedBit);
    for failure in &failures {
        assert!(
            matches!(failure, Err(Error::Core(CoreError::Checksum { .. }))),
            "{failure:?}"
        );
    }
    // List, description, public part and five requests: one turn of each side for each.
    assert_eq!(honest.len(), 1, "one connection: {honest:?}");
    assert_eq!(honest[0].len(), 2 * 8, "{honest:?}");
    assert_eq!(honest, foreign);
    assert_eq!(honest, flipped);
}

#[test]
fn traffic_is_the_same_for_every_key_present_or_absent() {
    let server = faulty(Fault::Honest);
    let proxy = Proxy::to(server.address);
    let wanted = [&b"key-1"[..], b"key-399", b"absent", b"", &[b'x'; 5000]];
    proxy.assert_same_traffic(None, &wanted);
}

#[test]
fn the_observer_sees_what_the_server_received() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&log);
    let on_query: papir_server::QueryObserver = Arc::new(move |name: &str, bytes: &[u8]| {
        seen.lock().unwrap().push((name.to_owned(), bytes.to_vec()))
    });
    let config = ServerConfig {
        on_query: Some(on_query),
        ..config()
    };
    let server = Running::start(config, vec![indexed("table", "simple", 300)]);
    let mut connection = support::open(&server.url(), None).unwrap();
    for _ in 0..2 {
        connection.get_index(7).unwrap();
    }
    let log = log.lock().unwrap();
    assert_eq!(log.len(), 2);
    assert!(log.iter().all(|(name, bytes)| {
        name == "table" && bytes.len() as u64 == connection.info().sizes.query
    }));
    // The same index twice with fresh masks: after the header, bytes agree only by chance.
    let agree = log[0]
        .1
        .iter()
        .zip(&log[1].1)
        .skip(24)
        .filter(|(a, b)| a == b)
        .count();
    assert!(
        agree * 8 < log[0].1.len(),
        "{agree} of {} bytes agree",
        log[0].1.len()
    );
}
