//! Addresses of snapshots in object stores, and how their stores are reached.

use std::fmt;
use std::sync::{Arc, Once};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};

use super::RemoteError;
use crate::Result;

/// Longest time of one request: a part over a slow line.
const REQUEST: Duration = Duration::from_secs(600);
/// Longest silence within a request.
const SILENCE: Duration = Duration::from_secs(60);
/// How often a request is made again after a failure of the network or of the store.
const RETRIES: usize = 5;
/// Longest time from the first try to the last.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the stores' clients are told: the variables that each cloud's own programs read.
#[derive(Clone, Default)]
pub struct Settings {
    variables: Vec<(String, String)>,
}

impl Settings {
    /// The variables `AWS_…`, `GOOGLE_…` and `AZURE_…` of this process.
    pub fn from_environment() -> Self {
        let text = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::of(text)
    }

    /// Variables by name; others than those of a cloud are left out.
    pub fn of(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let cloud = |name: &str| ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|start| name.starts_with(start));
        Self { variables: variables.into_iter().filter(|(name, _)| cloud(name)).collect() }
    }

    /// The settings that `K` knows; unknown ones are other programs'.
    fn known<K: std::str::FromStr>(&self) -> impl Iterator<Item = (K, &str)> {
        let key = |name: &str| name.to_ascii_lowercase().parse().ok();
        self.variables.iter().filter_map(move |(name, value)| Some((key(name)?, value.as_str())))
    }
}

/// Which kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    S3,
    Google,
    Azure,
    Folder,
}

/// How addresses of each kind begin.
const KINDS: [(&str, Kind); 4] =
    [("s3://", Kind::S3), ("gs://", Kind::Google), ("az://", Kind::Azure), ("file://", Kind::Folder)];

/// A snapshot's place in an object store.
#[derive(Clone)]
pub struct Location {
    kind: Kind,
    /// Bucket or container; empty for a folder.
    bucket: String,
    /// The snapshot's key without what its objects' names end with.
    key: Key,
    /// The key of its manifest.
    pub(super) manifest: Key,
    /// What the keys of its parts start with.
    pub(super) parts: Key,
    settings: Settings,
    /// In the place of the store that kind and settings give.
    store: Option<Arc<dyn ObjectStore>>,
}

impl Location {
    /// Whether a text begins as an address of an object store does.
    pub fn is_address(text: &str) -> bool {
        KINDS.iter().any(|(start, _)| text.starts_with(start))
    }

    /// Reads `s3://bucket/path`, `gs://bucket/path`, `az://container/path` or `file:///path`, as it is
    /// written: nothing is decoded. An address that ends in `/` is completed by `name`.
    ///
    /// # Errors
    /// [`RemoteError::BadUrl`].
    pub fn parse(url: &str, name: Option<&str>, settings: Settings) -> Result<Self> {
        let bad = |reason: &str| RemoteError::BadUrl { url: url.to_owned(), reason: reason.to_owned() };
        let found = KINDS.iter().find_map(|(start, kind)| Some((*kind, url.strip_prefix(start)?)));
        let (kind, rest) = found.ok_or_else(|| bad("it must start with s3://, gs://, az:// or file:///"))?;
        let (bucket, path) = rest.split_once('/').ok_or_else(|| bad("it names no object"))?;
        match (kind, bucket.is_empty()) {
            (Kind::Folder, false) => return Err(bad("a folder is file:/// and an absolute path").into()),
            (Kind::Folder, true) => {}
            (_, false) if is_bucket(bucket) => {}
            (_, false) => return Err(bad("a bucket's name is letters, digits and . _ -").into()),
            (_, true) => return Err(bad("it names no bucket").into()),
        }
        let key = match name {
            Some(name) if path.is_empty() || path.ends_with('/') => format!("{path}{name}"),
            _ if path.is_empty() || path.ends_with('/') => return Err(bad("it names no object").into()),
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
        let manifest = Key::parse(format!("{key}.manifest.json"))?;
        let (key, parts) = (Key::parse(key)?, Key::parse(format!("{key}.parts"))?);
        Ok(Self { kind, bucket: bucket.to_owned(), key, manifest, parts, settings, store: None })
    }

    /// A snapshot in a store that is at hand.
    #[cfg(test)]
    #[allow(clippy::unwrap_used)]
    pub(super) fn in_store(store: Arc<dyn ObjectStore>, key: &str) -> Self {
        let location = Self::of_key(Kind::S3, "memory", key, Settings::default()).unwrap();
        Self { store: Some(store), ..location }
    }

    /// The last part of its key: the snapshot's file name.
    pub fn name(&self) -> &str {
        self.key.filename().unwrap_or_default()
    }

    /// The address of an object of this store.
    pub(super) fn address(&self, key: &Key) -> String {
        let start = KINDS.iter().find(|(_, kind)| *kind == self.kind).map_or("", |(start, _)| start);
        format!("{start}{}/{key}", self.bucket)
    }

    /// A client of the store. Belongs to the runtime in which it is used first.
    ///
    /// # Errors
    /// [`RemoteError::Settings`].
    pub(super) fn connect(&self) -> Result<Arc<dyn ObjectStore>> {
        if let Some(store) = &self.store {
            return Ok(Arc::clone(store));
        }
        install_tls();
        let store = match self.kind {
            Kind::S3 => self.s3().map(|store| Arc::new(store) as Arc<dyn ObjectStore>),
            Kind::Google => self.google().map(|store| Arc::new(store) as _),
            Kind::Azure => self.azure().map(|store| Arc::new(store) as _),
            Kind::Folder => Ok(Arc::new(LocalFileSystem::new()) as _),
        };
        store.map_err(|source| RemoteError::Settings { url: self.to_string(), source }.into())
    }

    fn s3(&self) -> object_store::Result<impl ObjectStore + use<>> {
        let builder = AmazonS3Builder::new().with_client_options(client()).with_retry(retry());
        let builder =
            self.settings.known().fold(builder, |builder, (key, value)| builder.with_config(key, value));
        builder.with_bucket_name(&self.bucket).build()
    }

    fn google(&self) -> object_store::Result<impl ObjectStore + use<>> {
        let builder = GoogleCloudStorageBuilder::new().with_client_options(client()).with_retry(retry());
        let builder =
            self.settings.known().fold(builder, |builder, (key, value)| builder.with_config(key, value));
        builder.with_bucket_name(&self.bucket).build()
    }

    fn azure(&self) -> object_store::Result<impl ObjectStore + use<>> {
        let builder = MicrosoftAzureBuilder::new().with_client_options(client()).with_retry(retry());
        let builder =
            self.settings.known().fold(builder, |builder, (key, value)| builder.with_config(key, value));
        builder.with_container_name(&self.bucket).build()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address(&self.key))
    }
}

impl fmt::Debug for Location {
    /// Without the settings, which hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}

/// Whether a text can be the name of a bucket or a container.
fn is_bucket(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain)
}

fn client() -> ClientOptions {
    ClientOptions::new()
        .with_user_agent(object_store::HeaderValue::from_static(concat!("papir/", env!("CARGO_PKG_VERSION"))))
        .with_timeout(REQUEST)
        .with_read_timeout(SILENCE)
}

fn retry() -> RetryConfig {
    RetryConfig { backoff: BackoffConfig::default(), max_retries: RETRIES, retry_timeout: PATIENCE }
}

/// The cryptography of TLS, for all clients of this process that bring none of their own.
fn install_tls() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error says that the process has one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
