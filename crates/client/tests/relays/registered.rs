//! Sealed requests of registered clients do not depend on the key.

use std::path::Path;
use std::sync::{Arc, Mutex};

use papir_client::{Connection, Options, Relay};
use papir_core::{Goal, NoProgress, NotPrivate};
use papir_ohttp::SealForm;

use crate::peer::{Offer, Peer, rng};
use crate::relay::{FakeRelay, Received};
use crate::{Unvisited, answer, gateway, has_token, keys, options, schemes, world};

/// Number of keys in the table.
const KEYS: u64 = 40;
/// Lookups of each client: the first one registers it, and each has a ticket of its own.
const LOOKUPS: usize = 3;
/// Present and absent keys, with their values.
const WANTED: [(&str, Option<u8>); 3] = [
    ("key 3", Some(3)),
    ("key 38", Some(38)),
    ("no such key", None),
];

/// Opens a connection, and looks a key up, [`LOOKUPS`] times.
type Client = fn(&str, &Options, &str) -> Vec<Option<Vec<u8>>>;

const CLIENTS: &[(&str, Client)] = &[
    ("blocking", blocking),
    #[cfg(feature = "aio")]
    ("aio", asynchronous),
];

fn blocking(url: &str, options: &Options, key: &str) -> Vec<Option<Vec<u8>>> {
    let mut connection = Connection::open_with(url, options).unwrap();
    let mut values = Vec::new();
    for _ in 0..LOOKUPS {
        values.push(connection.get_key(key.as_bytes()).unwrap());
    }
    values
}

#[cfg(feature = "aio")]
fn asynchronous(url: &str, options: &Options, key: &str) -> Vec<Option<Vec<u8>>> {
    crate::clients::runtime().block_on(async {
        let opening = papir_client::aio::Connection::open_with(url, options);
        let mut connection = opening.await.unwrap();
        let mut values = Vec::new();
        for _ in 0..LOOKUPS {
            values.push(connection.get_key(key.as_bytes()).await.unwrap());
        }
        values
    })
}

/// An exchange as the relay sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Exchange {
    /// The method and the path.
    target: String,
    /// The headers of the request.
    headers: String,
    /// Length of the request's body in bytes.
    sent: usize,
    /// Length of the response's body in bytes.
    received: usize,
}

/// The exchanges that a relay forwarded, and the paths that its gateway opened.
#[derive(Debug, Default)]
struct Seen {
    exchanges: Vec<Exchange>,
    /// The paths of opened requests.
    paths: Vec<String>,
}

impl Seen {
    /// The number of opened requests whose path has this end.
    fn count(&self, end: &str) -> usize {
        let with_end = self.paths.iter().filter(|path| path.ends_with(end));
        with_end.count()
    }
}

/// A keyed table under `zip` with short keys.
fn table() -> Offer {
    let (records, layout) = world::table(KEYS);
    let scheme = schemes::scheme("zip").allow_insecure(NotPrivate::acknowledged());
    let server = scheme.setup(&records, Goal::Balanced, &mut rng(1), &NoProgress);
    Offer::new(server.unwrap(), layout)
}

/// A relay and a gateway before the table, and what passes them.
struct WatchedRelay {
    relay: FakeRelay,
    seen: Arc<Mutex<Seen>>,
}

impl WatchedRelay {
    fn start() -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let record = Arc::clone(&seen);
        let relay = FakeRelay::start(move || {
            let gateway = gateway(1);
            let mut service = Peer::new(table());
            move |received: &Received| {
                let mut path = None;
                let reply = if received.target.starts_with("GET ") {
                    keys(&gateway)
                } else {
                    let opened = gateway.open(&received.body, SealForm::Chunked).unwrap();
                    assert!(has_token(&opened.request));
                    path = Some(opened.request.path.clone());
                    answer(&mut service, opened)
                };

                let mut seen = record.lock().unwrap();
                seen.paths.extend(path);
                seen.exchanges.push(Exchange {
                    target: received.target.clone(),
                    headers: received.headers.clone(),
                    sent: received.body.len(),
                    received: reply.body.len(),
                });
                reply
            }
        });
        Self { relay, seen }
    }

    /// Options of a client that the service does not know, with its state in this folder.
    fn options(&self, state: &Path) -> Options {
        Options {
            schemes: schemes::short(),
            state: Some(state.to_owned()),
            ..options(Relay::new(&self.relay.url))
        }
    }

    /// Returns the exchanges and paths since the last call.
    fn take(&self) -> Seen {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

#[test]
fn a_registered_client_sends_and_receives_the_same_lengths_for_all_keys() {
    let relay = WatchedRelay::start();
    let service = Unvisited::new();
    for (name, look_up) in CLIENTS {
        let mut first = None;
        for (key, value) in WANTED {
            let state = tempfile::tempdir().unwrap();
            let values = look_up(&service.url, &relay.options(state.path()), key);
            let expected = value.map(|byte| vec![byte]);
            assert_eq!(values, vec![expected; LOOKUPS], "{name}: {key}");

            let seen = relay.take();
            assert_eq!(seen.count("/clients"), 1, "{name}: {seen:?}");
            assert_eq!(seen.count("/query"), LOOKUPS, "{name}: {seen:?}");
            let first = first.get_or_insert_with(|| seen.exchanges.clone());
            assert_eq!(seen.exchanges, *first, "{name}: {key}");
        }
    }
    service.assert_unvisited();
}
