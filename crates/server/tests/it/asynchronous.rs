//! Operations of the asynchronous client besides lookups, and its words for failures.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::clients::{registered, registry, start};
use crate::support::files::{build_signed, serving};
use crate::support::process::runs_alone;
use crate::support::secured::{Authority, pair};
use crate::support::transports::{AnyConnection, AsyncConnection};
use crate::support::{Running, config, indexed, own_address, record, stateless};
use papir_client::aio::{self, Connection, Registrations, in_place};
use papir_client::{Error, FinalFailure, Options, Schemes};
use papir_core::erased::Erased;
use papir_server::{Listen, Protection, ServerConfig};
use papir_testkit::stateful::Stateful;
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

static STATEFUL: Erased<Stateful> =
    Erased::allowing_insecure(papir_core::NotPrivate::acknowledged());

#[tokio::test]
async fn operators_list_show_and_evict_clients() {
    let folder = TempDir::new().unwrap();
    let server = start(registry(folder.path()));
    let id = registered(&server).id;
    let clients = Registrations::open(&server.url(), &stateless())
        .await
        .unwrap();
    let listed = clients.list().await.unwrap();
    assert_eq!((listed.len(), &listed[0].id), (1, &id));
    assert_eq!(clients.show(&id).await.unwrap().unwrap().id, id);
    assert!(clients.evict(&id).await.unwrap());
    assert!(clients.show(&id).await.unwrap().is_none() && !clients.evict(&id).await.unwrap());
    assert!(matches!(
        clients.show("no id").await,
        Err(Error::BadUrl { .. })
    ));
}

#[tokio::test]
async fn a_service_is_described() {
    let folder = TempDir::new().unwrap();
    let path = build_signed(folder.path(), "words.papir", "a", 1_800_000_000);
    let server = Running::start_files(serving(&[&path])).unwrap();
    let url = server.url();
    let options = stateless();
    aio::ready(&url, &options).await.unwrap();
    let detail = aio::detail(&url, &options).await.unwrap();
    assert_eq!(detail.info.name, "words");
    let shown = aio::fetch_log(&url, &options).await.unwrap();
    assert_eq!(
        (
            shown.log.newest().unwrap().database.as_str(),
            detail.info.keyed
        ),
        ("words", true)
    );
    for failed in [
        aio::psi::describe(&url, &options).await.map(drop),
        aio::psi::intersect(&url, &["element"], &options)
            .await
            .map(drop),
    ] {
        assert!(
            matches!(failed, Err(Error::Http { status: 404, .. })),
            "{failed:?}"
        );
    }
}

/// A configuration with TLS, and the certificate of its authority.
fn with_tls(folder: &Path) -> (ServerConfig, PathBuf) {
    let authority = Authority::new(folder, "own");
    authority.issue(&pair(folder));
    let protection = Protection {
        tls: Some(pair(folder)),
        ..Protection::default()
    };
    let config = ServerConfig {
        protection,
        ..config()
    };
    (config, authority.root())
}

