//! The gateway of Oblivious HTTP: its keys, and the sealed requests that it opens.
//!
//! | file | contents |
//! |---|---|
//! | `keys` | private keys and their rotation |
//! | `key_file` | the file with the keys, which several services may share |
//! | `replays` | sealed requests that have arrived before |

mod key_file;
mod keys;
mod replays;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use papir_ohttp::{Gateway, GatewayKey, Kem, OpenedRequest, SealForm};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::error::Error;
use keys::SeededKey;
use replays::Replays;

/// Interval between checks whether keys are due for rotation.
const ROTATION_INTERVAL: Duration = Duration::from_secs(3600);
/// Shortest time between two readings of the file because of an unknown key.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Number of requests that are opened at once. While it is opened, a request has twice its memory.
const OPENING: usize = 4;

/// Opens sealed requests.
pub(crate) struct ObliviousGateway {
    file: PathBuf,
    served: RwLock<Arc<ServedKeys>>,
    replays: Mutex<Replays>,
    /// The last reading of the file.
    last_read: Mutex<Instant>,
    openings: Arc<Semaphore>,
}

/// Why a sealed request is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnsealError {
    /// It is sealed under a key that the gateway does not have, or no longer.
    UnknownKey,
    /// It is damaged, cut off, or contains no request.
    Damaged,
    /// It has arrived before.
    Replayed,
}

/// The keys in use.
struct ServedKeys {
    gateway: Gateway,
    /// The public list.
    list: Bytes,
}

impl ServedKeys {
    fn derive(file: &Path, keys: &[SeededKey]) -> Result<Self, Error> {
        let mut listed: Vec<&SeededKey> = keys.iter().collect();
        // Clients take the first key of a kind that they know. X-Wing also holds against quantum
        // computers.
        listed.sort_by_key(|key| key.kem != Kem::XWing);

        let mut derived = Vec::new();
        for key in listed {
            let key = GatewayKey::derive(key.id, key.kem, &key.seed);
            derived.push(key.map_err(|error| unusable(file, &error))?);
        }

        let gateway = Gateway::new(derived);
        let list = gateway
            .key_list()
            .map_err(|error| unusable(file, &error))?
            .encode()
            .into();
        Ok(Self { gateway, list })
    }
}

fn unusable(file: &Path, error: &papir_ohttp::Error) -> Error {
    Error::GatewayKeys {
        path: file.to_owned(),
        reason: error.to_string(),
    }
}

/// Checks a file of keys without making or changing it. A missing one is made at the start.
pub(crate) fn check(file: &Path) -> Result<(), Error> {
    match key_file::read(file)? {
        Some(keys) => ServedKeys::derive(file, &keys).map(drop),
        None => Ok(()),
    }
}

impl ObliviousGateway {
    /// Reads the keys, and makes the file if it does not exist.
    pub(crate) fn open(file: &Path) -> Result<Self, Error> {
        let keys = key_file::open(file, SystemTime::now())?;
        let served = ServedKeys::derive(file, &keys)?;

        Ok(Self {
            file: file.to_owned(),
            served: RwLock::new(Arc::new(served)),
            replays: Mutex::new(Replays::new()),
            last_read: Mutex::new(Instant::now()),
            openings: Arc::new(Semaphore::new(OPENING)),
        })
    }

    /// The public keys, as `application/ohttp-keys`.
    pub(crate) fn key_list(&self) -> Bytes {
        self.served().list.clone()
    }

    /// Waits for a turn to open a request.
    ///
    /// # Errors
    /// None: the semaphore is never closed.
    pub(crate) async fn turn(&self) -> Result<OwnedSemaphorePermit, AcquireError> {
        Arc::clone(&self.openings).acquire_owned().await
    }

    /// Opens a request, on a blocking thread: it may have a hundred megabytes.
    pub(crate) fn unseal(
        &self,
        sealed: &[u8],
        form: SealForm,
    ) -> Result<OpenedRequest, UnsealError> {
        let mut opened = self.served().gateway.open(sealed, form);

        // A service that shares the file may have rotated the keys.
        let is_unknown = matches!(opened, Err(papir_ohttp::Error::UnknownKey { .. }));
        if is_unknown && self.begins_reading(LOOK_INTERVAL) {
            self.read_keys();
            opened = self.served().gateway.open(sealed, form);
        }

        let opened = opened.map_err(|error| match error {
            papir_ohttp::Error::UnknownKey { .. } => UnsealError::UnknownKey,
            _ => UnsealError::Damaged,
        })?;
        // After the opening: what cannot be opened fills no memory.
        if !lock(&self.replays).admit(&opened.fingerprint, Instant::now()) {
            return Err(UnsealError::Replayed);
        }
        Ok(opened)
    }

