//! Settings of a service, and their check without serving.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use papir_core::device::Device;
use papir_store::{Verify, is_database_name};

use super::protection::{Guard, Protection};
use super::state::StateObserver;
use crate::catalog::{Catalog, CatalogOptions, DatabaseConfig, Sources};
use crate::clients::RegistryConfig;
use crate::error::Error;
use crate::listen::Listen;
use crate::privacy_pass::{PassVerifier, PrivacyPassConfig};
use crate::traces::TraceObserver;
use crate::{gateway, psi};

/// Most threads of a batch: more than the cores of any machine.
const MAX_THREADS: usize = 4096;

/// Called with the database's name and the bytes of each accepted query body: everything that the
/// server learns.
pub type QueryObserver = Arc<dyn Fn(&str, &[u8]) + Send + Sync>;

/// Settings of a service.
#[derive(Clone)]
pub struct ServerConfig {
    /// Address to listen on; port 0 picks a free one.
    pub listen: Listen,
    /// Snapshots to serve.
    pub databases: Vec<DatabaseConfig>,
    /// Remote snapshots among them, and their local copies.
    pub sources: Sources,
    /// Threads per batch; 0 means one per core.
    pub threads: usize,
    /// Batches answered at the same time, each on its own threads and for a different database
    /// version, unless other machines have its slices; at least 1. Waiting requests for one version
    /// are answered in a batch.
    pub max_concurrent: usize,
    /// Number of further requests that may wait. Beyond it, the client with the most waiting
    /// requests is told to retry later.
    pub max_queued: usize,
    /// Memory for the bodies of requests that are arriving or waiting, in bytes. One client holds
    /// at most a quarter of it with several bodies. Answers may hold four times as much until their
    /// clients have received them, and descriptions and other responses as much as bodies, or
    /// 16 MiB if that is more.
    pub max_upload_bytes: usize,
    /// Maps snapshot files instead of reading them into memory, for files larger than the memory. A
    /// program that writes to such a file or truncates it changes the answers or ends the service.
    pub mapped: bool,
    /// The time at which the checksums of snapshots are verified. With [`Verify::Lazy`], a service
    /// is ready sooner: it answers while a thread verifies the snapshots, and takes out a version
    /// that is damaged.
    pub verify: Verify,
    /// A device that answers. If a database does not fit into its memory, the service does not
    /// start; if a later version does not fit, the CPU answers it. If the device fails, the CPU
    /// answers all.
    pub device: Option<Arc<dyn Device>>,
    /// Allows schemes without privacy.
    pub allow_not_private: bool,
    /// Time after the request to stop for which `/readyz` returns 503 and other requests are still
    /// answered, so that balancers send no more.
    pub lame_duck: Duration,
    /// Time for which a stopping service finishes requests.
    pub stop_timeout: Duration,
    /// Time limit for receiving a request body.
    pub body_timeout: Duration,
    /// Time for which an old version is answered after a swap. At most two old snapshots and 64 old
    /// deltas are kept. A service that starts loads the versions that were replaced within this
    /// time, if they are still next to the file or in the object store.
    pub keep_old: Duration,
    /// Interval between checks for changed snapshot files; `None` for no checks.
    pub watch: Option<Duration>,
    /// Serves `GET /metrics`.
    pub metrics: bool,
    /// Folder of the page that `GET /page/` serves, as `make page` builds it; `None` for no page.
    pub page: Option<PathBuf>,
    /// TLS, tokens and limits.
    pub protection: Protection,
    /// Registry for client keys and tickets. Required by schemes with client keys.
    pub registry: Option<RegistryConfig>,
    /// A set for private intersection, as written by `papir psi prepare`. Its database is served
    /// too.
    pub psi: Option<PathBuf>,
    /// The file with the private keys of a gateway of Oblivious HTTP, which the first start makes;
    /// `None` for no gateway. Services behind one name share a file.
    pub ohttp: Option<PathBuf>,
    /// Demands a private token of Privacy Pass for each query request, evaluation and registration.
    /// Spent tokens are in the registry.
    pub privacy_pass: Option<PrivacyPassConfig>,
    /// Observes query bodies, for demonstrations and tests.
    pub on_query: Option<QueryObserver>,
    /// Called with the span of each request that names its caller's span.
    pub on_trace: Option<TraceObserver>,
    /// Observes the state of the running service.
    pub on_state: Option<StateObserver>,
}

impl Default for ServerConfig {
    /// Loopback port 7470, one thread per core, 2 concurrent batches and 1,024 waiting requests,
    /// 256 MiB and 30 s for bodies, old versions for 10 minutes, no watching, metrics enabled.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 7470)).into(),
            databases: Vec::new(),
            sources: Sources::default(),
            threads: 0,
            max_concurrent: 2,
            max_queued: 1024,
            max_upload_bytes: 256 << 20,
            mapped: false,
            verify: Verify::Load,
            device: None,
            allow_not_private: false,
            lame_duck: Duration::ZERO,
            stop_timeout: Duration::from_secs(60),
            body_timeout: Duration::from_secs(30),
            keep_old: Duration::from_secs(600),
            watch: None,
            metrics: true,
            page: None,
            protection: Protection::default(),
            registry: None,
            psi: None,
            ohttp: None,
            privacy_pass: None,
            on_query: None,
            on_trace: None,
            on_state: None,
        }
    }
}

