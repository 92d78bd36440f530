//! Settings of `papir serve`: flags, environment, configuration file, defaults.

use std::fmt::Display;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use papir_client::ProxySetting;
use papir_server::{ListedRelays, Listen, Login, Origin, Rate, ServerConfig, TrustedProxies};
use papir_store::Verify;
use papir_store::remote::Location;
use serde::{Deserialize, Serialize};

use crate::arguments::duration::Span;
use crate::arguments::network::Network;
use crate::arguments::proxy::ProxyParser;
use crate::failure::Failure;
use crate::service::private_tokens::{IssuerArgument, Moment};
use crate::service::traces::{Share, Traces};
use papir_plan::units::Bytes;

mod server;

pub(crate) use server::registry_place;

/// Prefix of the environment variables that set options.
pub(crate) const VARIABLES: &str = "PAPIR_SERVE_";
/// Variable that lists the snapshots to serve if no argument does; separated as in PATH, but not at
/// the `:` of a URL's `://`.
pub(crate) const FILES_VARIABLE: &str = "PAPIR_SERVE_FILES";
/// Maximum length of a configuration file in bytes.
const MAX_CONFIG_FILE: u64 = 1 << 20;
/// The value of `page` that looks for the page where an installation has it.
const FIND_PAGE: &str = "auto";

