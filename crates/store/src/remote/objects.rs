//! Reads, writes, lists and deletes the objects of one snapshot.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use blake3::Hash;
use futures_util::TryStreamExt;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};

use super::error::RemoteError;
use super::location::Location;
use super::manifest::{MAX_BYTES, Manifest};
use crate::error::{Error, Result};

/// Number of parts transferred at the same time.
pub(super) const CONCURRENT: usize = 4;
/// Maximum number of attempts to fetch a part whose bytes are truncated or wrong.
const MAX_ATTEMPTS: u32 = 3;
/// Delay before the second attempt. Doubled for each further attempt.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// A part in the store.
pub(super) struct StoredPart {
    pub(super) key: Key,
    pub(super) bytes: u64,
    pub(super) modified: SystemTime,
}

/// The objects of one snapshot.
pub(super) struct Objects<'a> {
    location: &'a Location,
    store: Arc<dyn ObjectStore>,
}

impl<'a> Objects<'a> {
    /// Connects to the store of a snapshot.
    pub(super) fn open(location: &'a Location) -> Result<Self> {
        Ok(Self {
            location,
            store: location.connect()?,
        })
    }

    fn part_key(&self, hash: &Hash) -> Key {
        self.location.parts.clone().join(hash.to_hex().as_str())
    }

    /// The manifest's address.
    pub(super) fn manifest_address(&self) -> String {
        self.location.address(&self.location.manifest)
    }

    /// Fetches the manifest; `None` if there is none.
    pub(super) async fn find_manifest(&self) -> Result<Option<Manifest>> {
        match self.manifest().await {
            Err(Error::Remote(RemoteError::NotFound { .. })) => Ok(None),
            other => other.map(Some),
        }
    }

    /// Fetches the manifest. A missing one is an error, [`RemoteError::NotFound`].
    pub(super) async fn manifest(&self) -> Result<Manifest> {
        Ok(self.dated_manifest().await?.0)
    }

    /// Fetches the manifest, and the time at which it was written.
    pub(super) async fn dated_manifest(&self) -> Result<(Manifest, SystemTime)> {
        self.read_manifest(&self.location.manifest).await
    }

    /// Fetches the manifest of the previous version; `None` if there is none.
    pub(super) async fn find_previous(&self) -> Result<Option<Manifest>> {
        match self.read_manifest(&self.location.previous).await {
            Err(Error::Remote(RemoteError::NotFound { .. })) => Ok(None),
            other => other.map(|(manifest, _)| Some(manifest)),
        }
    }

    async fn read_manifest(&self, key: &Key) -> Result<(Manifest, SystemTime)> {
        let object = self.location.address(key);
        self.location.check_object(key)?;
        let got = self.store.get(key).await;
        let got = got.map_err(refused("fetching", object.clone()))?;

        // Checked before the bytes are fetched, which are held in memory.
        if got.meta.size > MAX_BYTES {
            let error = papir_core::Error::out_of_bounds(
                "the length of a manifest in bytes",
                got.meta.size,
                format!("at most {MAX_BYTES}"),
            );
            return Err(RemoteError::Manifest { object, error }.into());
        }

        let written = got.meta.last_modified.into();
        let json = got.bytes().await;
        let json = json.map_err(refused("fetching", object.clone()))?;
        let manifest =
            Manifest::decode(&json).map_err(|error| RemoteError::Manifest { object, error })?;
        Ok((manifest, written))
    }

    /// Writes a manifest over the present one.
    pub(super) async fn put_manifest(&self, manifest: &Manifest) -> Result<()> {
        self.write_manifest(&self.location.manifest, manifest).await
    }

    /// Writes the manifest of the previous version over the present one.
    pub(super) async fn put_previous(&self, manifest: &Manifest) -> Result<()> {
        self.write_manifest(&self.location.previous, manifest).await
    }

    async fn write_manifest(&self, key: &Key, manifest: &Manifest) -> Result<()> {
        // One object, written whole: readers see the old manifest or the new one.
        let payload = PutPayload::from(manifest.encode()?);
        let written = self.store.put(key, payload).await;
        written.map_err(refused("writing", self.location.address(key)))?;
        Ok(())
    }

    /// Writes a part under its hash.
    pub(super) async fn put_part(&self, hash: &Hash, bytes: Vec<u8>) -> Result<()> {
        // Named by its hash: the same part of two versions is one object, and writing it again
        // changes nothing.
        let key = self.part_key(hash);
        let written = self.store.put(&key, PutPayload::from(bytes)).await;
        written.map_err(refused("writing", self.location.address(&key)))?;
        Ok(())
    }

