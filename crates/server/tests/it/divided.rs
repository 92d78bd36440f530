//! Databases on several machines behind the unchanged interface.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use papir_client::Connection;
use papir_core::erased::{Combined, ErasedShard, Shards, parameters_of};
use papir_core::sections::MemorySections;
use papir_core::{Error, NoProgress, Result};
use papir_schemes::registry;
use papir_server::{Database, ServerConfig, UnboundServer};
use papir_store::{Snapshot, division_of, open_shard};
use ureq::http::Request;

use crate::deltas::{merge_delta, publish};
use crate::support::files::build_with;
use crate::support::{Reply, Running, config, key, lookup_of, prepared_keys, stateless, value};

/// Shards in this process, of which the first fails the next `failures` times.
struct Local {
    shards: Vec<ErasedShard>,
    failures: Arc<AtomicUsize>,
}

impl Shards for Local {
    fn ask(&self, queries: &[&[u8]]) -> Result<Vec<Vec<Vec<u8>>>> {
        let less = |failures: usize| failures.checked_sub(1);
        if self
            .failures
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
            .is_ok()
        {
            return Err(Error::Unavailable {
                reason: "shard 0 is being replaced".to_owned(),
            });
        }
        let shards = self.shards.iter();
        shards
            .map(|shard| {
                shard
                    .partial_many(queries, &NoProgress)
                    .into_iter()
                    .collect()
            })
            .collect()
    }
}

/// Keys under `words`, on 3 machines, or one for each slice if there are fewer.
fn divided(scheme: &str, salt: &str, failures: &Arc<AtomicUsize>) -> Database {
    let (server, layout) = prepared_keys(scheme, 1000, salt);
    let mut sections = MemorySections::default();
    server.save(&mut sections).unwrap();
    let scheme = registry::by_name(scheme)
        .unwrap()
        .require_divided()
        .unwrap();
    let parameters = parameters_of(&sections).unwrap();
    let division = scheme.describe(&parameters).unwrap().division;
    let ranges = division.split(division.slices().min(3)).unwrap();
    let shards = ranges
        .into_iter()
        .map(|range| scheme.load_shard(range, &sections).unwrap())
        .collect();
    let shards = Box::new(Local {
        shards,
        failures: Arc::clone(failures),
    });
    let combiner = scheme.load_combiner(&sections).unwrap();
    Database::new(
        "words",
        Box::new(Combined::new(combiner, shards)),
        Some(layout),
    )
}

#[test]
fn clients_look_up_keys_and_wait_for_a_shard_that_is_away() {
    let failures = Arc::default();
    for scheme in ["simple", "inspire"] {
        let server = Running::start(config(), vec![divided(scheme, "old", &failures)]);
        let mut connection = Connection::open_with(&server.url(), &stateless()).unwrap();
        assert_eq!(connection.get_key(&key(3)).unwrap(), Some(value(3, "old")));
        assert_eq!(connection.get_key(b"absent").unwrap(), None);
        failures.store(1, Ordering::SeqCst);
        assert_eq!(connection.get_key(&key(4)).unwrap(), Some(value(4, "old")));
        assert_eq!(failures.load(Ordering::SeqCst), 0, "the shard was away");
        server
            .handle
            .replace(divided(scheme, "new", &failures))
            .unwrap();
        assert_eq!(connection.get_key(&key(3)).unwrap(), Some(value(3, "new")));
    }
}

/// The slices of a snapshot, each on a machine of its own.
fn of_file(file: &Path) -> Database {
    let (_, division) = division_of(file).unwrap();
    let ranges = division
        .split(division.slices().min(3))
        .unwrap()
        .into_iter();
    let shards = ranges
        .map(|range| open_shard(file, range).unwrap())
        .collect();
    let shards = Box::new(Local {
        shards,
        failures: Arc::default(),
    });
    Database::from_snapshot("words", Snapshot::open_divided(file, shards).unwrap()).unwrap()
}