/// The settings. Each has a flag, an environment variable and a key in the configuration file, in
/// this order of precedence.
#[derive(Args, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct Settings {
    /// Address or host name, and port to listen on (port 0 picks a free port), or
    /// unix:/path/of/a/socket, which is accessible only to its owner [default: 127.0.0.1:7470].
    #[arg(long, value_name = "ADDRESS", env = "PAPIR_SERVE_LISTEN")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    listen: Option<Listen>,
    /// Threads that answer queries to one database version; 0 means one per core [default: 0].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_THREADS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    threads: Option<usize>,
    /// Database versions that are answered at the same time, each on its own threads [default: 2].
    /// Waiting requests for the same version are answered together.
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_MAX_CONCURRENT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_concurrent: Option<usize>,
    /// Further requests that may wait; beyond it, the client with the most waiting requests must
    /// retry later [default: 1024].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_MAX_QUEUED")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_queued: Option<usize>,
    /// Memory for the bodies of requests that are arriving or waiting; answers may hold four times
    /// as much [default: 256MiB].
    #[arg(long, value_name = "SIZE", env = "PAPIR_SERVE_MAX_UPLOAD_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    max_upload_bytes: Option<Bytes>,
    /// Open connections; when full, a new connection replaces one of the network with the most
    /// [default: 2048].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_MAX_CONNECTIONS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_connections: Option<usize>,
    /// Time limit for the headers of a request, including the TLS handshake, and for the pause
    /// between two requests [default: 20s].
    #[arg(long, value_name = "TIME", env = "PAPIR_SERVE_HEADER_TIMEOUT")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    header_timeout: Option<Span>,
    /// Time limit for the body of a request, and for a client to read more of an answer [default:
    /// 30s].
    #[arg(long, value_name = "TIME", env = "PAPIR_SERVE_BODY_TIMEOUT")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    body_timeout: Option<Span>,
    /// Certificate chain in PEM; together with --tls-key it enables HTTPS. Reloaded on SIGHUP.
    #[arg(long, value_name = "FILE", env = "PAPIR_SERVE_TLS_CERT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key in PEM.
    #[arg(long, value_name = "FILE", env = "PAPIR_SERVE_TLS_KEY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    tls_key: Option<PathBuf>,
    /// Certificates in PEM of authorities that sign clients' certificates. Connections without a
    /// valid one are then refused; --ca checks no client. Reloaded on SIGHUP, like the next.
    #[arg(long, value_name = "FILE", env = "PAPIR_SERVE_CLIENT_CA")]
    #[serde(skip_serializing_if = "Option::is_none")]
    client_ca: Option<PathBuf>,
    /// Revocation lists in PEM of these authorities.
    #[arg(long, value_name = "FILE", env = "PAPIR_SERVE_CLIENT_CRL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    client_crl: Option<PathBuf>,
    /// Token file, as created by `papir tokens`. Requests then need one of its tokens.
    #[arg(long, value_name = "FILE", env = "PAPIR_SERVE_TOKENS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<PathBuf>,
    /// Sustained rate of requests per client, as in 5/s, 300/min or 1000/h; each query of a batch
    /// counts.
    #[arg(long, value_name = "N/UNIT", env = "PAPIR_SERVE_RATE")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    rate: Option<Rate>,
    /// Requests that one client may send at once after a pause, with --rate [default: 20].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_BURST")]
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<u32>,
    /// Concurrent requests per client; 0 means no limit [default: 0].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_PER_CLIENT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    per_client: Option<usize>,
    /// Proxies whose X-Forwarded-For or Forwarded header is trusted to identify the client, for
    /// --rate and --per-client: networks such as 10.0.0.0/8, or unix for a Unix socket, separated
    /// by commas.
    #[arg(long, value_name = "CIDR|unix", env = "PAPIR_SERVE_TRUST_PROXY")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    trust_proxy: Option<TrustedProxies>,
    /// Relays of Oblivious HTTP whose clients have half of the places and of the memory if other
    /// clients want the rest, with --ohttp: networks such as 192.0.2.7, or unix for a Unix socket,
    /// separated by commas. Any other relay counts as one client.
    #[arg(long, value_name = "CIDR|unix", env = "PAPIR_SERVE_RELAYS")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    relays: Option<ListedRelays>,
    /// Web origin, such as https://app.example, whose pages may use the service (CORS); can be
    /// given several times, and * allows all.
    #[arg(
        long,
        value_name = "ORIGIN",
        env = "PAPIR_SERVE_ALLOW_ORIGIN",
        value_delimiter = ','
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_origin: Option<Vec<Origin>>,
    /// Serve even schemes that reveal queries to the server.
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
    /// Map database files instead of reading them into memory, for files larger than the memory. A
    /// program that then writes to such a file changes the answers, or ends the service.
    #[arg(long, value_name = "BOOL", env = "PAPIR_SERVE_MAPPED", num_args = 0..=1,
          require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    #[serde(skip_serializing_if = "Option::is_none")]
    mapped: Option<bool>,
    /// Time at which checksums of databases are verified. With lazy and --mapped, the service is
    /// ready at once: it answers while it verifies, and takes out a damaged version [default:
    /// load].
    #[arg(long, value_name = "WHEN", env = "PAPIR_SERVE_VERIFY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    verify: Option<VerifyWhen>,
    /// GPU that answers, as in cuda:0. It holds the matrices of inspire, inspire2 and simple. If it
    /// fails, the CPU answers.
    #[arg(long, value_name = "DEVICE", env = "PAPIR_SERVE_DEVICE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    /// Time for which the previous version is still answered after a swap, as in 10m, 90s or 0,
    /// also by a service that starts meanwhile and finds it; at most two are kept [default: 10m].
    #[arg(long, value_name = "TIME", env = "PAPIR_SERVE_KEEP_OLD")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    keep_old: Option<Span>,
    /// Time after SIGTERM for which /readyz returns 503 while queries are still answered, so that
    /// balancers send no more [default: 0s].
    #[arg(long, value_name = "TIME", env = "PAPIR_SERVE_LAME_DUCK")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    lame_duck: Option<Span>,
    /// Time after that for which running requests are finished [default: 1m].
    #[arg(long, value_name = "TIME", env = "PAPIR_SERVE_STOP_TIMEOUT")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    stop_timeout: Option<Span>,
    /// Reload a FILE when it is replaced; check every second, or every SECONDS.
    #[arg(long, value_name = "SECONDS", env = "PAPIR_SERVE_WATCH", num_args = 0..=1,
          default_missing_value = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    watch: Option<NonZeroU32>,
    /// Disable the route /metrics.
    #[arg(long, value_name = "BOOL", env = "PAPIR_SERVE_NO_METRICS", num_args = 0..=1,
          require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    #[serde(skip_serializing_if = "Option::is_none")]
    no_metrics: Option<bool>,
    /// Serve a page for lookups in browsers at /page/: the files of DIR, as `make page` builds it.
    /// Without DIR, the folder `page` beside the program, or ../share/papir/page.
    #[arg(long, value_name = "DIR", env = "PAPIR_SERVE_PAGE", num_args = 0..=1, require_equals = true,
          default_missing_value = FIND_PAGE)]
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<PathBuf>,
    /// Certificates in PEM to trust, and no others, in the service's own connections, to object
    /// stores, PostgreSQL, the issuer of private tokens, the collector of traces and an https://
    /// proxy: of authorities, or the server's own if it is self-signed [default: those in
    /// SSL_CERT_FILE and SSL_CERT_DIR, else those of the system]. For the certificates of clients,
    /// see --client-ca.
    #[arg(long, value_name = "FILE", env = "PAPIR_SERVE_CA")]
    #[serde(skip_serializing_if = "Option::is_none")]
    ca: Option<PathBuf>,
    /// Proxy for connections to object stores, to the issuer of private tokens and to the collector
    /// of traces: http://, https:// or socks5://[NAME:PASSWORD@]HOST:PORT; none connects directly
    /// [default: the one in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY]. PostgreSQL is refused if one
    /// applies.
    #[arg(
        long,
        value_name = "URL|none",
        value_parser = ProxyParser,
        env = "PAPIR_SERVE_PROXY",
        hide_env_values = true
    )]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    proxy: Option<ProxySetting>,
    /// Folder for copies of databases from object stores [default: the user's cache folder].
    #[arg(long, value_name = "DIR", env = "PAPIR_SERVE_CACHE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<PathBuf>,
    /// Directory for registered clients, or postgres://USER@HOST/DATABASE, which several services
    /// may share; required by databases whose clients register keys. The password comes from
    /// PGPASSWORD or PGPASSFILE.
    #[arg(long, value_name = "DIR|URL", env = "PAPIR_SERVE_REGISTRY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    registry: Option<PathBuf>,
    /// Folder in an object store for the long keys of clients in PostgreSQL, as in
    /// s3://bucket/papir [default: in PostgreSQL].
    #[arg(long, value_name = "URL", env = "PAPIR_SERVE_REGISTRY_KEYS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    registry_keys: Option<String>,
    /// Time after its last use at which a registered client expires [default: 30d].
    #[arg(long, value_name = "TIME", env = "PAPIR_SERVE_CLIENT_TTL")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    client_ttl: Option<Span>,
    /// Maximum number of registered clients per database; above it, idle ones make room, and new
    /// ones are refused if there are none [default: 10000].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_MAX_CLIENTS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_clients: Option<NonZeroU64>,
    /// Maximum size of the keys and tickets of a database's registered clients, as in 16GiB
    /// [default: 16GiB].
    #[arg(long, value_name = "BYTES", env = "PAPIR_SERVE_MAX_CLIENT_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    max_client_bytes: Option<Bytes>,
    /// Tickets prepared in advance for each registered client that has queried, 1 to 64
    /// [default: 4].
    #[arg(long, value_name = "N", env = "PAPIR_SERVE_TICKETS_AHEAD")]
    #[serde(skip_serializing_if = "Option::is_none")]
    tickets_ahead: Option<NonZeroU64>,
    /// Let `papir clients URL list` return the clients' identifiers. Anyone who knows an identifier
    /// can use that client.
    #[arg(long, value_name = "BOOL", env = "PAPIR_SERVE_LIST_CLIENTS", num_args = 0..=1,
          require_equals = true, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    #[serde(skip_serializing_if = "Option::is_none")]
    list_clients: Option<bool>,
    /// Answer requests that clients seal and send over a relay (Oblivious HTTP): the file with the
    /// private keys, which is made if it does not exist. Services behind one name share it.
    #[arg(long, value_name = "FILE", env = "PAPIR_SERVE_OHTTP")]
    #[serde(skip_serializing_if = "Option::is_none")]
    ohttp: Option<PathBuf>,
    /// Issuer of private tokens (Privacy Pass): https://HOST[:PORT], or NAME=FILE with its
    /// directory of keys. Each query request and registration then costs one of its tokens. Needs
    /// --registry for spent tokens. Bearer tokens remain valid.
    #[arg(long, value_name = "ISSUER", env = "PAPIR_SERVE_PRIVACY_PASS")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    privacy_pass: Option<IssuerArgument>,
    /// Public host name of this service, to which private tokens are bound, with the port unless it
    /// is 443; can be given several times for clients of other authors, as papir's accept one only.
    #[arg(
        long,
        value_name = "HOST",
        env = "PAPIR_SERVE_PRIVACY_PASS_ORIGIN",
        value_delimiter = ','
    )]
    #[serde(skip_serializing_if = "Option::is_none")]
    privacy_pass_origin: Option<Vec<String>>,
    /// Time such as 2026-01-31T12:00:00Z: private tokens of keys that began earlier are refused.
    /// Give the time at which a registry was restored from a backup, or was lost.
    #[arg(long, value_name = "TIME", env = "PAPIR_SERVE_PRIVACY_PASS_NOT_BEFORE")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    privacy_pass_not_before: Option<Moment>,
    /// Format of the log on stderr [default: text].
    #[arg(long, value_name = "FORMAT", env = "PAPIR_SERVE_LOG_FORMAT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    log_format: Option<LogFormat>,
    /// OpenTelemetry collector that receives a trace of each request, as in http://127.0.0.1:4318
    /// (OTLP over HTTP).
    #[arg(long, value_name = "URL", env = "PAPIR_SERVE_OTLP")]
    #[serde(skip_serializing_if = "Option::is_none")]
    otlp: Option<String>,
    /// Share of the requests that are traced, from 0 to 1, with --otlp [default: 1].
    #[arg(long, value_name = "RATIO", env = "PAPIR_SERVE_OTLP_SAMPLE")]
    #[serde(skip_serializing_if = "Option::is_none", with = "text")]
    otlp_sample: Option<Share>,
    /// The databases, from the arguments or the file.
    #[arg(skip)]
    #[serde(rename = "database", skip_serializing_if = "Vec::is_empty")]
    pub(crate) databases: Vec<Snapshot>,
}

