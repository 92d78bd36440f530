//! Services, a storage and options for the tests.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex};

use papir_ffi::{Database, ErrorKind, Options, PapirError, Storage, StorageError};
use papir_server::{Database as Served, PrivacyPassConfig, RegistryConfig, Server, ServerConfig};
use tempfile::TempDir;

/// A service on loopback, which stops with the test's runtime.
pub(crate) struct Service {
    pub(crate) url: String,
    _folder: TempDir,
}

/// Serves a database.
pub(crate) async fn serve(database: papir::Database) -> Service {
    let (prepared, layout) = database.into_parts();
    serve_database(Served::new("table", prepared, layout)).await
}

/// Serves a database of the server, also as a gateway of Oblivious HTTP.
pub(crate) async fn serve_database(database: Served) -> Service {
    serve_with(database, None).await
}

/// Serves a database of the server. Its requests cost private tokens, if there are settings.
pub(crate) async fn serve_with(
    database: Served,
    privacy_pass: Option<PrivacyPassConfig>,
) -> Service {
    let folder = TempDir::new().unwrap();
    let config = ServerConfig {
        listen: "127.0.0.1:0".parse().unwrap(),
        registry: Some(RegistryConfig::new(folder.path().join("registry"))),
        ohttp: Some(folder.path().join("ohttp.toml")),
        privacy_pass,
        ..ServerConfig::default()
    };

    let server = Server::bind_loaded(config, vec![database]).await.unwrap();
    let url = server.url();
    tokio::spawn(server.serve(std::future::pending()));
    Service {
        url,
        _folder: folder,
    }
}

pub(crate) fn options(scheme: &str) -> papir::Options {
    papir::Options {
        scheme: scheme.to_owned(),
        ..papir::Options::default()
    }
}

/// Serves two capitals.
pub(crate) async fn capitals(scheme: &str) -> Service {
    let pairs = [("Peru", "Lima"), ("Kenya", "Nairobi")];
    serve(papir::Database::build(pairs, &options(scheme)).unwrap()).await
}

/// A storage in memory, which may fail.
#[derive(Default)]
pub(crate) struct Memory {
    entries: Mutex<HashMap<(String, String), Vec<u8>>>,
    locked: Mutex<HashSet<String>>,
    unlocked: Condvar,
    is_broken: bool,
}

impl Memory {
    /// A storage that fails to read.
    pub(crate) fn broken() -> Self {
        Self {
            is_broken: true,
            ..Self::default()
        }
    }

    /// The only entry with this name.
    pub(crate) fn entry(&self, name: &str) -> Vec<u8> {
        let entries = self.entries.lock().unwrap();
        entries
            .iter()
            .find(|((_, entry), _)| entry == name)
            .unwrap()
            .1
            .clone()
    }

    /// Waits until no slot is locked.
    pub(crate) fn settled(&self) {
        let locked = self.locked.lock().unwrap();
        drop(
            self.unlocked
                .wait_while(locked, |locked| !locked.is_empty())
                .unwrap(),
        );
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = self.entries.lock().unwrap();
        let mut names: Vec<_> = entries.keys().map(|(_, entry)| entry.clone()).collect();
        names.sort();
        names
    }
}

impl Storage for Memory {
    fn lock(&self, slot: String) -> Result<(), StorageError> {
        let locked = self.locked.lock().unwrap();
        self.unlocked
            .wait_while(locked, |locked| locked.contains(&slot))
            .unwrap()
            .insert(slot);
        Ok(())
    }

    fn unlock(&self, slot: String) -> Result<(), StorageError> {
        assert!(
            self.locked.lock().unwrap().remove(&slot),
            "{slot} is not locked"
        );
        self.unlocked.notify_all();
        // Nobody waits for it.
        Err(StorageError::Failed {
            reason: "the phone is locked".to_owned(),
        })
    }

    fn read(&self, slot: String, entry: String) -> Result<Option<Vec<u8>>, StorageError> {
        if self.is_broken {
            return Err(StorageError::Failed {
                reason: "the phone is locked".to_owned(),
            });
        }
        Ok(self.entries.lock().unwrap().get(&(slot, entry)).cloned())
    }

    fn replace(&self, slot: String, entry: String, bytes: Vec<u8>) -> Result<(), StorageError> {
        self.entries.lock().unwrap().insert((slot, entry), bytes);
        Ok(())
    }

    fn remove(&self, slot: String, entry: String) -> Result<(), StorageError> {
        self.entries.lock().unwrap().remove(&(slot, entry));
        Ok(())
    }
}

/// Options with this storage.
pub(crate) fn stored_in(storage: &Arc<Memory>) -> Options {
    Options {
        storage: Some(Arc::clone(storage) as _),
        ..Options::default()
    }
}

/// The kind, the code and the text of the error of a connection with these options.
pub(crate) async fn refused(url: &str, options: Options) -> (ErrorKind, String, String) {
    let PapirError::Failed {
        text, kind, code, ..
    } = Database::connect(url.to_owned(), options)
        .await
        .err()
        .unwrap();
    (kind, code, text)
}
