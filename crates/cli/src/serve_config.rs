//! What `papir serve` is told: by flags, else by the environment, else by a file, else the defaults.

use std::fmt::Display;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use papir_server::{
    ClientLimits, DatabaseConfig, Listen, Protection, Rate, RegistryConfig, ServerConfig, Sources, TlsFiles,
    TokenSource, TrustedProxies,
};
use papir_store::remote::Location;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::remote;
use crate::spans::Span;
use papir_plan::units::Bytes;

/// What every variable starts with that sets an option.
pub(crate) const VARIABLES: &str = "PAPIR_SERVE_";
/// Names the snapshots where no argument does, separated as in PATH.
pub(crate) const FILES_VARIABLE: &str = "PAPIR_SERVE_FILES";
/// Longest configuration file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// The settings, each with its flag, its variable and its key in the file. What is absent in one
/// place is looked for in the next.
#[derive(Args, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct Settings {
    /// Address and port to listen on (port 0 takes a free one), or unix:/path/of/a/socket, which only
    /// its owner may use [default: 127.0.0.1:7470].
    #[arg(long, value_name = "ADDRESS", env = "PAPIR_SERVE_LISTEN")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    listen: Option<Listen>,
    /// Threads that answer a database; 0 takes one a core [default: 0].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_THREADS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<usize>,
    /// Databases that are answered at the same time, each on threads of its own [default: 2]. Requests
    /// for one database that wait are answered together.
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_MAX_CONCURRENT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_concurrent: Option<usize>,
    /// Requests that may be uploading or waiting besides; more are told to come later [default: 64].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_MAX_QUEUED")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_queued: Option<usize>,
    /// Connections; the one that has waited longest without a request makes room for a new one
    /// [default: 512].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_MAX_CONNECTIONS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_connections: Option<usize>,
    /// Time for the headers of a request, TLS handshake included, and between two requests
    /// [default: 20s].
    #[arg(long, value_name = "TIME", env = "PAPIR_SERVE_HEADER_TIMEOUT")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    header_timeout: Option<Span>,
    /// Time for the body of a request, and for a client to take more of an answer [default: 30s].
    #[arg(long, value_name = "TIME", env = "PAPIR_SERVE_BODY_TIMEOUT")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    body_timeout: Option<Span>,
    /// Certificate chain, PEM; with --tls-key the service speaks HTTPS. Read again at SIGHUP.
    #[arg(long, value_name = "FILE", env = "PAPIR_SERVE_TLS_CERT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key, PEM.
    #[arg(long, value_name = "FILE", env = "PAPIR_SERVE_TLS_KEY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_key: Option<PathBuf>,
    /// Token file, as `papir tokens` makes it: nobody asks without one of its tokens.
    #[arg(long, value_name = "FILE", env = "PAPIR_SERVE_TOKENS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<PathBuf>,
    /// Requests of one client in the long run, as 5/s, 300/min or 1000/h; each query of a batch counts.
    #[arg(long, value_name = "N/UNIT", env = "PAPIR_SERVE_RATE")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    rate: Option<Rate>,
    /// Requests that one client may send at once after a pause, with --rate [default: 20].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_BURST")]
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<u32>,
    /// Requests of one client at the same time; 0 for no limit [default: 0].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_PER_CLIENT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    per_client: Option<usize>,
    /// Proxies whose X-Forwarded-For or Forwarded says whose request it is, for --rate and --per-client:
    /// networks as 10.0.0.0/8, and unix for a Unix socket; separated by commas.
    #[arg(long, value_name = "CIDR|unix", env = "PAPIR_SERVE_TRUST_PROXY")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    trust_proxy: Option<TrustedProxies>,
    /// Serve even schemes that hide nothing from the server.
    #[arg(
        long,
        visible_alias = "insecure-newton",
        value_name = "BOOL",
        env = "PAPIR_SERVE_ALLOW_NOT_PRIVATE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_not_private: Option<bool>,
    /// How long the version before is still answered after a swap (10m, 90s, 0); at most two are kept
    /// [default: 10m].
    #[arg(long, value_name = "TIME", env = "PAPIR_SERVE_KEEP_OLD")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    keep_old: Option<Span>,
    /// Load a FILE when another one takes its place; looks every second, or every SECONDS.
    #[arg(long, value_name = "SECONDS", env = "PAPIR_SERVE_WATCH", num_args = 0..=1,
          default_missing_value = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    watch: Option<NonZeroU32>,
    /// Leave out the route /metrics.
    #[arg(long, value_name = "BOOL", env = "PAPIR_SERVE_NO_METRICS", num_args = 0..=1,
          require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    #[serde(skip_serializing_if = "Option::is_none")]
    no_metrics: Option<bool>,
    /// Folder for copies of databases that lie in object stores; the user's folder of caches by default.
    #[arg(long, value_name = "DIR", env = "PAPIR_SERVE_CACHE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<PathBuf>,
    /// Keep registered clients in this directory; databases whose clients have keys need it.
    #[arg(long, value_name = "DIR", env = "PAPIR_SERVE_REGISTRY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    registry: Option<PathBuf>,
    /// How long after its last use a registered client is gone [default: 30d].
    #[arg(long, value_name = "TIME", env = "PAPIR_SERVE_CLIENT_TTL")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    client_ttl: Option<Span>,
    /// Most registered clients of a database; beyond, the least recently used one has to go
    /// [default: 10000].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_MAX_CLIENTS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_clients: Option<NonZeroU64>,
    /// Most bytes of keys and tickets of a database's registered clients, as 16GiB [default: 16GiB].
    #[arg(long, value_name = "BYTES", env = "PAPIR_SERVE_MAX_CLIENT_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    max_client_bytes: Option<Bytes>,
    /// Tickets that are prepared ahead for each registered client, 1 to 64 [default: 4].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_TICKETS_AHEAD")]
    #[serde(skip_serializing_if = "Option::is_none")]
    tickets_ahead: Option<NonZeroU64>,
    /// Answer `papir clients URL list` with the clients' names. Whoever has a name can use that client.
    #[arg(long, value_name = "BOOL", env = "PAPIR_SERVE_LIST_CLIENTS", num_args = 0..=1,
          require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    #[serde(skip_serializing_if = "Option::is_none")]
    list_clients: Option<bool>,
    /// How the log is written on stderr [default: text].
    #[arg(long, value_name = "FORMAT", env = "PAPIR_SERVE_LOG_FORMAT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    log_format: Option<LogFormat>,
    /// The databases: by arguments, or in the file.
    #[arg(skip)]
    #[serde(rename = "database", skip_serializing_if = "Vec::is_empty")]
    pub(crate) databases: Vec<Snapshot>,
}