/// Formats of the log.
#[derive(Clone, Copy, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// Human-readable lines.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Times at which checksums are verified.
#[derive(Clone, Copy, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum VerifyWhen {
    /// Before a database is served.
    #[default]
    Load,
    /// While it is served.
    Lazy,
}

impl From<VerifyWhen> for Verify {
    fn from(when: VerifyWhen) -> Self {
        match when {
            VerifyWhen::Load => Self::Load,
            VerifyWhen::Lazy => Self::Lazy,
        }
    }
}

/// A `[[database]]` table of the configuration file.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Snapshot {
    /// Its name in URLs; by default the file name without extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Its file.
    pub(crate) path: PathBuf,
    /// A token file for this database only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<PathBuf>,
}

/// Serialization of values as text.
mod text {
    use super::{Display, FromStr};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
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

/// A fault in the text of a configuration file.
#[derive(Debug)]
struct SyntaxError {
    line: usize,
    reason: String,
}

impl Settings {
    /// Reads a configuration file. Relative paths in it are resolved against its folder. An error
    /// names the file, the line and the invalid key.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        // Checked before it is read: a wrong path may name a database of gigabytes.
        let size = std::fs::metadata(path)
            .map_err(|error| Failure::at(path, error))?
            .len();
        if size > MAX_CONFIG_FILE {
            let found = format!("{size} bytes: expected at most {MAX_CONFIG_FILE}");
            return Err(Failure::at(path, found));
        }

