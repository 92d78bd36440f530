//! A server that replaces a database between two requests learns nothing from the client.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::support::{self, Running, config, indexed, key, keyed, record, stateless, value};
use papir_client::Connection;
use papir_server::ServerConfig;

/// A configuration, and the number of queries that its server has received.
fn counting() -> (ServerConfig, Arc<AtomicUsize>) {
    let queries = Arc::new(AtomicUsize::new(0));
    let seen = queries.clone();
    let observe = move |_: &str, _: &[u8]| {
        seen.fetch_add(1, Ordering::SeqCst);
    };
    let config = ServerConfig {
        on_query: Some(Arc::new(observe)),
        ..config()
    };
    (config, queries)
}

/// A server that switches to a scheme without privacy receives no query.
#[test]
fn a_change_to_a_scheme_that_is_not_private_is_refused() {
    let (config, queries) = counting();
    let server = Running::start(config, vec![keyed("words", "simple", "old")]);
    let mut connection = Connection::open_with(&server.url(), &stateless()).unwrap();
    assert_eq!(connection.get_key(&key(3)).unwrap(), Some(value(3, "old")));
    let asked = queries.load(Ordering::SeqCst);
    server
        .handle
        .replace(keyed("words", "plain", "new"))
        .unwrap();
    let error = connection.get_key(&key(3)).unwrap_err();
    assert!(
        matches!(
            error,
            papir_client::Error::Core(papir_core::Error::NotPrivate { .. })
        ),
        "{error}"
    );
    assert_eq!(queries.load(Ordering::SeqCst), asked, "a query was sent");
    let refused = Connection::open_with(&server.url(), &stateless())
        .map(drop)
        .unwrap_err();
    assert!(
        matches!(
            refused,
            papir_client::Error::Core(papir_core::Error::NotPrivate { .. })
        ),
        "{refused}"
    );
}

/// A server that replaces the database by a shorter one sees the same traffic whether or not the
/// index still exists. Only the caller learns it.
#[test]
fn a_shorter_database_does_not_reveal_whether_the_index_is_beyond_its_end() {
    let traffic = |index: u64| {
        let sizes = Arc::new(Mutex::new(Vec::new()));
        let seen = sizes.clone();
        let observe = move |_: &str, bytes: &[u8]| seen.lock().unwrap().push(bytes.len());
        let config = ServerConfig {
            on_query: Some(Arc::new(observe)),
            ..config()
        };
        let server = Running::start(config, vec![indexed("words", "simple", 100)]);
        let mut connection = Connection::open_with(&server.url(), &stateless()).unwrap();
        server
            .handle
            .replace(indexed("words", "simple", 50))
            .unwrap();
        let found = connection.get_index(index);
        let sizes = sizes.lock().unwrap().clone();
        (found, sizes)
    };
    let kept = traffic(7);
    let gone = traffic(70);
    assert_eq!(kept.0.unwrap(), record(7));
    assert!(matches!(
        gone.0,
        Err(papir_client::Error::Core(
            papir_core::Error::IndexOutOfRange {
                found: 70,
                records: 50
            }
        )) | Err(papir_client::Error::Lookup(_))
    ));
    assert!(!kept.1.is_empty());
    assert_eq!(kept.1, gone.1);
}

/// If one of several indices is out of range, all requests are sent, with record 0 in its place.
#[test]
fn an_index_out_of_range_does_not_change_the_requests() {
    let (config, queries) = counting();
    let server = Running::start(config, vec![indexed("words", "plain", 100)]);
    let mut connection = support::open(&server.url(), None).unwrap();
    let beyond: Vec<u64> = (1..=100).collect();
    assert!(
        beyond.len() > connection.info().max_batch,
        "more than one request"
    );
    let error = connection.get_indices(&beyond).unwrap_err();
    let expected = papir_core::Error::IndexOutOfRange {
        found: 100,
        records: 100,
    };
    assert_eq!(
        error.to_string(),
        papir_client::Error::from(expected).to_string()
    );
    let sent = queries.load(Ordering::SeqCst);
    let within: Vec<u64> = (0..100).collect();
    assert_eq!(connection.get_indices(&within).unwrap().len(), 100);
    assert_eq!(queries.load(Ordering::SeqCst), 2 * sent);
}
