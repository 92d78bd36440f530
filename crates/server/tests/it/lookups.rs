//! Lookups of keys and indices over the network.

use std::time::Duration;

use crate::support::transports::{AnyConnection, over_both_transports};
use crate::support::{
    Running, config, indexed, key, keyed, own_address, prepared, record, rng, stateless, value,
};
use papir_client::{Error, Options};
use papir_core::{Error as CoreError, NoProgress};
use papir_lookup::{BucketTarget, Entry, TableOptions};
use papir_server::{Database, ServerConfig};

over_both_transports! {
    present_and_absent_keys_are_looked_up,
    records_are_looked_up_by_index,
    many_keys_are_sent_in_batches_and_return_in_order,
    a_database_must_be_named_unless_it_is_the_only_one,
    an_unreachable_server_is_named,
    concurrent_clients_receive_their_own_answers,
    values_that_need_several_queries_return_complete,
}

const SCHEMES: [&str; 2] = ["plain", "simple"];

fn present_and_absent_keys_are_looked_up<C: AnyConnection>() {
    for scheme in SCHEMES {
        let server = Running::start(config(), vec![keyed("words", scheme, "a")]);
        let mut connection = C::open_even_if_not_private(&server.url(), None).unwrap();
        for i in [0, 1, 500, 999] {
            assert_eq!(
                connection.get_key(&key(i)).unwrap(),
                Some(value(i, "a")),
                "{scheme} {i}"
            );
        }
        for absent in [&b"key-1000"[..], b"", b"\0", &[0xff; 300]] {
            assert_eq!(
                connection.get_key(absent).unwrap(),
                None,
                "{scheme} {absent:?}"
            );
        }
        let index = connection.get_index(0);
        assert!(
            matches!(index, Err(Error::Lookup(papir_lookup::Error::Keyed))),
            "{index:?}"
        );
    }
}

fn records_are_looked_up_by_index<C: AnyConnection>() {
    for scheme in SCHEMES {
        let server = Running::start(config(), vec![indexed("table", scheme, 300)]);
        let mut connection = C::open_even_if_not_private(&server.url(), Some("table")).unwrap();
        for i in [0, 1, 255, 299] {
            assert_eq!(connection.get_index(i).unwrap(), record(i), "{scheme} {i}");
        }
        assert_eq!(connection.get_indices(&[]).unwrap(), Vec::<Vec<u8>>::new());
        let sent = connection.costs().requests;
        let beyond = connection.get_index(300);
        let expected = CoreError::IndexOutOfRange {
            found: 300,
            records: 300,
        };
        assert!(
            matches!(&beyond, Err(Error::Core(e)) if e.to_string() == expected.to_string()),
            "{beyond:?}"
        );
        assert_eq!(
            connection.costs().requests,
            sent + 1,
            "record 0 is queried instead"
        );
        let keyless = connection.get_key(b"key");
        assert!(
            matches!(keyless, Err(Error::Lookup(papir_lookup::Error::NotKeyed))),
            "{keyless:?}"
        );
    }
}

fn many_keys_are_sent_in_batches_and_return_in_order<C: AnyConnection>() {
    let server = Running::start(config(), vec![keyed("words", "plain", "a")]);
    let mut connection = C::open_even_if_not_private(&server.url(), None).unwrap();
    // A query holds several keys, and a request several queries.
    let batch = connection.lookup().lookups_in(connection.info().max_batch) as u64;
    let count = 2 * batch + 3;
    let keys: Vec<_> = (0..count)
        .map(|i| key(if i % 7 == 3 { 5000 + i } else { i % 50 }))
        .collect();
    let values = connection.get_keys(&keys).unwrap();
    assert_eq!(values.len() as u64, count);
    for (i, found) in (0..).zip(values) {
        assert_eq!(found, (i % 7 != 3).then(|| value(i % 50, "a")), "{i}");
    }
    let costs = connection.costs();
    assert_eq!(costs.requests, 3);
    let queries = connection.lookup().queries_of(count as usize) as u64;
    assert_eq!(queries, 2 * connection.info().max_batch as u64 + 1);
    assert_eq!(costs.query_bytes, queries * connection.info().sizes.query);
    assert_eq!(costs.answer_bytes, queries * connection.info().sizes.answer);
    assert_eq!(costs.public_bytes, connection.info().sizes.bundle);
    for (phase, time) in [
        ("fetch", costs.fetch),
        ("query", costs.query),
        ("trip", costs.round_trip),
        ("open", costs.extract),
    ] {
        assert!(!time.is_zero(), "{phase}");
    }
}