/// The same words over both transports, and the same decision on a retry. Runs in its own process, where no
/// proxy of the environment resolves the name.
#[test]
fn failures_have_the_same_words_over_both_transports() {
    if !runs_alone("asynchronous::failures_have_the_same_words_over_both_transports") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let (config_of_tls, root) = with_tls(folder.path());
    let secured = Running::start(config_of_tls, vec![indexed("table", "plain", 9)]);
    let plain = Running::start(config(), vec![indexed("table", "plain", 9)]);
    let secured = secured.address;
    let plain = plain.address;
    let options = Options {
        allow_not_private: true,
        ca: Some(root),
        patience: Some(Duration::ZERO),
        ..stateless()
    };
    let public = Options {
        ca: None,
        ..options.clone()
    };
    // Too long for a part of a name, so that no resolver is asked for it.
    let unknown = "x".repeat(64);
    for (url, options, is_final, words) in [
        (
            format!("https://{plain}"),
            &options,
            true,
            "this port does not use TLS: try http://",
        ),
        (
            format!("http://{secured}"),
            &options,
            true,
            "the port may use TLS: try https://",
        ),
        (
            format!("https://{secured}"),
            &public,
            true,
            "its issuer is not trusted",
        ),
        ("http://127.0.0.1:1".to_owned(), &options, false, "refused"),
        (
            format!("http://{unknown}.invalid"),
            &options,
            false,
            "lookup",
        ),
        (
            "unix:/no/such/socket".to_owned(),
            &options,
            false,
            "No such file",
        ),
    ] {
        let blocking = papir_client::Connection::open_with(&url, options)
            .map(drop)
            .unwrap_err();
        let over_async = AsyncConnection::open_with(&url, options)
            .map(drop)
            .unwrap_err();
        assert_eq!(blocking.to_string(), over_async.to_string());
        for error in [blocking, over_async] {
            let Error::Transport { source, .. } = &error else {
                panic!("{error}")
            };
            assert_eq!(source.is::<FinalFailure>(), is_final, "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}

#[test]
fn steps_in_place_need_no_other_thread() {
    let listening = ServerConfig {
        listen: own_address(),
        ..config()
    };
    let server = Running::start(listening, vec![indexed("table", "simple", 300)]);
    let threads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&threads);
    let mut runtime = Builder::new_current_thread();
    runtime.enable_all().on_thread_start(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let runtime = runtime.build().unwrap();
    let url = server.url();
    let folder = TempDir::new().unwrap();
    let options = Options {
        no_cache: true,
        state: Some(folder.path().join("state")),
        ..Options::default()
    };
    let opened = Connection::open_with(&url, &options);
    let mut connection = runtime.block_on(in_place(opened)).unwrap();
    assert_eq!(
        runtime.block_on(in_place(connection.get_index(7))).unwrap(),
        record(7)
    );
    // Nothing looks at the open connection while the service starts again.
    let listen = Listen::Tcp(server.address);
    drop(server);
    let _server = Running::start(
        ServerConfig { listen, ..config() },
        vec![indexed("table", "simple", 300)],
    );
    assert_eq!(
        runtime.block_on(in_place(connection.get_index(8))).unwrap(),
        record(8)
    );
    assert_eq!(threads.load(Ordering::Relaxed), 0);
    assert_eq!(
        runtime.block_on(connection.get_index(9)).unwrap(),
        record(9)
    );
    assert_ne!(threads.load(Ordering::Relaxed), 0);
}

/// The holder of the state's lock needs a blocking thread for its next step, and the others wait for the
/// lock.
#[test]
fn lookups_of_a_registered_client_need_few_blocking_threads() {
    let folder = TempDir::new().unwrap();
    let server = start(registry(&folder.path().join("registry")));
    let options = Options {
        allow_not_private: true,
        state: Some(folder.path().join("state")),
        schemes: Schemes::only(vec![&STATEFUL]),
        ..Options::default()
    };
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(2)
        .build()
        .unwrap();
    let lookups = (0..5).map(|index| {
        let url = server.url();
        let options = options.clone();
        runtime.spawn(async move {
            Connection::open_with(&url, &options)
                .await?
                .get_index(index)
                .await
        })
    });
    let lookups: Vec<_> = lookups.collect();
    let all = async {
        let mut found = Vec::new();
        for lookup in lookups {
            found.push(lookup.await.unwrap().unwrap());
        }
        found
    };
    let found = runtime.block_on(async { timeout(Duration::from_secs(60), all).await });
    // Threads that wait for ever would keep the runtime from ending.
    runtime.shutdown_background();
    let expected: Vec<_> = (0..5).map(record).collect();
    assert_eq!(found.expect("a lookup waits for ever"), expected);
}

#[tokio::test]
async fn http_2_carries_lookups_at_the_same_time() {
    let folder = TempDir::new().unwrap();
    let (config, root) = with_tls(folder.path());
    let server = Running::start(config, vec![indexed("table", "simple", 300)]);
    let options = Options {
        ca: Some(root),
        ..stateless()
    };
    let url = format!("https://{}", server.address);
    let connection = Connection::open_with(&url, &options).await.unwrap();
    let lookups: Vec<_> = (0..20)
        .map(|index| {
            let mut connection = connection.clone();
            tokio::spawn(async move { connection.get_index(index).await })
        })
        .collect();
    for (index, lookup) in (0..).zip(lookups) {
        assert_eq!(lookup.await.unwrap().unwrap(), record(index));
    }
    // The client's side must go on while the service closes the connection.
    spawn_blocking(|| server.finish()).await.unwrap();
}