    /// Reads the file again, and rotates keys that are due. A file that cannot be read leaves the
    /// keys as they are.
    pub(crate) fn reload(&self) {
        *lock(&self.last_read) = Instant::now();
        self.read_keys();
    }

    /// Does the same once an hour.
    pub(crate) fn reload_if_due(&self) {
        if self.begins_reading(ROTATION_INTERVAL) {
            self.read_keys();
        }
    }

    /// Returns whether the file was last read at least this long ago, and if so, notes that it is
    /// read now.
    fn begins_reading(&self, interval: Duration) -> bool {
        let mut last = lock(&self.last_read);
        let is_due = last.elapsed() >= interval;
        if is_due {
            *last = Instant::now();
        }
        is_due
    }

    fn read_keys(&self) {
        let keys = key_file::reopen(&self.file, SystemTime::now());
        match keys.and_then(|keys| ServedKeys::derive(&self.file, &keys)) {
            Ok(served) => {
                let mut current = self.served.write().unwrap_or_else(PoisonError::into_inner);
                *current = Arc::new(served);
            }
            Err(error) => tracing::error!(%error, "gateway keys not read: the previous ones stay"),
        }
    }

    fn served(&self) -> Arc<ServedKeys> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_ohttp::{InnerRequest, KeyList, SealedRequest};

    use super::*;

    fn seal(gateway: &ObliviousGateway) -> SealedRequest {
        let list = KeyList::parse(&gateway.key_list()).unwrap();
        let request = InnerRequest {
            method: "GET".to_owned(),
            scheme: "https".to_owned(),
            authority: "papir.example".to_owned(),
            path: "/v1/databases".to_owned(),
            headers: Vec::new(),
        };
        list.choose().unwrap().seal(&request, b"").unwrap()
    }

    fn refusal(gateway: &ObliviousGateway, sealed: &[u8]) -> UnsealError {
        gateway
            .unseal(sealed, SealForm::Chunked)
            .map(drop)
            .unwrap_err()
    }

    #[test]
    fn requests_are_opened_once_also_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ohttp.toml");
        let gateway = ObliviousGateway::open(&file).unwrap();
        let sealed = seal(&gateway).body;

        let opened = gateway.unseal(&sealed, SealForm::Chunked).unwrap();
        assert_eq!(opened.request.path, "/v1/databases");
        assert_eq!(refusal(&gateway, &sealed), UnsealError::Replayed);

        let mut damaged = seal(&gateway).body;
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(refusal(&gateway, &damaged), UnsealError::Damaged);
        assert_eq!(refusal(&gateway, b""), UnsealError::Damaged);

        let again = ObliviousGateway::open(&file).unwrap();
        assert_eq!(again.key_list(), gateway.key_list());
        assert!(again.unseal(&sealed, SealForm::Chunked).is_ok());
    }

    #[test]
    fn an_unknown_key_is_looked_for_in_the_shared_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ohttp.toml");
        let first = ObliviousGateway::open(&file).unwrap();
        let later = SystemTime::now() + Duration::from_secs(31 * 24 * 60 * 60);
        key_file::open(&file, later).unwrap();
        let second = ObliviousGateway::open(&file).unwrap();
        assert_ne!(second.key_list(), first.key_list());

        let sealed = seal(&second).body;
        // Read a moment ago, and on a slow machine too.
        *lock(&first.last_read) = Instant::now() + ROTATION_INTERVAL;
        assert_eq!(refusal(&first, &sealed), UnsealError::UnknownKey);
        *lock(&first.last_read) = Instant::now() - LOOK_INTERVAL;
        assert!(first.unseal(&sealed, SealForm::Chunked).is_ok());
        assert_eq!(second.key_list(), first.key_list());
    }

    #[test]
    fn a_running_gateway_keeps_its_keys_when_the_file_is_bad() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ohttp.toml");
        let gateway = ObliviousGateway::open(&file).unwrap();
        let list = gateway.key_list();

        std::fs::write(&file, "damaged").unwrap();
        assert!(check(&file).is_err());
        gateway.reload();
        assert_eq!(gateway.key_list(), list);

        std::fs::remove_file(&file).unwrap();
        assert!(check(&file).is_ok());
        gateway.reload();
        assert_eq!(gateway.key_list(), list);
        assert!(!file.exists());
    }
}