/// How log lines are written.
#[derive(Clone, Copy, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// One `[[database]]`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Snapshot {
    /// Its name in addresses; its file's stem where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Its file.
    pub(crate) path: PathBuf,
    /// A token file for this database alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<PathBuf>,
}

/// Values that stand in a file as their text.
mod text {
    use super::{Display, FromStr};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<T: Display, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.collect_str(value),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        text.parse().map(Some).map_err(D::Error::custom)
    }
}

impl Settings {
    /// Reads a file. Relative paths in it start at its folder.
    ///
    /// # Errors
    /// One line that names the file, and the line and key at fault.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let named = |reason: String| Failure::new(format!("{}: {reason}", path.display()));
        let size = std::fs::metadata(path).map_err(|error| named(error.to_string()))?.len();
        if size > LONGEST {
            return Err(named(format!("{size} bytes: expected at most {LONGEST}")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| named(error.to_string()))?;
        let mut settings = Self::parse(&text)
            .map_err(|(line, reason)| Failure::new(format!("{}:{line}: {reason}", path.display())))?;
        settings.start_at(path.parent().unwrap_or(Path::new("")));
        Ok(settings)
    }

    /// The settings of a file's text, or the line and what is wrong there.
    fn parse(text: &str) -> Result<Self, (usize, String)> {
        toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            (before.matches('\n').count() + 1, error.message().to_owned())
        })
    }

    fn start_at(&mut self, folder: &Path) {
        let own =
            [&mut self.tls_cert, &mut self.tls_key, &mut self.tokens, &mut self.cache, &mut self.registry];
        let own = own.into_iter().flatten();
        let databases = self.databases.iter_mut();
        let of_databases =
            databases.flat_map(|database| [Some(&mut database.path), database.tokens.as_mut()]);
        for path in own.chain(of_databases.flatten()) {
            if !path.to_str().is_some_and(Location::is_address) {
                *path = folder.join(&*path);
            }
        }
    }

    /// These settings, and those of `other` where these are absent.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            listen: self.listen.or(other.listen),
            threads: self.threads.or(other.threads),
            max_concurrent: self.max_concurrent.or(other.max_concurrent),
            max_queued: self.max_queued.or(other.max_queued),
            max_connections: self.max_connections.or(other.max_connections),
            header_timeout: self.header_timeout.or(other.header_timeout),
            body_timeout: self.body_timeout.or(other.body_timeout),
            tls_cert: self.tls_cert.or(other.tls_cert),
            tls_key: self.tls_key.or(other.tls_key),
            tokens: self.tokens.or(other.tokens),
            rate: self.rate.or(other.rate),
            burst: self.burst.or(other.burst),
            per_client: self.per_client.or(other.per_client),
            trust_proxy: self.trust_proxy.or(other.trust_proxy),
            allow_not_private: self.allow_not_private.or(other.allow_not_private),
            keep_old: self.keep_old.or(other.keep_old),
            watch: self.watch.or(other.watch),
            no_metrics: self.no_metrics.or(other.no_metrics),
            cache: self.cache.or(other.cache),
            registry: self.registry.or(other.registry),
            client_ttl: self.client_ttl.or(other.client_ttl),
            max_clients: self.max_clients.or(other.max_clients),
            max_client_bytes: self.max_client_bytes.or(other.max_client_bytes),
            tickets_ahead: self.tickets_ahead.or(other.tickets_ahead),
            list_clients: self.list_clients.or(other.list_clients),
            log_format: self.log_format.or(other.log_format),
            databases: if self.databases.is_empty() { other.databases } else { self.databases },
        }
    }

    /// How the log is to be written.
    pub(crate) fn log_format(&self) -> LogFormat {
        self.log_format.unwrap_or_default()
    }

    /// What is served where nothing is told.
    pub(crate) fn defaults() -> Self {
        let default = ServerConfig::default();
        let ServerConfig { listen, threads, max_concurrent, max_queued, .. } = default;
        let ServerConfig { body_timeout, protection, keep_old, metrics, .. } = default;
        Self {
            listen: Some(listen),
            threads: Some(threads),
            max_concurrent: Some(max_concurrent),
            max_queued: Some(max_queued),
            max_connections: Some(protection.max_connections),
            header_timeout: Some(Span(protection.header_timeout)),
            body_timeout: Some(Span(body_timeout)),
            burst: Some(20),
            per_client: Some(0),
            allow_not_private: Some(false),
            keep_old: Some(Span(keep_old)),
            no_metrics: Some(!metrics),
            log_format: Some(LogFormat::default()),
            ..Self::default()
        }
    }

    /// As the service takes them, everything that is absent by default.
    ///
    /// # Errors
    /// One line for settings that contradict each other.
    pub(crate) fn config(self) -> Result<ServerConfig, Failure> {
        let tokens = self.token_sources()?;
        for (name, span) in [("header-timeout", self.header_timeout), ("body-timeout", self.body_timeout)] {
            if span == Some(Span(Duration::ZERO)) {
                return Err(Failure::new(format!("{name} is 0: nobody would be in time")));
            }
        }
        let registry = self.registry()?;
        let (databases, sources) = self.databases()?;
        let tls = match (self.tls_cert, self.tls_key) {
            (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key }),
            (None, None) => None,
            _ => return Err(Failure::new("tls-cert and tls-key: expected both or none")),
        };
        let default = ServerConfig::default();
        let limits = ClientLimits {
            rate: self.rate,
            burst: self.burst.unwrap_or_default(),
            per_client: self.per_client.unwrap_or_default(),
        };
        if self.allow_not_private.unwrap_or_default() {
            papir_research::register()?;
        }
        let times = &default.protection;
        let protection = Protection {
            tls,
            tokens,
            limits,
            proxies: self.trust_proxy.unwrap_or_default(),
            header_timeout: self.header_timeout.map_or(times.header_timeout, |span| span.0),
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
            allow_not_private: self.allow_not_private.unwrap_or_default(),
            body_timeout: self.body_timeout.map_or(default.body_timeout, |span| span.0),
            keep_old: self.keep_old.map_or(default.keep_old, |span| span.0),
            watch: self.watch.map(|seconds| Duration::from_secs(seconds.get().into())),
            metrics: !self.no_metrics.unwrap_or_default(),
            protection,
            psi: None,
            on_query: None,
        })
    }

    /// The files to serve; of those that lie in object stores, their copies in the cache.
    fn databases(&self) -> Result<(Vec<DatabaseConfig>, Sources), Failure> {
        let mut sources = Sources::default();
        let mut database = |one: &Snapshot| {
            let path = remote::local(&one.path, self.cache.as_ref(), &mut sources)?;
            Ok(DatabaseConfig::new(path, one.name.clone()))
        };
        let databases = self.databases.iter().map(&mut database).collect::<Result<_, Failure>>()?;
        Ok((databases, sources))
    }

    /// The client registry's, where there is one.
    fn registry(&self) -> Result<Option<RegistryConfig>, Failure> {
        let Some(directory) = &self.registry else {
            return self.without_registry().map(|()| None);
        };
        let mut config = RegistryConfig::new(directory);
        config.ttl = self.client_ttl.map_or(config.ttl, |span| span.0);
        config.max_clients = self.max_clients.map_or(config.max_clients, NonZeroU64::get);
        config.max_bytes = self.max_client_bytes.map_or(config.max_bytes, |bytes| bytes.0);
        config.tickets_ahead = self.tickets_ahead.map_or(config.tickets_ahead, NonZeroU64::get);
        config.allow_list = self.list_clients.unwrap_or_default();
        match config.tickets_ahead {
            1..=64 => Ok(Some(config)),
            found => Err(Failure::new(format!("tickets-ahead is {found}: expected 1 to 64"))),
        }
    }

    /// Refuses what says something of a registry that is not there.
    fn without_registry(&self) -> Result<(), Failure> {
        let told = [
            ("client-ttl", self.client_ttl.is_some()),
            ("max-clients", self.max_clients.is_some()),
            ("max-client-bytes", self.max_client_bytes.is_some()),
            ("tickets-ahead", self.tickets_ahead.is_some()),
            ("list-clients", self.list_clients == Some(true)),
        ];
        match told.into_iter().find(|(_, told)| *told) {
            Some((name, _)) => Err(Failure::new(format!("{name} without a registry: give --registry DIR"))),
            None => Ok(()),
        }
    }

    fn token_sources(&self) -> Result<Vec<TokenSource>, Failure> {
        let common = self.tokens.iter().map(|path| TokenSource { path: path.clone(), only: None });
        let mut sources: Vec<_> = common.collect();
        for database in &self.databases {
            let name = DatabaseConfig::new(&database.path, database.name.clone()).name;
            let own = database
                .tokens
                .iter()
                .map(|path| TokenSource { path: path.clone(), only: Some(name.clone()) });
            sources.extend(own);
        }
        let shut = self.databases.iter().find(|one| self.tokens.is_none() && one.tokens.is_none());
        match shut {
            Some(shut) if !sources.is_empty() => Err(Failure::new(format!(
                "{}: other databases have tokens and this one has none: nobody could ask it",
                shut.path.display()
            ))),
            _ => Ok(sources),
        }
    }

    /// The settings as a file would hold them. There is nothing secret in them: certificates and
    /// tokens are named by their files.
    pub(crate) fn print(&self) -> Result<String, Failure> {
        Ok(toml::to_string(self)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Settings {
        Settings::parse(text).unwrap()
    }

    #[test]
    fn what_comes_first_wins() {
        let flags = parse("threads = 1\nlisten = \"127.0.0.1:1\"");
        let file = parse("threads = 2\nmax-queued = 7\n[[database]]\npath = \"a.papir\"");
        let config = flags.or(file).or(Settings::defaults()).config().unwrap();
        assert_eq!((config.threads, config.max_queued), (1, 7));
        assert_eq!(config.listen.to_string(), "127.0.0.1:1");
        assert_eq!(config.body_timeout, ServerConfig::default().body_timeout);
        assert_eq!(config.databases[0].name, "a");
    }

    #[test]
    fn the_defaults_are_those_of_the_service() {
        let (config, default) = (Settings::defaults().config().unwrap(), ServerConfig::default());
        assert_eq!((config.listen, config.threads), (default.listen, default.threads));
        assert_eq!((config.max_concurrent, config.max_queued), (default.max_concurrent, default.max_queued));
        let limits = ClientLimits { burst: 20, ..ClientLimits::default() };
        assert_eq!(config.protection, Protection { limits, ..default.protection });
    }

    #[test]
    fn settings_are_printed_as_they_are_read() {
        let text =
            Settings::defaults().or(parse("rate = \"5/s\"\n[[database]]\npath = \"a.papir\"\n")).print();
        let text = text.unwrap();
        assert_eq!(parse(&text).print().unwrap(), text);
        assert!(text.contains("rate = \"5/s\"") && text.contains("header-timeout = \"20s\""), "{text}");
    }

    #[test]
    fn faults_name_line_and_key() {
        for (text, line, part) in [
            ("threads = 1\nthread = 2", 2, "thread"),
            ("\n\nthreads = \"many\"", 3, "many"),
            ("body-timeout = \"soon\"", 1, "soon"),
            ("listen = \"nowhere\"", 1, "nowhere"),
            ("rate = \"5\"", 1, "5/s"),
            ("trust-proxy = \"10.0.0.1/8\"", 1, "10.0.0.1/8"),
            ("[[database]]\nname = \"a\"", 1, "path"),
            ("[[database]]\npath = \"a\"\nfile = \"b\"", 3, "file"),
            ("threads = ", 1, ""),
        ] {
            let (found, reason) = Settings::parse(text).map(drop).unwrap_err();
            assert!(found == line && reason.contains(part), "{text}: line {found}, {reason}");
        }
    }

    #[test]
    fn a_database_that_nobody_could_ask_is_refused() {
        let two = "[[database]]\npath = \"a.papir\"\ntokens = \"a.toml\"\n[[database]]\npath = \"b.papir\"\n";
        let message = parse(two).config().map(drop).unwrap_err().to_string();
        assert!(message.contains("b.papir"), "{message}");
        let sources = parse(&format!("tokens = \"all.toml\"\n{two}")).config().unwrap().protection.tokens;
        assert_eq!(sources.iter().map(|one| one.only.as_deref()).collect::<Vec<_>>(), [None, Some("a")]);
        assert!(parse("tls-cert = \"a\"").config().is_err());
    }
}
