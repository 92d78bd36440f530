//! Locations of snapshots in object stores, and clients of the stores.

use std::fmt;
use std::sync::{Arc, Once};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};

use super::address::{Kind, SCHEMES, Settings, UNKNOWN_SCHEME, is_address};
use super::error::RemoteError;
use crate::error::Result;

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
    kind: Kind,
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
        let bad = |reason: &str| RemoteError::BadUrl {
            url: url.to_owned(),
            reason: reason.to_owned(),
        };
        let found = SCHEMES
            .iter()
            .find_map(|(scheme, kind)| Some((*kind, url.strip_prefix(scheme)?)));
        let (kind, rest) = found.ok_or_else(|| bad(UNKNOWN_SCHEME))?;
        let (bucket, path) = rest
            .split_once('/')
            .ok_or_else(|| bad("it names no object"))?;
        match (kind, bucket.is_empty()) {
            (Kind::Folder, false) => {
                return Err(bad("a folder's address is file:/// and an absolute path").into());
            }
            (Kind::Folder, true) => {}
            (_, false) if is_bucket(bucket) => {}
            (_, false) => {
                return Err(bad("a bucket's name consists of letters, digits and . _ -").into());
            }
            (_, true) => return Err(bad("it names no bucket").into()),
        }
        let key = match name {
            Some(name) if path.is_empty() || path.ends_with('/') => format!("{path}{name}"),
            _ if path.is_empty() || path.ends_with('/') => {
                return Err(bad("it names no object").into());
            }
            _ => path.to_owned(),
        };
        Self::of_key(kind, bucket, &key, settings).map_err(|error| bad(&error.to_string()).into())
    }

    fn of_key(
        kind: Kind,
        bucket: &str,
        key: &str,
        settings: Settings,
    ) -> Result<Self, object_store::path::Error> {
        let with = |suffix: &str| Key::parse(format!("{key}{suffix}"));
        let manifest = with(".manifest.json")?;
        let previous = with(".previous.json")?;
        let key = with("")?;
        let parts = with(".parts")?;
        Ok(Self {
            kind,
            bucket: bucket.to_owned(),
            key,
            manifest,
            previous,
            parts,
            settings,
            store: None,
        })
    }

    /// A snapshot in the given store.
    #[cfg(test)]
    #[allow(clippy::unwrap_used)]
    pub(super) fn in_store(store: Arc<dyn ObjectStore>, key: &str) -> Self {
        let location = Self::of_key(Kind::S3, "memory", key, Settings::default()).unwrap();
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

    /// Returns a client of the store. It may be used in one asynchronous runtime only, the first
    /// that uses it.
    ///
    /// # Errors
    /// [`RemoteError::Settings`].
    pub(super) fn connect(&self) -> Result<Arc<dyn ObjectStore>> {
        if let Some(store) = &self.store {
            return Ok(Arc::clone(store));
        }
        install_tls();
        let store = match self.kind {
            Kind::S3 => self
                .s3()
                .map(|store| Arc::new(store) as Arc<dyn ObjectStore>),
            Kind::Google => self.google().map(|store| Arc::new(store) as _),
            Kind::Azure => self.azure().map(|store| Arc::new(store) as _),
            Kind::Folder => Ok(Arc::new(LocalFileSystem::new().with_fsync(true)) as _),
        };
        store.map_err(|source| {
            RemoteError::Settings {
                url: self.to_string(),
                source: source.into(),
            }
            .into()
        })
    }

    fn s3(&self) -> object_store::Result<impl ObjectStore + use<>> {
        let builder = AmazonS3Builder::new()
            .with_client_options(client())
            .with_retry(retry());
        let builder = known(&self.settings).fold(builder, |builder, (key, value)| {
            builder.with_config(key, value)
        });
        builder.with_bucket_name(&self.bucket).build()
    }

    fn google(&self) -> object_store::Result<impl ObjectStore + use<>> {
        let builder = GoogleCloudStorageBuilder::new()
            .with_client_options(client())
            .with_retry(retry());
        let builder = known(&self.settings).fold(builder, |builder, (key, value)| {
            builder.with_config(key, value)
        });
        builder.with_bucket_name(&self.bucket).build()
    }

    fn azure(&self) -> object_store::Result<impl ObjectStore + use<>> {
        let builder = MicrosoftAzureBuilder::new()
            .with_client_options(client())
            .with_retry(retry());
        let builder = known(&self.settings).fold(builder, |builder, (key, value)| {
            builder.with_config(key, value)
        });
        builder.with_container_name(&self.bucket).build()
    }
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
fn known<K: std::str::FromStr>(settings: &Settings) -> impl Iterator<Item = (K, &str)> {
    settings
        .variables
        .iter()
        .filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value.as_str())))
}

/// Returns whether `name` can name a bucket or a container.
fn is_bucket(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain)
}

fn client() -> ClientOptions {
    ClientOptions::new()
        .with_user_agent(object_store::HeaderValue::from_static(concat!(
            "papir/",
            env!("CARGO_PKG_VERSION")
        )))
        .with_timeout(REQUEST_TIMEOUT)
        .with_read_timeout(READ_TIMEOUT)
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
