//! Conversion of settings to the server's configuration.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use papir_core::device::Device;
use papir_cuda::{Cuda, Failure as GpuFailure};
use papir_server::{
    ClientFiles, ClientLimits, DatabaseConfig, Login, PostgresConfig, PrivacyPassConfig,
    Protection, RegistryConfig, RegistryPlace, ServerConfig, Sources, TlsFiles, TokenSource,
};
use papir_store::remote::{Location, StoreProxy};

use super::{FIND_PAGE, Settings};
use crate::arguments::duration::Span;
use crate::arguments::network::Network;
use crate::arguments::remote;
use crate::failure::Failure;
use crate::service::private_tokens::IssuerArgument;

impl Settings {
    /// Converts to the server's configuration, with defaults for missing settings. Fails if the
    /// settings contradict each other.
    pub(crate) fn config(self) -> Result<ServerConfig, Failure> {
        let tokens = self.token_sources()?;
        self.check_timeouts()?;
        let registry = self.registry()?;
        let privacy_pass = self.privacy_pass()?;
        let device = self.device()?;
        let (databases, sources) = self.databases()?;
        let tls = self.tls()?;
        let page = match &self.page {
            Some(given) => Some(page_folder(given)?),
            None => None,
        };

        let allow_not_private = self.allow_not_private.unwrap_or_default();
        if allow_not_private {
            papir_research::register()?;
        }

        let default = ServerConfig::default();
        let times = &default.protection;
        let protection = Protection {
            tls,
            tokens,
            limits: self.limits(),
            proxies: self.trust_proxy.unwrap_or_default(),
            relays: self.relays.unwrap_or_default(),
            origins: self.allow_origin.unwrap_or_default(),
            header_timeout: self
                .header_timeout
                .map_or(times.header_timeout, |span| span.0),
            max_connections: self.max_connections.unwrap_or(times.max_connections),
        };

        Ok(ServerConfig {
            listen: self.listen.unwrap_or(default.listen),
            databases,
            sources,
            registry,
            threads: self.threads.unwrap_or(default.threads),
            max_concurrent: self.max_concurrent.unwrap_or(default.max_concurrent),
            max_queued: self.max_queued.unwrap_or(default.max_queued),
            max_upload_bytes: self
                .max_upload_bytes
                .map_or(default.max_upload_bytes, |bytes| bytes.0 as usize),
            allow_not_private,
            mapped: self.mapped.unwrap_or_default(),
            verify: self.verify.unwrap_or_default().into(),
            device,
            lame_duck: self.lame_duck.map_or(default.lame_duck, |span| span.0),
            stop_timeout: self
                .stop_timeout
                .map_or(default.stop_timeout, |span| span.0),
            body_timeout: self
                .body_timeout
                .map_or(default.body_timeout, |span| span.0),
            keep_old: self.keep_old.map_or(default.keep_old, |span| span.0),
            watch: self
                .watch
                .map(|seconds| Duration::from_secs(seconds.get().into())),
            metrics: !self.no_metrics.unwrap_or_default(),
            page,
            protection,
            psi: None,
            ohttp: self.ohttp,
            privacy_pass,
            on_query: None,
            on_trace: None,
            on_state: None,
        })
    }

    /// Refuses time limits of zero.
    fn check_timeouts(&self) -> Result<(), Failure> {
        for (name, span) in [
            ("header-timeout", self.header_timeout),
            ("body-timeout", self.body_timeout),
        ] {
            if span == Some(Span(Duration::ZERO)) {
                return Err(Failure::new(format!(
                    "{name} is 0: every request would time out"
                )));
            }
        }
        Ok(())
    }

    /// The limits of one client.
    fn limits(&self) -> ClientLimits {
        ClientLimits {
            rate: self.rate,
            burst: self.burst.unwrap_or_default(),
            per_client: self.per_client.unwrap_or_default(),
        }
    }

    /// Opens the device that answers, if one is configured.
    fn device(&self) -> Result<Option<Arc<dyn Device>>, Failure> {
        let Some(name) = &self.device else {
            return Ok(None);
        };

        let gpu: Arc<dyn Device> = Arc::new(Cuda::by_name(name, Box::new(log_gpu_failure))?);
        Ok(Some(gpu))
    }

