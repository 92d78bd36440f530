//! Locations of snapshots in object stores, and their clients.

use std::fmt;
use std::sync::{Arc, Once};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{BackoffConfig, Certificate, ClientOptions, ObjectStore, RetryConfig};
use papir_core::{Error as CoreError, without_passwords};
use papir_tls::{RootList, RootSource};

use super::address::{
    ObjectStoreKind, PROXY_URL, SCHEMES, Settings, StoreProxy, UNKNOWN_SCHEME, is_address,
};
use super::error::RemoteError;
use super::http::StoreConnector;
use crate::error::{Error, Result};
use crate::file::is_special;

/// Timeout of one request. A part must fit over a slow connection.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);
/// Timeout of one read within a request.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of retries after a failure of the network or of the store.
const MAX_RETRIES: usize = 5;
/// Maximum time between the first attempt and the last.
const RETRY_TIMEOUT: Duration = Duration::from_secs(120);

/// Location of a snapshot in an object store.
#[derive(Clone)]
pub struct Location {
    kind: ObjectStoreKind,
    /// The bucket or container; empty for a folder.
    bucket: String,
    /// The snapshot's key, which the keys of its objects extend by suffixes.
    key: Key,
    /// The key of its manifest.
    pub(super) manifest: Key,
    /// The key of the manifest of the version that it replaced.
    pub(super) previous: Key,
    /// The prefix of the keys of its parts.
    pub(super) parts: Key,
    settings: Settings,
    /// A store to use instead of the one that kind and settings describe; set in tests.
    store: Option<Arc<dyn ObjectStore>>,
}

impl Location {
    /// Returns whether `text` starts with the scheme of an object store.
    pub fn is_address(text: &str) -> bool {
        is_address(text)
    }

    /// Parses `s3://bucket/path`, `gs://bucket/path`, `az://container/path` or `file:///path`.
    /// Percent signs are not decoded. `name` is appended to an address that ends in `/`.
    ///
    /// # Errors
    /// [`RemoteError::BadUrl`].
    pub fn parse(url: &str, name: Option<&str>, settings: Settings) -> Result<Self> {
        let found = SCHEMES
            .iter()
            .find_map(|(scheme, kind)| Some((*kind, url.strip_prefix(scheme)?)));
        let Some((kind, rest)) = found else {
            return Err(bad_url(url, UNKNOWN_SCHEME));
        };
        let Some((bucket, path)) = rest.split_once('/') else {
            return Err(bad_url(url, "it names no object"));
        };

        check_bucket(kind, bucket).map_err(|reason| bad_url(url, reason))?;
        let Some(key) = key_of(path, name) else {
            return Err(bad_url(url, "it names no object"));
        };
        Self::of_key(kind, bucket, &key, settings).map_err(|error| bad_url(url, &error.to_string()))
    }

    fn of_key(
        kind: ObjectStoreKind,
        bucket: &str,
        key: &str,
        settings: Settings,
    ) -> Result<Self, object_store::path::Error> {
        Ok(Self {
            kind,
            bucket: bucket.to_owned(),
            manifest: Key::parse(format!("{key}.manifest.json"))?,
            previous: Key::parse(format!("{key}.previous.json"))?,
            key: Key::parse(key)?,
            parts: Key::parse(format!("{key}.parts"))?,
            settings,
            store: None,
        })
    }

    /// A snapshot in the given store.
    #[cfg(test)]
    #[allow(clippy::unwrap_used)]
    pub(super) fn in_store(store: Arc<dyn ObjectStore>, key: &str) -> Self {
        let location =
            Self::of_key(ObjectStoreKind::S3, "memory", key, Settings::default()).unwrap();
        Self {
            store: Some(store),
            ..location
        }
    }

    /// The snapshot's file name: the last segment of its key.
    pub fn name(&self) -> &str {
        self.key.filename().unwrap_or_default()
    }

    /// The snapshot's key.
    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    /// The address of an object in this store.
    pub(super) fn address(&self, key: &Key) -> String {
        let scheme = SCHEMES
            .iter()
            .find(|(_, kind)| *kind == self.kind)
            .map_or("", |(scheme, _)| scheme);
        format!("{scheme}{}/{key}", self.bucket)
    }

