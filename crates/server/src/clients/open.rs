//! Opens the tables and keys of a registry.

use std::fmt;
use std::fs::DirBuilder;
use std::path::Path;

use super::config::{PostgresConfig, RegistryPlace};
use super::error::StoreError;
use super::key_files::{KeyFiles, private};
use super::keys::KeyStorage;
use super::store::Store;
use super::tables::Result;

/// File of the tables in a registry's directory.
pub(super) const TABLES: &str = "registry.redb";

impl RegistryPlace {
    /// Opens or creates the tables, and the keys.
    pub(super) fn open(&self) -> Result<(Store, Box<dyn KeyStorage>)> {
        match self {
            Self::Directory(directory) => {
                private(DirBuilder::new().recursive(true)).create(directory)?;
                in_directory(directory)
            }
            Self::Postgres(place) => in_postgres(place),
        }
    }
}

impl RegistryPlace {
    /// The error of a registry whose tables cannot be read.
    pub(super) fn unreadable(&self) -> StoreError {
        match self {
            Self::Directory(_) => StoreError::damaged("its rows cannot be read"),
            Self::Postgres(_) => StoreError::aborted(),
        }
    }
}

impl fmt::Display for RegistryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(directory) => directory.display().fmt(f),
            Self::Postgres(_) => f.write_str("in PostgreSQL"),
        }
    }
}

fn in_directory(directory: &Path) -> Result<(Store, Box<dyn KeyStorage>)> {
    let store = Store::open(&directory.join(TABLES))?;
    Ok((store, Box::new(KeyFiles::open(directory)?)))
}

#[cfg(feature = "postgres")]
fn in_postgres(place: &PostgresConfig) -> Result<(Store, Box<dyn KeyStorage>)> {
    use super::postgres::{PostgresKeys, PostgresTables};

    let tables = PostgresTables::open(&place.login)?;
    let keys = PostgresKeys::open(&tables, place)?;
    let store = Store {
        storage: Box::new(tables),
    };
    Ok((store, Box::new(keys)))
}

#[cfg(not(feature = "postgres"))]
fn in_postgres(_: &PostgresConfig) -> Result<(Store, Box<dyn KeyStorage>)> {
    Err(StoreError::other(
        "this program is built without the feature `postgres`",
    ))
}