        let text = std::fs::read_to_string(path).map_err(|error| Failure::at(path, error))?;
        let mut settings = Self::parse(&text).map_err(|SyntaxError { line, reason }| {
            Failure::new(format!("{}:{line}: {reason}", path.display()))
        })?;

        settings.resolve_paths(path.parent().unwrap_or(Path::new("")));
        Ok(settings)
    }

    /// Parses a file's text.
    fn parse(text: &str) -> Result<Self, SyntaxError> {
        toml::from_str(text).map_err(|error| {
            let before = error
                .span()
                .and_then(|span| text.get(..span.start))
                .unwrap_or_default();
            SyntaxError {
                line: before.matches('\n').count() + 1,
                reason: error.message().to_owned(),
            }
        })
    }

    /// Joins relative paths to a folder. Addresses and the value `auto` of the page stay.
    fn resolve_paths(&mut self, folder: &Path) {
        let own = [
            &mut self.tls_cert,
            &mut self.tls_key,
            &mut self.client_ca,
            &mut self.client_crl,
            &mut self.ca,
            &mut self.tokens,
            &mut self.cache,
            &mut self.registry,
            &mut self.ohttp,
        ];
        let own = own.into_iter().flatten();
        let databases = self.databases.iter_mut();
        let of_databases =
            databases.flat_map(|database| [Some(&mut database.path), database.tokens.as_mut()]);

        for path in own.chain(of_databases.flatten()) {
            if !is_address(path) {
                *path = folder.join(&*path);
            }
        }
        if let Some(page) = &mut self.page
            && page.as_path() != Path::new(FIND_PAGE)
        {
            *page = folder.join(&*page);
        }
        if let Some(issuer) = &mut self.privacy_pass {
            issuer.resolve(folder);
        }
    }

