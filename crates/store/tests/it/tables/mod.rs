//! Parquet, Arrow and SQLite, from file to lookup: types, errors that name the row, damaged files.

#[cfg(feature = "parquet")]
pub(crate) mod arrow_file;
mod damage;
#[cfg(feature = "parquet")]
pub(crate) mod parquet_file;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use crate::common;

/// Builds, and returns the value of a key.
fn value(options: &papir_store::BuildOptions, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    common::run(options).unwrap();
    common::by_key(&papir_store::Snapshot::open(&options.out).unwrap(), key)
}

/// Like [`value`], as text.
fn text(options: &papir_store::BuildOptions, key: &str) -> String {
    String::from_utf8(value(options, key).unwrap()).unwrap()
}