    /// Certificate, key, and the authorities of clients.
    fn tls(&self) -> Result<Option<TlsFiles>, Failure> {
        let clients = self.client_files()?;

        match (self.tls_cert.clone(), self.tls_key.clone()) {
            (Some(certificate), Some(key)) => Ok(Some(TlsFiles {
                clients,
                ..TlsFiles::new(certificate, key)
            })),
            (None, None) if clients.is_none() => Ok(None),
            (None, None) => Err(Failure::new(
                "client-ca without TLS: give --tls-cert and --tls-key",
            )),
            _ => Err(Failure::new(
                "tls-cert and tls-key: expected both or neither",
            )),
        }
    }

    /// The authorities that sign clients' certificates.
    fn client_files(&self) -> Result<Option<ClientFiles>, Failure> {
        match (self.client_ca.clone(), self.client_crl.clone()) {
            (Some(authorities), revoked) => Ok(Some(ClientFiles {
                revoked,
                ..ClientFiles::new(authorities)
            })),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(Failure::new(
                "client-crl without client-ca: give --client-ca FILE",
            )),
        }
    }

    /// Refuses certificates for the service's own connections if it makes none: whoever gives them
    /// may mean those of clients, of which none would be checked. `source` is the source of changes
    /// that the service follows.
    pub(crate) fn check_ca(&self, source: Option<&Path>) -> Result<(), Failure> {
        if self.ca.is_none() || self.connects(source) {
            return Ok(());
        }
        Err(Failure::new(
            "ca without a connection: it is for those that the service makes, to object stores, \
             PostgreSQL, the issuer of --privacy-pass or the collector of --otlp; to check the \
             certificates of clients, give --client-ca FILE",
        ))
    }

    /// Returns whether the service connects to other services.
    fn connects(&self, source: Option<&Path>) -> bool {
        let mut places: Vec<&Path> = Vec::new();
        places.extend(self.databases.iter().map(|one| one.path.as_path()));
        places.extend(self.registry.as_deref());
        places.extend(self.registry_keys.as_deref().map(Path::new));
        places.extend(source);

        let mut texts = places.into_iter().filter_map(Path::to_str);
        let asks_issuer = self
            .privacy_pass
            .as_ref()
            .is_some_and(IssuerArgument::connects);
        asks_issuer || self.otlp.is_some() || texts.any(is_remote)
    }

    /// The files to serve; for databases in object stores, their copies in the cache.
    fn databases(&self) -> Result<(Vec<DatabaseConfig>, Sources), Failure> {
        let network = self.network();
        let mut sources = Sources::default();
        let mut databases = Vec::new();
        for one in &self.databases {
            let path = remote::local(&one.path, self.cache.as_ref(), &network, &mut sources)?;
            databases.push(DatabaseConfig::new(path, one.name.clone()));
        }

        Ok((databases, sources))
    }

    /// The configuration of the client registry. `None` without a registry.
    fn registry(&self) -> Result<Option<RegistryConfig>, Failure> {
        let Some(place) = &self.registry else {
            self.without_registry()?;
            return Ok(None);
        };

        let mut config = RegistryConfig {
            place: self.registry_place(place)?,
            ..RegistryConfig::new(place)
        };

        config.ttl = self.client_ttl.map_or(config.ttl, |span| span.0);
        config.max_clients = self.max_clients.map_or(config.max_clients, NonZeroU64::get);
        config.max_bytes = self
            .max_client_bytes
            .map_or(config.max_bytes, |bytes| bytes.0);
        config.tickets_ahead = self
            .tickets_ahead
            .map_or(config.tickets_ahead, NonZeroU64::get);
        config.allow_list = self.list_clients.unwrap_or_default();

        match config.tickets_ahead {
            1..=64 => Ok(Some(config)),
            found => Err(Failure::new(format!(
                "tickets-ahead is {found}: expected 1 to 64"
            ))),
        }
    }

    fn registry_place(&self, place: &Path) -> Result<RegistryPlace, Failure> {
        let place = registry_place(place, &self.network())?;

        match (place, &self.registry_keys) {
            (RegistryPlace::Postgres(place), keys) => Ok(RegistryPlace::Postgres(PostgresConfig {
                keys: keys.clone(),
                keys_proxy: self.keys_proxy()?,
                keys_roots: self.ca.clone(),
                ..place
            })),
            (RegistryPlace::Directory(_), Some(_)) => Err(Failure::new(
                "registry-keys with a registry in a directory: it is for one in PostgreSQL \
                 (--registry postgres://USER@HOST/DATABASE)",
            )),
            (place, None) => Ok(place),
        }
    }