fn a_database_must_be_named_unless_it_is_the_only_one<C: AnyConnection>() {
    let two = vec![keyed("words", "plain", "a"), indexed("table", "plain", 9)];
    let server = Running::start(config(), two);
    let message = |result: Result<C, Error>| result.map(drop).unwrap_err().to_string();
    let unnamed = message(C::open_even_if_not_private(&server.url(), None));
    assert!(
        unnamed.contains("`table`, `words`") && unnamed.contains(&server.url()),
        "{unnamed}"
    );
    let unknown = C::open_even_if_not_private(&server.url(), Some("other"));
    assert!(matches!(&unknown, Err(Error::NoSuchDatabase { name, .. }) if name == "other"));
    assert!(message(unknown).contains("`table`, `words`"));
    let mut by_address =
        C::open_even_if_not_private(&format!("{}/v1/databases/table", server.url()), None).unwrap();
    assert_eq!(by_address.get_index(8).unwrap(), record(8));
}

fn an_unreachable_server_is_named<C: AnyConnection>() {
    let config = ServerConfig {
        listen: own_address(),
        ..config()
    };
    let server = Running::start(config, vec![indexed("table", "plain", 9)]);
    let url = server.url();
    let patience = Some(Duration::from_secs(2));
    let options = Options {
        allow_not_private: true,
        patience,
        ..stateless()
    };
    let mut connection = C::open_with(&url, &options).unwrap();
    server.finish();
    for error in [
        connection.get_index(1).unwrap_err(),
        C::open_with(&url, &options).map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Transport { .. }), "{error}");
        assert!(error.to_string().contains(&url), "{error}");
    }
}

fn concurrent_clients_receive_their_own_answers<C: AnyConnection>() {
    let server = Running::start(config(), vec![keyed("words", "simple", "a")]);
    let connection = C::open_even_if_not_private(&server.url(), None).unwrap();
    std::thread::scope(|scope| {
        for client in 0..8 {
            let mut connection = connection.clone();
            scope.spawn(move || {
                for i in (client..200).step_by(8) {
                    assert_eq!(connection.get_key(&key(i)).unwrap(), Some(value(i, "a")));
                }
            });
        }
    });
}

fn values_that_need_several_queries_return_complete<C: AnyConnection>() {
    // Lengths from 0 to 398 bytes in buckets of 128: every lookup sends the same number of queries.
    let value = |i: u64| vec![i as u8; (2 * i) as usize];
    let entries = (0..200)
        .map(|i| Entry {
            key: key(i),
            value: value(i),
            line: i + 1,
        })
        .collect();
    let options = TableOptions {
        bucket: BucketTarget::AtMost(128),
        ..TableOptions::default()
    };
    let table = papir_lookup::build(entries, &options, &mut rng(), &NoProgress).unwrap();
    let lookups = table.layout.lookups() as u64;
    assert!(lookups > 1);
    let words = Database::new(
        "words",
        prepared("simple", &table.records),
        Some(table.layout),
    );
    let server = Running::start(config(), vec![words]);
    let mut connection = C::open_even_if_not_private(&server.url(), None).unwrap();
    let keys: Vec<_> = (0..201).map(key).collect();
    let values = connection.get_keys(&keys).unwrap();
    for (i, found) in (0..).zip(values) {
        assert_eq!(found, (i < 200).then(|| value(i)), "{i}");
    }
    let costs = connection.costs();
    let info = connection.info();
    assert_eq!(costs.query_bytes, 201 * lookups * info.sizes.query);
    let keys_per_request = info.max_batch as u64 / lookups;
    assert_eq!(costs.requests, 201u64.div_ceil(keys_per_request));
}