    /// Refuses an object of a folder that is a pipe, a device or a socket: opening it could wait
    /// for ever.
    pub(super) fn check_object(&self, key: &Key) -> Result<(), RemoteError> {
        if self.kind != ObjectStoreKind::Folder {
            return Ok(());
        }

        let path = LocalFileSystem::new().path_to_filesystem(key);
        if !path.is_ok_and(|path| is_special(&path)) {
            return Ok(());
        }
        let found = "a pipe, a device or a socket";
        Err(RemoteError::Manifest {
            object: self.address(key),
            error: CoreError::malformed("an object", found, "a regular file"),
        })
    }

    /// Returns a client of the store. It may be used in one asynchronous runtime only, the first
    /// that uses it.
    pub(super) fn connect(&self) -> Result<Arc<dyn ObjectStore>> {
        if let Some(store) = &self.store {
            return Ok(Arc::clone(store));
        }

        if self.kind != ObjectStoreKind::Folder {
            self.check_proxy()?;
        }
        // Before a client is built: it looks for the provider of the process.
        install_tls();
        let store = match self.kind {
            ObjectStoreKind::S3 => self.s3(),
            ObjectStoreKind::Google => self.google(),
            ObjectStoreKind::Azure => self.azure(),
            ObjectStoreKind::Folder => Ok(folder()),
        };
        store.map_err(|source| {
            RemoteError::Settings {
                url: self.to_string(),
                source: source.into(),
            }
            .into()
        })
    }

    /// Returns whether the cloud's own variables name a proxy.
    fn has_own_proxy(&self) -> bool {
        let cloud = match self.kind {
            ObjectStoreKind::S3 => "AWS",
            ObjectStoreKind::Google => "GOOGLE",
            ObjectStoreKind::Azure => "AZURE",
            ObjectStoreKind::Folder => return false,
        };
        let name = format!("{cloud}{PROXY_URL}");
        let mut variables = self.settings.variables.iter();
        variables.any(|(known, _)| known.eq_ignore_ascii_case(&name))
    }

    /// Refuses a store if a variable names a proxy and nothing was chosen.
    fn check_proxy(&self) -> Result<()> {
        match (&self.settings.unchosen, &self.settings.proxy) {
            (Some(name), None) if !self.has_own_proxy() => Err(RemoteError::Settings {
                url: self.to_string(),
                source: format!("{name} is set, and no proxy was chosen").into(),
            }
            .into()),
            _ => Ok(()),
        }
    }

    /// The client's settings, and the connector that makes it.
    fn http(&self) -> object_store::Result<StoreHttp> {
        let roots = RootList::choose(self.settings.roots.as_deref()).map_err(|error| {
            object_store::Error::Generic {
                store: "TLS",
                source: Box::new(error),
            }
        })?;

        // The cloud's own proxy overrides the chosen one.
        let direct = StoreProxy::Direct;
        let proxy = match &self.settings.proxy {
            _ if self.has_own_proxy() => None,
            Some(proxy) => Some(proxy),
            None => Some(&direct),
        };
        Ok(StoreHttp {
            options: self.client(&roots)?,
            connector: StoreConnector::new(&roots, proxy)?,
        })
    }

    /// Options of the client, with the proxy.
    fn client(&self, roots: &RootList) -> object_store::Result<ClientOptions> {
        let options = client(roots)?;
        // Exclusions set here would hold for the cloud's own proxy, too.
        if self.has_own_proxy() {
            return Ok(options);
        }

        Ok(match &self.settings.proxy {
            Some(StoreProxy::Through { url, exclusions }) => {
                options.with_proxy_url(url).with_proxy_excludes(exclusions)
            }
            // There is no option for no proxy, and without one the variables of the process count.
            // The entry `*` holds for names alone.
            Some(StoreProxy::Direct) | None => options
                .with_proxy_url("http://127.0.0.1:9")
                .with_proxy_excludes("*,0.0.0.0/0,::/0"),
        })
    }

    fn s3(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        let StoreHttp { options, connector } = self.http()?;
        let mut builder = AmazonS3Builder::new()
            .with_client_options(options)
            .with_http_connector(connector)
            .with_retry(retry());
        for (key, value) in known(&self.settings) {
            builder = builder.with_config(key, value);
        }

        // The bucket of the address comes last: it overrides one in the settings.
        let store = builder.with_bucket_name(&self.bucket).build()?;
        Ok(Arc::new(store))
    }