    /// The proxy of connections to the object store of keys. `None` for a folder, or without one.
    fn keys_proxy(&self) -> Result<Option<StoreProxy>, Failure> {
        match &self.registry_keys {
            Some(url) if !url.starts_with("file:") => self.network().store_proxy().map(Some),
            _ => Ok(None),
        }
    }

    /// Refuses registry settings without a registry.
    fn without_registry(&self) -> Result<(), Failure> {
        let given = [
            ("registry-keys", self.registry_keys.is_some()),
            ("client-ttl", self.client_ttl.is_some()),
            ("max-clients", self.max_clients.is_some()),
            ("max-client-bytes", self.max_client_bytes.is_some()),
            ("tickets-ahead", self.tickets_ahead.is_some()),
            ("list-clients", self.list_clients == Some(true)),
        ];

        match given.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(Failure::new(format!(
                "{name} without a registry: give --registry DIR"
            ))),
            None => Ok(()),
        }
    }

    /// The private tokens that requests cost. `None` if they cost none.
    fn privacy_pass(&self) -> Result<Option<PrivacyPassConfig>, Failure> {
        let origins = self.privacy_pass_origin.clone().unwrap_or_default();
        let Some(issuer) = &self.privacy_pass else {
            let given = [
                ("privacy-pass-origin", !origins.is_empty()),
                (
                    "privacy-pass-not-before",
                    self.privacy_pass_not_before.is_some(),
                ),
            ];
            return match given.into_iter().find(|(_, is_given)| *is_given) {
                None => Ok(None),
                Some((name, _)) => Err(Failure::new(format!(
                    "{name} without privacy-pass: give --privacy-pass ISSUER"
                ))),
            };
        };

        if origins.is_empty() {
            return Err(Failure::new(
                "privacy-pass without an origin: give --privacy-pass-origin HOST, the public host \
                 name of this service",
            ));
        }
        if self.registry.is_none() {
            return Err(Failure::new(
                "privacy-pass without a registry, where spent tokens are noted: give --registry DIR",
            ));
        }
        let not_before = self.privacy_pass_not_before;
        let config = issuer.config(origins, not_before, &self.network())?;
        Ok(Some(config))
    }

    fn token_sources(&self) -> Result<Vec<TokenSource>, Failure> {
        let mut sources: Vec<_> = self.tokens.iter().map(TokenSource::new).collect();
        for database in &self.databases {
            let name = DatabaseConfig::new(&database.path, database.name.clone()).name;
            if let Some(path) = &database.tokens {
                sources.push(TokenSource {
                    only: Some(name),
                    ..TokenSource::new(path)
                });
            }
        }

        // A database without tokens is open only if no database has any.
        let without_tokens = self
            .databases
            .iter()
            .find(|one| self.tokens.is_none() && one.tokens.is_none());
        match without_tokens {
            Some(database) if !sources.is_empty() => Err(Failure::at(
                &database.path,
                "other databases have tokens and this one has none: no client could query it",
            )),
            _ => Ok(sources),
        }
    }
}

/// Returns whether a place is reached by a connection. A store in a folder needs none.
fn is_remote(place: &str) -> bool {
    let is_store = Location::is_address(place) && !place.starts_with("file:");
    is_store || Login::is_address(place)
}

/// Logs a failure of the device.
fn log_gpu_failure(failure: GpuFailure<'_>) {
    let GpuFailure { error, lost } = failure;
    match lost {
        true => tracing::error!(%error, "the device is lost: the CPU answers"),
        false => tracing::warn!(%error, "the device failed: the CPU answers this group"),
    }
}

/// The registry in a directory, or at an address of PostgreSQL. Fails if a proxy applies there.
pub(crate) fn registry_place(place: &Path, network: &Network) -> Result<RegistryPlace, Failure> {
    Ok(
        match place.to_str().filter(|text| Login::is_address(text)) {
            Some(address) => RegistryPlace::Postgres(PostgresConfig {
                login: network.login(address)?,
                ..PostgresConfig::default()
            }),
            None => RegistryPlace::Directory(place.to_owned()),
        },
    )
}

