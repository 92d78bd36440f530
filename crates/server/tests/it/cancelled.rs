//! Asynchronous lookups that are dropped at any point lose nothing.

use std::future::poll_fn;
use std::path::Path;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::support::clients::{SMALL, registry, start_with, stateful};
use crate::support::tap::Tap;
use crate::support::zip::{ZIP, zip};
use crate::support::{Running, config, indexed, record, stateless};
use papir_client::aio::Connection;
use papir_client::{Options, Schemes};
use papir_core::erased::Erased;
use papir_server::{Database, RegistryConfig};
use papir_testkit::stateful::Stateful;
use tempfile::TempDir;
use tokio::task::consume_budget;
use tokio::time::timeout;

static STATEFUL: Erased<Stateful> =
    Erased::allowing_insecure(papir_core::NotPrivate::acknowledged());

/// The number of results that tokio gives to one poll of a task.
const BUDGET: usize = 128;
/// Longest time of an operation. The lock of one that was dropped would block the next for ever.
const PATIENCE: Duration = Duration::from_secs(60);

fn options(state: &Path) -> Options {
    Options {
        allow_not_private: true,
        state: Some(state.to_owned()),
        schemes: Schemes::and(vec![&STATEFUL, &ZIP]),
        ..Options::default()
    }
}

/// Polls a future `polls` times and once more, then drops it. Returns its output if it is done by
/// then. A poll gets at most one result of a blocking thread or of a socket.
async fn polled<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = Box::pin(future);
    let mut count = 0;
    poll_fn(|context| {
        // Of the runtime's budget for one poll, one unit is left.
        for _ in 1..BUDGET {
            let _ = pin!(consume_budget()).poll(context);
        }
        let last = count == polls;
        count += 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            // The step that has begun runs while the future is dropped.
            Poll::Pending if last => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Looks up a record, and drops the lookup at its first, second, … step, until it gets to its end.
/// After each of them, `check` runs. Returns the number of lookups that were dropped.
async fn dropped_everywhere(url: &str, state: &Path) -> usize {
    let mut kept = Connection::open_with(url, &options(state)).await.unwrap();
    for steps in 0.. {
        let fresh = Connection::open_with(url, &options(state)).await.unwrap();
        for mut connection in [kept.clone(), fresh] {
            if let Some(found) = polled(connection.get_index(3), steps).await {
                assert_eq!(found.unwrap(), record(3));
                return steps;
            }
            // The connection can be used again, and the state is not locked.
            let again = timeout(PATIENCE, connection.get_index(4)).await;
            assert_eq!(
                again.expect("the state stayed locked").unwrap(),
                record(4),
                "{steps}"
            );
        }
        let other = timeout(PATIENCE, kept.get_index(5)).await;
        assert_eq!(
            other.expect("the state stayed locked").unwrap(),
            record(5),
            "{steps}"
        );
    }
    unreachable!()
}

async fn check(database: Database) {
    let folder = TempDir::new().unwrap();
    // Enough that no lookup waits for a ticket.
    let registry = RegistryConfig {
        tickets_ahead: 64,
        ..registry(&folder.path().join("registry"))
    };
    let server = start_with(registry, database);
    let tap = Tap::passing(server.address);
    let steps = dropped_everywhere(&tap.url(), &folder.path().join("state")).await;
    assert!(steps >= 8, "lock, read, write, send, receive: {steps}");
    // No ticket was used twice, and none of two registrations.
    let mut queries = tap.queries();
    let count = queries.len();
    queries.sort();
    queries.dedup();
    assert_eq!(queries.len(), count);
    assert!(
        queries.windows(2).all(|pair| pair[0].0 == pair[1].0),
        "one registration: {queries:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lookups_with_tickets_are_dropped_at_every_step() {
    check(stateful(SMALL, 1)).await;
}

/// On the runtime's only thread, the computations of a client must not stop other tasks.
#[tokio::test]
async fn lookups_run_on_a_runtime_with_one_thread() {
    check(zip(1)).await;
}

#[tokio::test]
async fn registrations_are_dropped_at_every_step() {
    let folder = TempDir::new().unwrap();
    let server = start_with(
        registry(&folder.path().join("registry")),
        stateful(SMALL, 1),
    );
    for steps in 0.. {
        let state = folder.path().join(format!("state-{steps}"));
        let mut connection = Connection::open_with(&server.url(), &options(&state))
            .await
            .unwrap();
        let done = polled(connection.register(), steps).await.is_some();
        let found = timeout(PATIENCE, connection.get_index(7)).await;
        assert_eq!(
            found.expect("the state stayed locked").unwrap(),
            record(7),
            "{steps}"
        );
        if done {
            assert!(steps >= 4, "{steps}");
            break;
        }
    }
}

#[tokio::test]
async fn a_dropped_lookup_leaves_the_connection_as_it_was() {
    let server = Running::start(config(), vec![indexed("table", "simple", 300)]);
    let options = Options {
        allow_not_private: true,
        ..stateless()
    };
    let mut connection = Connection::open_with(&server.url(), &options)
        .await
        .unwrap();
    let before = connection.costs();
    assert!(polled(connection.get_index(3), 1).await.is_none());
    assert_eq!(connection.costs(), before);
    assert_eq!(connection.get_index(3).await.unwrap(), record(3));
}

/// Connections and their futures move between threads.
#[test]
fn futures_are_send() {
    fn send<T: Send>(_: &T) {}
    fn all(mut connection: Connection, options: &Options) {
        send(&connection);
        send(&Connection::open_with("", options));
        send(&connection.get_keys(&[b"key"]));
        send(&connection.get_index(1));
        send(&connection.hold_ahead(1));
        send(&papir_client::aio::psi::intersect(
            "",
            &["element"],
            options,
        ));
        send(&papir_client::aio::psi::intersect_any(
            &["", ""],
            &["element"],
            options,
        ));
    }
    let _: fn(Connection, &Options) = all;
}