    fn google(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        let StoreHttp { options, connector } = self.http()?;
        let mut builder = GoogleCloudStorageBuilder::new()
            .with_client_options(options)
            .with_http_connector(connector)
            .with_retry(retry());
        for (key, value) in known(&self.settings) {
            builder = builder.with_config(key, value);
        }

        let store = builder.with_bucket_name(&self.bucket).build()?;
        Ok(Arc::new(store))
    }

    fn azure(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        let StoreHttp { options, connector } = self.http()?;
        let mut builder = MicrosoftAzureBuilder::new()
            .with_client_options(options)
            .with_http_connector(connector)
            .with_retry(retry());
        for (key, value) in known(&self.settings) {
            builder = builder.with_config(key, value);
        }

        let store = builder.with_container_name(&self.bucket).build()?;
        Ok(Arc::new(store))
    }
}

/// The HTTP client of a store.
struct StoreHttp {
    options: ClientOptions,
    connector: StoreConnector,
}

/// The store of a folder, which makes every write durable.
fn folder() -> Arc<dyn ObjectStore> {
    Arc::new(LocalFileSystem::new().with_fsync(true))
}

/// The error for an address that names no object.
fn bad_url(url: &str, reason: &str) -> Error {
    RemoteError::BadUrl {
        url: without_passwords(url),
        reason: reason.to_owned(),
    }
    .into()
}

/// Checks the bucket of an address; a folder has none. Returns the reason if it is invalid.
fn check_bucket(kind: ObjectStoreKind, bucket: &str) -> Result<(), &'static str> {
    match (kind, bucket.is_empty()) {
        (ObjectStoreKind::Folder, true) => Ok(()),
        (ObjectStoreKind::Folder, false) => {
            Err("a folder's address is file:/// and an absolute path")
        }
        (_, true) => Err("it names no bucket"),
        (_, false) if is_bucket(bucket) => Ok(()),
        (_, false) => Err("a bucket's name consists of letters, digits and . _ -"),
    }
}

/// The key at a path, to which `name` is appended if it ends in `/`; `None` if there is no name.
fn key_of(path: &str, name: Option<&str>) -> Option<String> {
    if !path.is_empty() && !path.ends_with('/') {
        return Some(path.to_owned());
    }
    let name = name?;
    Some(format!("{path}{name}"))
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address(&self.key))
    }
}

impl fmt::Debug for Location {
    /// Omits the settings, which hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}

/// The settings whose names parse as `K`. The others are not for this store.
fn known<K: std::str::FromStr>(settings: &Settings) -> impl Iterator<Item = (K, String)> {
    settings.variables.iter().filter_map(|(name, value)| {
        let key = name.to_ascii_lowercase().parse().ok()?;
        Some((key, at_the_proxy(name, value)))
    })
}

/// The value of a setting. The names of hosts are resolved by a proxy, also by one whose address
/// leaves that open.
fn at_the_proxy(name: &str, value: &str) -> String {
    match value.strip_prefix("socks5://") {
        Some(rest) if name.to_ascii_uppercase().ends_with(PROXY_URL) => format!("socks5h://{rest}"),
        _ => value.to_owned(),
    }
}

/// Returns whether `name` can name a bucket or a container.
fn is_bucket(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// The settings of connections to stores. The certificates are for the library's own client, which
/// some settings of the clouds need. It reads itself what the user's environment trusts.
fn client(roots: &RootList) -> object_store::Result<ClientOptions> {
    let mut options = ClientOptions::new()
        .with_user_agent(object_store::HeaderValue::from_static(concat!(
            "papir/",
            env!("CARGO_PKG_VERSION")
        )))
        .with_timeout(REQUEST_TIMEOUT)
        .with_read_timeout(READ_TIMEOUT);

    // The same certificates as for services, so that both work or neither does.
    let is_given = matches!(roots.source(), RootSource::File(_));
    if is_given || *roots.source() == RootSource::Bundled {
        options = options.with_no_system_certificates(is_given);
        for certificate in roots.certificates() {
            options = options.with_root_certificate(Certificate::from_der(certificate)?);
        }
    }
    Ok(options)
}

fn retry() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: MAX_RETRIES,
        retry_timeout: RETRY_TIMEOUT,
    }
}

/// Installs the process-wide cryptography provider that TLS clients use by default.
fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that the process already has a provider, which works as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
