//! Folder of small objects in a store.

use object_store::path::Path as Key;
use object_store::{ObjectStoreExt, PutPayload};

use super::address::Settings;
use super::location::Location;
use super::objects::refused;
use super::worker::run;
use crate::error::Result;

/// A folder of objects in a store, each read and written whole.
#[derive(Clone, Debug)]
pub struct Folder(Location);

impl Folder {
    /// The folder `name` at an address: `s3://bucket/path`, `gs://bucket/path`,
    /// `az://container/path` or `file:///path`.
    ///
    /// # Errors
    /// [`RemoteError::BadUrl`](super::RemoteError::BadUrl).
    pub fn parse(url: &str, name: &str, settings: Settings) -> Result<Self> {
        let url = format!("{}/", url.trim_end_matches('/'));
        Location::parse(&url, Some(name), settings).map(Self)
    }

    fn key(&self, object: &str) -> Key {
        Key::from_iter(self.0.key().parts().chain(Key::from(object).parts()))
    }

    /// Writes an object, and replaces a present one.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn put(&self, object: &str, bytes: Vec<u8>) -> Result<()> {
        let key = self.key(object);
        run(|| async move {
            let put = self.0.connect()?.put(&key, PutPayload::from(bytes)).await;
            put.map_err(refused("writing", self.0.address(&key)))?;
            Ok(())
        })
    }

    /// Reads an object; `None` if there is none.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn get(&self, object: &str) -> Result<Option<Vec<u8>>> {
        let key = self.key(object);
        run(|| async move {
            let store = self.0.connect()?;
            let found = match store.get(&key).await {
                Err(object_store::Error::NotFound { .. }) => return Ok(None),
                other => other.map_err(refused("fetching", self.0.address(&key)))?,
            };

            let bytes = found.bytes().await;
            let bytes = bytes.map_err(refused("fetching", self.0.address(&key)))?;
            Ok(Some(bytes.into()))
        })
    }

    /// Deletes an object. It is not an error if the object does not exist.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn delete(&self, object: &str) -> Result<()> {
        let key = self.key(object);
        run(|| async move {
            match self.0.connect()?.delete(&key).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(refused("deleting", self.0.address(&key))(error).into()),
            }
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_written_read_and_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("file://{}/", directory.path().display());
        let folder = Folder::parse(&url, "keys", Settings::default()).unwrap();
        assert_eq!(folder.get("a/0").unwrap(), None);

        for bytes in [b"one".to_vec(), b"two".to_vec()] {
            folder.put("a/0", bytes.clone()).unwrap();
            assert_eq!(folder.get("a/0").unwrap(), Some(bytes));
        }
        assert!(directory.path().join("keys/a/0").is_file());

        (0..2).for_each(|_| folder.delete("a/0").unwrap());
        assert_eq!(folder.get("a/0").unwrap(), None);

        assert!(Folder::parse("ftp://host/path", "keys", Settings::default()).is_err());
    }
}
