//! What to serve and within which bounds.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::{Error, Listen, Protection, RegistryConfig};

/// Sees the database's name and the bytes of each accepted query body: all that a server learns.
pub type QueryObserver = Arc<dyn Fn(&str, &[u8]) + Send + Sync>;

/// One snapshot to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseConfig {
    /// Its name in addresses.
    pub name: String,
    /// Its file; loaded again at a reload.
    pub path: PathBuf,
}

impl DatabaseConfig {
    /// A snapshot under a name, by default its file's stem.
    pub fn new(path: impl Into<PathBuf>, name: Option<String>) -> Self {
        let path = path.into();
        let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self { name: name.unwrap_or_else(stem), path }
    }
}

/// Settings of a service.
#[derive(Clone)]
pub struct ServerConfig {
    /// Where to listen; port 0 takes a free one.
    pub listen: Listen,
    /// Snapshots to serve.
    pub databases: Vec<DatabaseConfig>,
    /// Which of their files are copies of what lies elsewhere.
    pub sources: crate::Sources,
    /// Threads that answer one version; 0 means one a core.
    pub threads: usize,
    /// Versions of databases that are answered at the same time, each on threads of its own, at least 1.
    /// The requests for one version that wait for their turn are answered together.
    pub max_concurrent: usize,
    /// Requests that may be uploading or waiting besides; more are told to come later.
    pub max_queued: usize,
    /// Whether schemes that hide nothing may be served.
    pub allow_not_private: bool,
    /// Time that a request has to deliver its body.
    pub body_timeout: Duration,
    /// How long an old version is answered after a swap; at most two old versions are kept.
    pub keep_old: Duration,
    /// How often the snapshot files are looked at for others in their place; `None`: never.
    pub watch: Option<Duration>,
    /// Whether `GET /metrics` is there.
    pub metrics: bool,
    /// TLS, tokens and limits.
    pub protection: Protection,
    /// Where clients' keys and tickets are kept; schemes with client keys need it.
    pub registry: Option<RegistryConfig>,
    /// A set for private intersection, as `papir psi prepare` writes it; its database is served too.
    pub psi: Option<PathBuf>,
    /// Sees what arrives, for demonstrations and tests.
    pub on_query: Option<QueryObserver>,
}

impl Default for ServerConfig {
    /// Loopback port 7470, a thread a core, two versions at a time and 64 requests waiting, 30 s for a body,
    /// old versions for 10 minutes, no watching, with metrics.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7470)).into(),
            databases: Vec::new(),
            sources: crate::Sources::default(),
            threads: 0,
            max_concurrent: 2,
            max_queued: 64,
            allow_not_private: false,
            body_timeout: Duration::from_secs(30),
            keep_old: Duration::from_secs(600),
            watch: None,
            metrics: true,
            protection: Protection::default(),
            registry: None,
            psi: None,
            on_query: None,
        }
    }
}

impl ServerConfig {
    /// Checks that each snapshot has a name of its own that fits in an address.
    ///
    /// # Errors
    /// [`Error::BadName`] or [`Error::DuplicateName`], naming the files.
    pub fn check_names(&self) -> Result<(), Error> {
        let mut seen: BTreeMap<&str, &Path> = BTreeMap::new();
        for DatabaseConfig { name, path } in &self.databases {
            if !is_name(name) {
                return Err(Error::BadName { name: name.clone(), path: path.clone() });
            }
            if let Some(first) = seen.insert(name, path) {
                let (name, first, second) = (name.clone(), first.to_owned(), path.clone());
                return Err(Error::DuplicateName { name, first, second });
            }
        }
        Ok(())
    }
}

/// Whether a name stands in an address as it is.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.len() <= 128 && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn names(configs: &[DatabaseConfig]) -> Result<(), Error> {
        ServerConfig { databases: configs.to_vec(), ..Default::default() }.check_names()
    }

    #[test]
    fn a_database_is_named_by_its_stem_unless_told() {
        assert_eq!(DatabaseConfig::new("/data/words.papir", None).name, "words");
        assert_eq!(DatabaseConfig::new("/data/words.papir", Some("w".into())).name, "w");
    }

    #[test]
    fn names_must_differ_and_fit_in_an_address() {
        let words = DatabaseConfig::new("/a/words.papir", None);
        assert!(names(&[words.clone(), DatabaseConfig::new("/a/others.papir", None)]).is_ok());
        let message = names(&[words, DatabaseConfig::new("/b/words.papir", None)]).unwrap_err().to_string();
        assert!(message.contains("/a/words.papir") && message.contains("/b/words.papir"), "{message}");
        for bad in ["", "..", "a/b", "a b", "-x", &"a".repeat(129)] {
            let config = DatabaseConfig { name: bad.to_owned(), path: "/x".into() };
            assert!(matches!(names(&[config]), Err(Error::BadName { .. })), "{bad:?}");
        }
    }
}