#[test]
fn a_delta_is_answered_beside_the_slices() {
    let directory = tempfile::tempdir().unwrap();
    let file = build_with("simple", directory.path(), "words.papir", 50, "a");
    let server = Running::start(config(), vec![of_file(&file)]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let load = || {
        runtime
            .block_on(server.handle.load_delta("words", &file))
            .unwrap()
    };
    assert!(load().is_empty(), "there is no delta");
    publish(&file, "b", &[7, 60], &[8]);
    let loaded = load();
    assert!(loaded.len() == 1 && loaded[0].outcome.is_ok(), "{loaded:?}");
    assert!(load().is_empty(), "it is loaded already");
    let mut connection = Connection::open_with(&server.url(), &stateless()).unwrap();
    let keys = [7, 8, 9, 60, 61].map(key);
    let expected = [
        Some(value(7, "b")),
        None,
        Some(value(9, "a")),
        Some(value(60, "b")),
        None,
    ];
    assert_eq!(connection.get_keys(&keys).unwrap(), expected);
    publish(&file, "c", &[9], &[]);
    assert_eq!(load().len(), 1);
    assert_eq!(connection.get_key(&key(9)).unwrap(), Some(value(9, "c")));
    server.handle.replace(of_file(&file)).unwrap();
    assert_eq!(
        load().len(),
        1,
        "the same snapshot, served anew without its delta"
    );
    assert_eq!(connection.get_key(&key(9)).unwrap(), Some(value(9, "c")));
    // The machines have the slices of the snapshot from before the merge, so its delta stays.
    merge_delta(&file, None);
    assert!(load().is_empty());
    assert_eq!(connection.get_keys(&keys[..2]).unwrap(), expected[..2]);
    server.handle.replace(of_file(&file)).unwrap();
    assert_eq!(connection.get_key(&key(9)).unwrap(), Some(value(9, "c")));
    assert!(load().is_empty(), "the merged snapshot has no delta");
}

/// The response to a request of a client on this machine.
async fn send(server: &UnboundServer, method: &str, path: &str, body: &[u8]) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(body.to_vec().into())
        .unwrap();
    let (parts, body) = server.respond(request, None).await.into_parts();
    Reply {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: body.to_vec(),
    }
}

#[tokio::test]
async fn a_service_without_a_listener_responds_as_one_with_it() {
    let failures = Arc::default();
    let server = UnboundServer::new(&config(), vec![divided("simple", "old", &failures)]).unwrap();
    assert_eq!(send(&server, "GET", "/readyz", b"").await.status, 200);
    assert_eq!(
        send(&server, "GET", "/v1/databases/other", b"")
            .await
            .code(),
        "unknown_database"
    );
    let public = send(&server, "GET", "/v1/databases/words/public", b"")
        .await
        .body;
    let pending = lookup_of(&public)
        .prepare_key(&key(7), &mut papir_client::system_rng())
        .unwrap();
    let path = "/v1/databases/words/query";
    let body = pending.queries().concat();
    failures.store(1, Ordering::SeqCst);
    let away = send(&server, "POST", path, &body).await;
    assert_eq!((away.status, away.code().as_str()), (503, "unavailable"));
    assert_eq!(away.header("retry-after"), Some("1"));
    // The same bytes again.
    let answered = send(&server, "POST", path, &body).await;
    assert_eq!(answered.status, 200);
    let length = answered.body.len() / pending.queries().len();
    let answers: Vec<Vec<u8>> = answered.body.chunks(length).map(<[u8]>::to_vec).collect();
    assert_eq!(pending.finish(&answers).unwrap(), Some(value(7, "old")));
    assert_eq!(
        send(&server, "POST", path, &body[1..]).await.code(),
        "wrong_length"
    );
    server
        .reload_handle()
        .replace(divided("simple", "new", &failures))
        .unwrap();
    assert_eq!(
        send(&server, "POST", path, &body).await.code(),
        "wrong_version"
    );
    assert!(
        UnboundServer::new(&ServerConfig::default(), Vec::new()).is_err(),
        "no databases"
    );
}