    /// These settings, with missing ones taken from `other`.
    pub(crate) fn or(self, other: Self) -> Self {
        // The compiler finds a field that is missing here.
        macro_rules! merged {
            ($($field:ident)*) => {
                Self {
                    $($field: self.$field.or(other.$field),)*
                    databases: if self.databases.is_empty() { other.databases } else { self.databases },
                }
            };
        }

        merged! {
             listen threads max_concurrent max_queued max_upload_bytes max_connections header_timeout
             body_timeout tls_cert tls_key client_ca client_crl tokens rate burst per_client
             trust_proxy allow_origin allow_not_private mapped verify device lame_duck stop_timeout keep_old watch
             no_metrics page ca proxy cache registry registry_keys client_ttl max_clients max_client_bytes
             tickets_ahead list_clients ohttp privacy_pass privacy_pass_origin
             privacy_pass_not_before relays log_format otlp otlp_sample
        }
    }

    /// The proxy and the certificates of the service's own connections, by default the
    /// environment's.
    pub(crate) fn network(&self) -> Network {
        Network {
            proxy: self.proxy.clone().unwrap_or_default(),
            ca: self.ca.clone(),
        }
    }

    /// The log format to use.
    pub(crate) fn log_format(&self) -> LogFormat {
        self.log_format.unwrap_or_default()
    }

    /// Starts the export of traces, if it is configured. Fails if the address is invalid, or if
    /// this build exports no traces.
    pub(crate) fn traces(&self) -> Result<Option<Traces>, Failure> {
        match &self.otlp {
            Some(url) => {
                let share = self.otlp_sample.unwrap_or_default();
                Traces::start(url, share, &self.network()).map(Some)
            }
            None if self.otlp_sample.is_some() => {
                Err(Failure::new("otlp-sample without otlp: give --otlp URL"))
            }
            None => Ok(None),
        }
    }

