//! Starts of a server while the storage of one database hangs.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use papir_core::{NoProgress, Run, Version};
use papir_store::{Build, BuildOptions};

use super::*;
use crate::catalog::DatabaseConfig;

/// Longest wait for anything that takes milliseconds: a busy machine may take minutes.
const PATIENCE: Duration = Duration::from_secs(90);

/// Prepares records of this value in a file, in place of an earlier version.
fn build(file: &Path, value: u8) {
    let source = file.with_extension("bin");
    std::fs::write(&source, [value; 64]).unwrap();
    let options = BuildOptions {
        scheme: "plain".into(),
        allow_not_private: true,
        record_bytes: Some(8),
        ..BuildOptions::new(source, file)
    };

    let mut rng = papir_client::system_rng();
    Build::new(&options)
        .run(&mut Run::new(&mut rng, &NoProgress))
        .unwrap();
}

/// Holds up the loads of a database until the result is dropped.
fn hold(app: &Arc<App>, name: &'static str) -> mpsc::Sender<()> {
    let (began, begun) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let app = Arc::clone(app);

    thread::spawn(move || {
        let _held = app.catalog.hold(name).unwrap();
        began.send(()).unwrap();
        // An error is the end of the sender.
        let _ = released.recv();
    });
    begun.recv().unwrap();
    release
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "not in {PATIENCE:?}: {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// A server of the databases `words` and `stuck`, before its first load.
struct Starting {
    folder: tempfile::TempDir,
    bound: BoundServer,
}

impl Starting {
    async fn new(watch: Option<Duration>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = ["words", "stuck"].map(|name| folder.path().join(format!("{name}.papir")));
        files.iter().for_each(|file| build(file, 1));

        let databases = files.map(|file| DatabaseConfig::new(file, None));
        let config = ServerConfig {
            listen: "127.0.0.1:0".parse().unwrap(),
            databases: databases.into(),
            allow_not_private: true,
            watch,
            ..ServerConfig::default()
        };
        let catalog = Catalog::unloaded(&config.databases, config.catalog_options());
        let bound = BoundServer::listen(&config, catalog, None).await.unwrap();
        Self { folder, bound }
    }
}

/// The version of a database that is served.
fn version(app: &App, name: &str) -> Option<Version> {
    app.catalog.get(name).ok().map(|served| served.version())
}

/// Checks that all databases are served once the load has ended, and stops the server.
async fn finish_start(bound: BoundServer, loaded: Vec<Reloaded>) {
    assert!(loaded.iter().all(|one| one.outcome.is_ok()));
    assert_eq!(bound.app.catalog.all().unwrap().len(), 2);
    assert_eq!(bound.app.catalog.loading().count(), 0);
    bound.serve(std::future::ready(())).await.unwrap();
}

#[tokio::test]
async fn changed_files_are_loaded_while_another_database_hangs() {
    let Starting { folder, mut bound } = Starting::new(Some(Duration::from_millis(10))).await;
    let app = Arc::clone(&bound.app);
    let stuck = hold(&app, "stuck");

    let others = async {
        until("the other database is served", || {
            version(&app, "words").is_some()
        })
        .await;
        let first = version(&app, "words");
        build(&folder.path().join("words.papir"), 2);
        until("its next version is served", || {
            version(&app, "words") != first
        })
        .await;

        assert!(
            app.catalog.all().is_err(),
            "not ready before all are loaded"
        );
        assert!(version(&app, "stuck").is_none());
        drop(stuck);
    };
    let (loaded, ()) = tokio::join!(bound.first_load(), others);
    finish_start(bound, loaded.unwrap()).await;
}

#[tokio::test]
async fn reloads_do_not_wait_for_a_database_that_hangs() {
    let Starting { folder, mut bound } = Starting::new(None).await;
    let app = Arc::clone(&bound.app);
    let handle = bound.reload_handle();
    let stuck = hold(&app, "stuck");

    let others = async {
        until("the other database is served", || {
            version(&app, "words").is_some() && app.catalog.loading().eq(["stuck"])
        })
        .await;
        for value in [2, 3] {
            let before = version(&app, "words");
            build(&folder.path().join("words.papir"), value);
            let reloaded = timeout(PATIENCE, handle.reload_idle()).await.unwrap();
            let names: Vec<_> = reloaded.unwrap().into_iter().map(|one| one.name).collect();
            assert_eq!(names, ["words"]);
            assert_ne!(version(&app, "words"), before);
        }

        assert!(
            app.catalog.all().is_err(),
            "not ready before all are loaded"
        );
        drop(stuck);
    };
    let (loaded, ()) = tokio::join!(bound.first_load(), others);
    finish_start(bound, loaded.unwrap()).await;
}
