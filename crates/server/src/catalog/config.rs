//! Settings of the catalog.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use papir_core::device::Device;
use papir_store::Verify;

use super::sources::Sources;

/// One snapshot to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseConfig {
    /// The database's name in URLs.
    pub name: String,
    /// The snapshot file. Read again on reload.
    pub path: PathBuf,
}

impl DatabaseConfig {
    /// A snapshot served under `name`, or under its file stem if `None`.
    pub fn new(path: impl Into<PathBuf>, name: Option<String>) -> Self {
        let path = path.into();
        let name = name.unwrap_or_else(|| {
            path.file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        });
        Self { name, path }
    }
}

/// Settings shared by all databases of a catalog.
#[derive(Clone, Debug, Default)]
pub(crate) struct CatalogOptions {
    /// Time for which an old version is answered after a swap.
    pub(crate) keep_old: Duration,
    /// Maps snapshot files instead of reading them into memory.
    pub(crate) mapped: bool,
    /// The time at which checksums of snapshots are verified.
    pub(crate) verify: Verify,
    /// Allows schemes without privacy.
    pub(crate) allow_not_private: bool,
    /// Set if there is a registry for client keys. Databases that need one are refused otherwise.
    pub(crate) has_registry: bool,
    /// Local copies of remote snapshots.
    pub(crate) sources: Sources,
    /// The device that holds the matrices of databases.
    pub(crate) device: Option<Arc<dyn Device>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_by_its_stem_by_default() {
        assert_eq!(DatabaseConfig::new("/data/words.papir", None).name, "words");
        assert_eq!(
            DatabaseConfig::new("/data/words.papir", Some("w".into())).name,
            "w"
        );
    }
}