/// The page's folder: the one given, or the first place where an installation has it.
fn page_folder(given: &Path) -> Result<PathBuf, Failure> {
    let program = std::env::current_exe().unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new("."));
    let candidates = match given == Path::new(FIND_PAGE) {
        true => vec![beside.join("page"), beside.join("../share/papir/page")],
        false => vec![given.to_owned()],
    };

    let found = candidates
        .iter()
        .find(|folder| folder.join("index.html").is_file());
    if let Some(folder) = found {
        return Ok(folder.clone());
    }

    let tried: Vec<_> = candidates
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    Err(Failure::new(format!(
        "page: no index.html in {}: expected the folder that `make page` builds (target/page)",
        tried.join(" or ")
    )))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Settings {
        Settings::parse(text).unwrap()
    }

    #[test]
    fn a_database_without_tokens_among_others_with_tokens_is_refused() {
        let two = "[[database]]\npath = \"a.papir\"\ntokens = \"a.toml\"\n[[database]]\npath = \"b.papir\"\n";
        let message = parse(two).config().map(drop).unwrap_err().to_string();
        assert!(message.contains("b.papir"), "{message}");

        let sources = parse(&format!("tokens = \"all.toml\"\n{two}"))
            .config()
            .unwrap()
            .protection
            .tokens;

        assert_eq!(
            sources
                .iter()
                .map(|one| one.only.as_deref())
                .collect::<Vec<_>>(),
            [None, Some("a")]
        );
    }

    #[test]
    fn a_folder_without_a_page_is_refused_by_its_name() {
        let message = parse("page = \"nowhere\"")
            .config()
            .map(drop)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("no index.html in nowhere: expected"),
            "{message}"
        );

        let message = parse("page = \"auto\"")
            .config()
            .map(drop)
            .unwrap_err()
            .to_string();
        assert!(message.contains("share/papir/page"), "{message}");
    }

    #[test]
    fn certificates_to_trust_need_a_connection() {
        let words = "ca = \"a\"\n[[database]]\npath = \"words.papir\"\n";
        for text in [
            words.to_owned(),
            format!("registry = \"/var/lib/papir\"\n{words}"),
            words.replace("words.papir", "file:///srv/words.papir"),
        ] {
            let message = parse(&text).check_ca(None).unwrap_err().to_string();
            assert!(message.contains("give --client-ca FILE"), "{message}");
            assert!(
                parse(&text.replace("ca = \"a\"", ""))
                    .check_ca(None)
                    .is_ok()
            );
        }

        for text in [
            format!("otlp = \"https://collector:4318\"\n{words}"),
            format!("registry = \"postgres://papir@db/papir\"\n{words}"),
            format!("registry-keys = \"s3://bucket/papir\"\n{words}"),
            words.replace("words.papir", "gs://bucket/words.papir"),
        ] {
            assert!(parse(&text).check_ca(None).is_ok(), "{text}");
        }
        let followed = Path::new("postgres://papir@db/shop");
        assert!(parse(words).check_ca(Some(followed)).is_ok());
        let followed = Path::new("changes.jsonl");
        assert!(parse(words).check_ca(Some(followed)).is_err());
    }

    #[test]
    fn private_tokens_need_an_origin_and_a_registry() {
        let issuer = "privacy-pass = \"issuer.example=keys.json\"\n";
        let origin = "privacy-pass-origin = [\"pir.example\"]\n";
        let not_before = "privacy-pass-not-before = \"2026-01-31T12:00:00Z\"\n";
        for (text, part) in [
            (origin.to_owned(), "give --privacy-pass ISSUER"),
            (not_before.to_owned(), "give --privacy-pass ISSUER"),
            (issuer.to_owned(), "give --privacy-pass-origin HOST"),
            (format!("{issuer}{origin}"), "give --registry DIR"),
        ] {
            let message = parse(&text).config().map(drop).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }

        let complete = format!("{issuer}{origin}{not_before}registry = \"clients\"\n");
        let settings = parse(&complete).config().unwrap().privacy_pass.unwrap();
        let restored = papir_store::parse_timestamp("2026-01-31T12:00:00Z");
        assert_eq!(settings.not_before, restored);
        assert_eq!(settings.issuer.as_deref(), Some("issuer.example"));
        assert_eq!(settings.origins, ["pir.example"]);
    }

    #[test]
    fn certificates_are_complete() {
        for (text, part) in [
            ("tls-cert = \"a\"", "tls-key"),
            ("client-ca = \"a\"", "--tls-cert"),
            (
                "tls-cert = \"a\"\ntls-key = \"a\"\nclient-crl = \"a\"",
                "--client-ca",
            ),
        ] {
            let message = parse(text).config().map(drop).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