impl ServerConfig {
    /// Checks that snapshot names are unique and valid in a URL path.
    ///
    /// # Errors
    /// [`Error::BadName`] or [`Error::DuplicateName`], naming the files.
    pub fn check_names(&self) -> Result<(), Error> {
        let mut seen: BTreeMap<&str, &Path> = BTreeMap::new();
        for DatabaseConfig { name, path } in &self.databases {
            if !is_database_name(name) {
                return Err(Error::BadName {
                    name: name.clone(),
                    path: path.clone(),
                });
            }

            if let Some(first) = seen.insert(name, path) {
                return Err(Error::DuplicateName {
                    name: name.clone(),
                    first: first.to_owned(),
                    second: path.clone(),
                });
            }
        }
        Ok(())
    }

    /// Checks numbers that would otherwise fail late, in the middle of a start.
    pub(crate) fn check_numbers(&self) -> Result<(), Error> {
        if self.threads <= MAX_THREADS {
            return Ok(());
        }
        Err(Error::TooManyThreads {
            found: self.threads,
            most: MAX_THREADS,
        })
    }

    /// Opens the verifier of private tokens. They need a registry, and allow every database.
    pub(crate) fn open_passes(&self) -> Result<Option<PassVerifier>, Error> {
        let Some(settings) = &self.privacy_pass else {
            return Ok(None);
        };

        let of_one = self
            .protection
            .tokens
            .iter()
            .find_map(|one| one.only.as_ref());
        let reason = match (&self.registry, of_one) {
            (Some(_), None) => return PassVerifier::open(settings).map(Some),
            (None, _) => {
                "spent tokens have no place: expected a registry (--registry DIR)".to_owned()
            }
            (_, Some(name)) => format!(
                "the database `{name}` has bearer tokens of its own, and a private token allows \
                 every database: expected one or the other"
            ),
        };
        Err(Error::PrivacyPass { reason })
    }

    /// Settings of the catalog.
    pub(crate) fn catalog_options(&self) -> CatalogOptions {
        CatalogOptions {
            keep_old: self.keep_old,
            mapped: self.mapped,
            verify: self.verify,
            allow_not_private: self.allow_not_private,
            has_registry: self.registry.is_some(),
            sources: self.sources.clone(),
            device: self.device.clone(),
        }
    }
}

/// Checks names, certificate, tokens, gateway keys, the settings of private tokens, snapshots and
/// the set like [`crate::Server::bind`], without listening. Takes as long as loading all snapshots.
///
/// # Errors
/// See [`crate::Server::bind`], without [`Error::Listen`].
pub fn check(config: &ServerConfig) -> Result<(), Error> {
    config.check_numbers()?;

    // A start serves the set's database with the others, so their names must differ from its name.
    let mut config = config.clone();
    if let Some(path) = &config.psi {
        let of_set = psi::check(path)?;
        config.databases.extend(of_set);
    }
    config.check_names()?;
    if config.databases.is_empty() && config.psi.is_none() {
        return Err(Error::NoDatabases);
    }
    Guard::new(&config.protection)?;
    if let Some(file) = &config.ohttp {
        gateway::check(file)?;
    }
    config.open_passes()?;

    // A service that runs may have filled the device.
    let options = CatalogOptions {
        device: None,
        ..config.catalog_options()
    };
    let catalog = Catalog::unloaded(&config.databases, options);
    for loaded in catalog.load() {
        loaded.outcome?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use papir_core::{NoProgress, Run};
    use papir_lookup::psi::Kind;
    use papir_store::psi::{PsiOptions, prepare};
    use rand_core::SeedableRng;
    use tempfile::TempDir;

    use super::*;

    fn names(configs: &[DatabaseConfig]) -> Result<(), Error> {
        ServerConfig {
            databases: configs.to_vec(),
            ..Default::default()
        }
        .check_names()
    }

    #[test]
    fn more_threads_than_a_machine_can_have_are_refused() {
        let with = |threads| ServerConfig {
            threads,
            ..ServerConfig::default()
        };
        for threads in [0, 1, MAX_THREADS] {
            assert!(with(threads).check_numbers().is_ok());
        }

        for threads in [MAX_THREADS + 1, 1_000_000_000, usize::MAX] {
            let error = check(&with(threads)).unwrap_err();
            assert!(matches!(error, Error::TooManyThreads { .. }), "{error}");
        }
    }

    #[test]
    fn a_set_is_checked_like_a_database() {
        let directory = TempDir::new().unwrap();
        let source = directory.path().join("set.txt");
        std::fs::write(&source, "one\ntwo\n").unwrap();
        let out = directory.path().join("set.psi");
        let options = PsiOptions {
            kind: Some(Kind::Filter),
            ..PsiOptions::new(&source, &out)
        };
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        prepare(&options, &mut Run::new(&mut rng, &NoProgress)).unwrap();

        let with = |psi: &Path| ServerConfig {
            psi: Some(psi.to_owned()),
            ..ServerConfig::default()
        };
        check(&with(&out)).unwrap();

        // A text is no set, and neither is a file that does not exist.
        for other in [source, directory.path().join("missing.psi")] {
            let error = check(&with(&other)).unwrap_err();
            assert!(matches!(error, Error::Load { .. }), "{error}");
        }
    }

    #[test]
    fn names_must_be_unique_and_valid_in_a_path() {
        let words = DatabaseConfig::new("/a/words.papir", None);
        assert!(names(&[words.clone(), DatabaseConfig::new("/a/others.papir", None)]).is_ok());

        let message = names(&[words, DatabaseConfig::new("/b/words.papir", None)])
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("/a/words.papir") && message.contains("/b/words.papir"),
            "{message}"
        );

        for bad in ["", "..", "a/b", "a b", "-x", &"a".repeat(129)] {
            let config = DatabaseConfig {
                name: bad.to_owned(),
                path: "/x".into(),
            };
            assert!(
                matches!(names(&[config]), Err(Error::BadName { .. })),
                "{bad:?}"
            );
        }
    }
}