    /// Lists all parts in the store, including parts of other versions. Other objects are ignored.
    pub(super) async fn parts(&self) -> Result<HashMap<Hash, StoredPart>> {
        let folder = &self.location.parts;
        let listed = self.store.list(Some(folder)).try_collect::<Vec<_>>().await;
        // A folder of files is missing before its first part; buckets list nothing.
        let listed = match listed {
            Err(object_store::Error::NotFound { .. }) => Vec::new(),
            other => other.map_err(refused("listing", self.location.address(folder)))?,
        };

        let mut parts = HashMap::new();
        for object in listed {
            let name = object.location.filename();
            // Only names that papir gives: pruning must not touch files of others.
            let Some(hash) = name.and_then(|name| Hash::from_hex(name).ok()) else {
                continue;
            };
            let part = StoredPart {
                key: object.location,
                bytes: object.size,
                modified: object.last_modified.into(),
            };
            parts.insert(hash, part);
        }
        Ok(parts)
    }

    /// Deletes an object. It is not an error if the object does not exist.
    pub(super) async fn delete(&self, key: &Key) -> Result<()> {
        match self.store.delete(key).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(refused("deleting", self.location.address(key))(error).into()),
        }
    }

    /// Fetches part `index` of a manifest and checks its length and hash. Truncated or wrong bytes
    /// are fetched again, in at most [`MAX_ATTEMPTS`] attempts.
    pub(super) async fn part(&self, manifest: &Manifest, index: usize) -> Result<Vec<u8>> {
        let mut attempt = 1;
        loop {
            match self.try_part(manifest, index).await {
                Ok(bytes) => return Ok(bytes),
                Err(Fault::Transfer(_)) if attempt < MAX_ATTEMPTS => {}
                Err(Fault::Transfer(error) | Fault::Final(error)) => return Err(error.into()),
            }

            // Wrong bytes may come from a cache or a broken connection, which a pause may outlast.
            // The store's client has retried refusals by itself.
            tokio::time::sleep(RETRY_DELAY * 2u32.pow(attempt - 1)).await;
            attempt += 1;
        }
    }

    async fn try_part(&self, manifest: &Manifest, index: usize) -> Result<Vec<u8>, Fault> {
        let hash = manifest.parts[index];
        let key = self.part_key(&hash);
        let object = self.location.address(&key);
        self.location.check_object(&key).map_err(Fault::Final)?;

        let got = match self.store.get(&key).await {
            Ok(got) => got,
            Err(error) => return Err(Fault::Final(refused("fetching", object)(error))),
        };
        // The length is known before the body is read into memory.
        let length = manifest.part_length(index);
        if got.meta.size != length {
            let found = format!("{} bytes", got.meta.size);
            return Err(damaged(manifest, index, object, found, length.to_string()));
        }

        let bytes = match got.bytes().await {
            Ok(bytes) => bytes,
            Err(error) => return Err(Fault::Transfer(refused("fetching", object)(error))),
        };
        // The store is not trusted with contents: every part must be the one that the manifest
        // names.
        let found = blake3::hash(&bytes);
        if found != hash {
            let found = format!("BLAKE3 {found}");
            return Err(damaged(manifest, index, object, found, hash.to_string()));
        }
        Ok(bytes.into())
    }
}

/// The fault of part `index`, whose length or hash is `found`.
fn damaged(
    manifest: &Manifest,
    index: usize,
    object: String,
    found: String,
    expected: String,
) -> Fault {
    Fault::Transfer(RemoteError::Damaged {
        part: index + 1,
        parts: manifest.parts.len(),
        object,
        found,
        expected,
    })
}

/// Reason why a part could not be fetched.
enum Fault {
    /// The store refused, even after the client's own retries.
    Final(RemoteError),
    /// The bytes were truncated or wrong; another attempt may succeed.
    Transfer(RemoteError),
}

/// Classifies the error of an operation on an object.
pub(super) fn refused(
    doing: &'static str,
    object: String,
) -> impl FnOnce(object_store::Error) -> RemoteError {
    use object_store::Error as StoreError;

    move |error| match error {
        StoreError::NotFound { .. } => RemoteError::NotFound { object },
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
            RemoteError::Denied {
                doing,
                object,
                source: error.into(),
            }
        }
        error => RemoteError::Store {
            doing,
            object,
            source: error.into(),
        },
    }
}
