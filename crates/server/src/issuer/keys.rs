//! The keys that an issuer uses, and its directory.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use papir_privacy_pass::{DirectoryKey, IssuerDirectory, IssuerKey, PassError};

use super::key_file::{self, DatedKey, begins};
use super::requests::REQUEST_PATH;
use super::rotation::signs;
use crate::error::Error;

/// Interval between checks for keys that are due for rotation.
const ROTATION_INTERVAL: Duration = Duration::from_secs(3600);
/// Interval between looks at the clock. A machine that slept is late by no more than this.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// The keys of an issuer, read again when they are due.
pub(super) struct IssuerKeys {
    file: PathBuf,
    served: RwLock<Arc<ServedIssuerKeys>>,
    /// The last reading of the file.
    last_read: Mutex<Instant>,
}

/// The keys in use.
pub(super) struct ServedIssuerKeys {
    keys: Vec<DatedKey>,
    /// The public keys, as JSON. All clients get the same bytes.
    directory: Bytes,
}

impl ServedIssuerKeys {
    fn of(file: &Path, keys: Vec<DatedKey>) -> Result<Self, Error> {
        let directory = directory(&keys).map_err(|error| Error::IssuerKeys {
            path: file.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self { keys, directory })
    }

    /// The key that signs requests with this truncated id; `None` if none does.
    pub(super) fn signing(&self, truncated_id: u8, now: SystemTime) -> Option<&IssuerKey> {
        let place = self
            .keys
            .iter()
            .position(|key| key.truncated_id() == truncated_id)?;
        let is_signing = signs(&begins(&self.keys), place, now);
        is_signing.then(|| &*self.keys[place].key)
    }
}

/// The public keys as JSON.
fn directory(keys: &[DatedKey]) -> Result<Bytes, PassError> {
    let mut listed = Vec::new();
    for key in keys {
        let begins = key.begins.duration_since(UNIX_EPOCH).unwrap_or_default();
        listed.push(DirectoryKey {
            key: key.key.public().clone(),
            not_before: Some(begins.as_secs()),
        });
    }
    let json = IssuerDirectory::new(REQUEST_PATH, listed)?.to_json()?;
    Ok(json.into())
}

impl IssuerKeys {
    /// Reads the keys, and makes the file if it does not exist, which takes up to seconds.
    pub(super) fn open(file: &Path) -> Result<Self, Error> {
        let keys = key_file::open(file, SystemTime::now())?;
        let served = ServedIssuerKeys::of(file, keys)?;
        Ok(Self {
            file: file.to_owned(),
            served: RwLock::new(Arc::new(served)),
            last_read: Mutex::new(Instant::now()),
        })
    }

    /// The keys in use.
    pub(super) fn served(&self) -> Arc<ServedIssuerKeys> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The directory, as `application/private-token-issuer-directory`.
    pub(super) fn directory(&self) -> Bytes {
        self.served().directory.clone()
    }

    /// Returns whether the file was last read an hour ago or earlier, and if so, notes that it is
    /// read now.
    pub(super) fn begins_reading(&self) -> bool {
        let mut last = self
            .last_read
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_due = last.elapsed() >= ROTATION_INTERVAL;
        if is_due {
            *last = Instant::now();
        }
        is_due
    }

    /// Reads the file again, and rotates keys that are due. A file that cannot be read leaves the
    /// keys as they are.
    pub(super) fn reload(&self) {
        let keys = key_file::reopen(&self.file, SystemTime::now());
        match keys.and_then(|keys| ServedIssuerKeys::of(&self.file, keys)) {
            Ok(served) => {
                let mut current = self.served.write().unwrap_or_else(PoisonError::into_inner);
                *current = Arc::new(served);
            }
            Err(error) => tracing::error!(%error, "issuer keys not read: the previous ones stay"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    #[test]
    fn the_directory_has_all_keys_and_the_newest_one_that_has_begun_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("issuer.toml");
        let now = SystemTime::now();
        let keys = key_file::open(&file, now - DAY * 31).unwrap();
        let first = keys[0].key.public().clone();
        let issuer = IssuerKeys::open(&file).unwrap();

        let directory = IssuerDirectory::parse(&issuer.directory()).unwrap();
        assert_eq!(directory.request_uri(), REQUEST_PATH);
        assert_eq!(directory.keys().len(), 2);
        let seconds = now.duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(directory.current(seconds), Some(&first));
        let next = directory.keys()[0].key.clone();
        assert_eq!(directory.current(seconds + 2 * 86_400), Some(&next));

        let served = issuer.served();
        let signing = |key: u8, time| served.signing(key, time).map(|key| key.public().clone());
        assert_eq!(signing(first.truncated_id(), now), Some(first.clone()));
        assert_eq!(signing(next.truncated_id(), now), None, "not yet");
        let later = now + DAY * 3;
        assert_eq!(signing(next.truncated_id(), later), Some(next));
        assert_eq!(signing(first.truncated_id(), later), None, "no longer");
    }

    #[test]
    fn a_running_issuer_keeps_its_keys_when_the_file_is_bad() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("issuer.toml");
        let issuer = IssuerKeys::open(&file).unwrap();
        let directory = issuer.directory();

        std::fs::write(&file, "damaged").unwrap();
        issuer.reload();
        assert_eq!(issuer.directory(), directory);
        std::fs::remove_file(&file).unwrap();
        issuer.reload();
        assert_eq!(issuer.directory(), directory);
        assert!(!file.exists());
    }
}