    /// The default settings.
    pub(crate) fn defaults() -> Self {
        let default = ServerConfig::default();

        Self {
            listen: Some(default.listen),
            threads: Some(default.threads),
            max_concurrent: Some(default.max_concurrent),
            max_queued: Some(default.max_queued),
            max_upload_bytes: Some(Bytes(default.max_upload_bytes as u64)),
            max_connections: Some(default.protection.max_connections),
            header_timeout: Some(Span(default.protection.header_timeout)),
            body_timeout: Some(Span(default.body_timeout)),
            burst: Some(20),
            per_client: Some(0),
            allow_not_private: Some(false),
            mapped: Some(default.mapped),
            verify: Some(VerifyWhen::default()),
            lame_duck: Some(Span(default.lame_duck)),
            stop_timeout: Some(Span(default.stop_timeout)),
            keep_old: Some(Span(default.keep_old)),
            no_metrics: Some(!default.metrics),
            log_format: Some(LogFormat::default()),
            ..Self::default()
        }
    }

    /// The settings in the format of the configuration file. They contain no secrets: certificates
    /// and tokens are named by their files.
    pub(crate) fn print(&self) -> Result<String, Failure> {
        Ok(toml::to_string(self)?)
    }
}

/// Returns whether a path is an address of an object store or of PostgreSQL.
fn is_address(path: &Path) -> bool {
    path.to_str()
        .is_some_and(|text| Location::is_address(text) || Login::is_address(text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_server::{ClientLimits, Protection};

    use super::*;

    fn parse(text: &str) -> Settings {
        Settings::parse(text).unwrap()
    }

    #[test]
    fn earlier_sources_take_precedence() {
        let flags = parse("threads = 1\nlisten = \"127.0.0.1:1\"");
        let file = parse("threads = 2\nmax-queued = 7\n[[database]]\npath = \"a.papir\"");

        let config = flags.or(file).or(Settings::defaults()).config().unwrap();

        assert_eq!((config.threads, config.max_queued), (1, 7));
        assert_eq!(config.listen.to_string(), "127.0.0.1:1");
        assert_eq!(config.body_timeout, ServerConfig::default().body_timeout);
        assert_eq!(config.databases[0].name, "a");
    }

    #[test]
    fn defaults_match_the_server() {
        let config = Settings::defaults().config().unwrap();
        let default = ServerConfig::default();

        assert_eq!(
            (config.listen, config.threads),
            (default.listen, default.threads)
        );
        assert_eq!(
            (config.max_concurrent, config.max_queued),
            (default.max_concurrent, default.max_queued)
        );

        let limits = ClientLimits {
            burst: 20,
            ..ClientLimits::default()
        };
        assert_eq!(
            config.protection,
            Protection {
                limits,
                ..default.protection
            }
        );
    }

    #[test]
    fn printed_settings_round_trip() {
        let text = Settings::defaults()
            .or(parse("rate = \"5/s\"\n[[database]]\npath = \"a.papir\"\n"))
            .print();
        let text = text.unwrap();

        assert_eq!(parse(&text).print().unwrap(), text);
        assert!(
            text.contains("rate = \"5/s\"") && text.contains("header-timeout = \"20s\""),
            "{text}"
        );
    }

    #[test]
    fn errors_name_line_and_key() {
        for (text, line, part) in [
            ("threads = 1\nthread = 2", 2, "thread"),
            ("\n\nthreads = \"many\"", 3, "many"),
            ("body-timeout = \"soon\"", 1, "soon"),
            ("listen = \"nowhere\"", 1, "nowhere"),
            ("rate = \"5\"", 1, "5/s"),
            ("trust-proxy = \"10.0.0.1/8\"", 1, "10.0.0.1/8"),
            ("relays = \"relay.example\"", 1, "relay.example"),
            (
                "allow-origin = [\"https://a.example/\"]",
                1,
                "https://a.example/",
            ),
            ("[[database]]\nname = \"a\"", 1, "path"),
            ("[[database]]\npath = \"a\"\nfile = \"b\"", 3, "file"),
            ("threads = ", 1, ""),
        ] {
            let found = Settings::parse(text).map(drop).unwrap_err();
            assert!(
                found.line == line && found.reason.contains(part),
                "{text}: {found:?}"
            );
        }
    }
}
