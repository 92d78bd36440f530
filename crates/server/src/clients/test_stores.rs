//! Empty tables in each kind of storage, for tests.
#![allow(clippy::unwrap_used)]

use std::ops::Deref;

use super::store::Store;

/// Tables that are removed when dropped.
pub(super) struct TestStore {
    store: Store,
    _kept: Box<dyn std::any::Any>,
}

impl Deref for TestStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

impl TestStore {
    /// Tables in a file.
    pub(super) fn embedded() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            store: Store::open(&folder.path().join("registry.redb")).unwrap(),
            _kept: Box::new(folder),
        }
    }

    /// Tables in a PostgreSQL server.
    #[cfg(all(unix, feature = "postgres"))]
    pub(super) fn shared() -> Self {
        use super::config::{PostgresConfig, RegistryPlace};
        use papir_store::postgres::Login;
        use papir_testkit::postgres::{PASSWORD, Server};

        let server = Server::start("");
        let address = server.address("papir");
        let login = Login {
            address,
            password: Some(PASSWORD.into()),
            ..Login::default()
        };

        let place = PostgresConfig {
            login,
            ..PostgresConfig::default()
        };
        let (store, _) = RegistryPlace::Postgres(place).open().unwrap();
        Self {
            store,
            _kept: Box::new(server),
        }
    }

    #[cfg(all(unix, feature = "postgres"))]
    pub(super) fn of_each_kind() -> Vec<Self> {
        vec![Self::embedded(), Self::shared()]
    }

    #[cfg(not(all(unix, feature = "postgres")))]
    pub(super) fn of_each_kind() -> Vec<Self> {
        vec![Self::embedded()]
    }
}
