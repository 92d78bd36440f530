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

use crate::admission::{ClientKey, ClientSlot, HeldBytes, Permit, Relief, Turn, WorkTurns};
use crate::error::Error;
use keys::{KeyEnd, SeededKey, ends, without_ended};
use replays::{Arrival, Replays};

/// Interval between checks whether keys are due for rotation.
const ROTATION_INTERVAL: Duration = Duration::from_secs(3600);
/// Shortest time between two readings of the file because of an unknown key.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Number of requests that are opened at once. While it is opened, a request has twice its memory,
/// three times in the whole form.
const OPENING: usize = 4;
/// Advised retry delay for a request that has no turn to be opened.
const BUSY_ADVICE: Duration = Duration::from_secs(1);

/// Opens sealed requests.
pub(crate) struct ObliviousGateway {
    file: PathBuf,
    served: RwLock<Arc<ServedKeys>>,
    replays: Mutex<Replays>,
    /// The last reading of the file.
    last_read: Mutex<Instant>,
    /// The turns of relays.
    openings: Arc<WorkTurns>,
}

/// A request's turn to be opened. The next relay has its turn when it is dropped.
pub(crate) struct OpeningTurn {
    _turn: Turn,
    permit: Permit,
}

impl OpeningTurn {
    /// Ends the turn. Returns the memory of the request's body.
    pub(crate) fn end(self) -> Option<HeldBytes> {
        self.permit.into_body()
    }
}

/// Why a sealed request is not opened, or not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnsealError {
    /// It is sealed under a key that the gateway does not have, or no longer, or its beginning is
    /// damaged.
    UnknownKey,
    /// It is damaged, cut off, or contains no request.
    Damaged,
    /// It has arrived before.
    Replayed,
    /// Too many requests wait for a turn, or are remembered.
    Busy {
        /// The advised retry delay.
        after: Duration,
    },
}

/// A request without a turn.
const NO_TURN: UnsealError = UnsealError::Busy { after: BUSY_ADVICE };

/// The keys in use.
struct ServedKeys {
    gateway: Gateway,
    /// The public list.
    list: Bytes,
    /// The same keys as seeds.
    seeded: Vec<SeededKey>,
    ends: Vec<KeyEnd>,
}

impl ServedKeys {
    fn derive(file: &Path, keys: Vec<SeededKey>) -> Result<Self, Error> {
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
        Ok(Self {
            gateway,
            list,
            ends: ends(&keys),
            seeded: keys,
        })
    }

    /// Opens a request, unless its key has ended: such a key is here until the file is read again.
    fn open(
        &self,
        sealed: &[u8],
        form: SealForm,
        now: SystemTime,
    ) -> papir_ohttp::Result<OpenedRequest> {
        let mut passed = self.ends.iter().filter(|end| end.has_passed(now));
        let named = passed.find(|end| sealed.first() == Some(&end.id));
        match named {
            Some(end) => Err(papir_ohttp::Error::UnknownKey { found: end.id }),
            None => self.gateway.open(sealed, form),
        }
    }

    /// Returns true if a key must not be used any more.
    fn has_ended(&self, now: SystemTime) -> bool {
        self.ends.iter().any(|end| end.has_passed(now))
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
        Some(keys) => ServedKeys::derive(file, keys).map(drop),
        None => Ok(()),
    }
}

impl ObliviousGateway {
    /// Reads the keys, and makes the file if it does not exist. Besides the requests that are
    /// opened, at most `queued` wait for their turns.
    pub(crate) fn open(file: &Path, queued: usize) -> Result<Self, Error> {
        let keys = key_file::open(file, SystemTime::now())?;
        let served = ServedKeys::derive(file, keys)?;

        Ok(Self {
            file: file.to_owned(),
            served: RwLock::new(Arc::new(served)),
            replays: Mutex::new(Replays::new()),
            last_read: Mutex::new(Instant::now()),
            openings: WorkTurns::new(OPENING, queued),
        })
    }

    /// The public keys, as `application/ohttp-keys`.
    pub(crate) fn key_list(&self) -> Bytes {
        self.served().list.clone()
    }

    /// Waits for a turn of a relay to open a request, whose body takes this memory. It comes before
    /// any work with a private key: relays take turns, and one that has more waiting requests gives
    /// one up to another.
    ///
    /// # Errors
    /// [`UnsealError::Busy`].
    pub(crate) async fn turn(
        &self,
        relay: &ClientKey,
        body: HeldBytes,
    ) -> Result<OpeningTurn, UnsealError> {
        let permit = self.openings.admit(relay).ok_or(NO_TURN)?;
        // With the memory: a request that gives up its place frees both at once.
        let permit = permit.holding(ClientSlot::unlimited(), body);

        let entered = self.openings.enter(relay, permit).await;
        let (turn, permit) = entered.map_err(|_| NO_TURN)?;
        Ok(OpeningTurn {
            _turn: turn,
            permit,
        })
    }

    /// Refuses requests that wait for a turn, which frees the memory of their bodies.
    pub(crate) fn relief_of_bodies(&self) -> Relief {
        self.openings.relief()
    }

    /// Opens a request in its turn. It may be a copy of an earlier one. Runs on a blocking thread,
    /// since a request may have a hundred megabytes.
    pub(crate) fn unseal(
        &self,
        sealed: &[u8],
        form: SealForm,
    ) -> Result<OpenedRequest, UnsealError> {
        let now = SystemTime::now();
        let mut opened = self.served().open(sealed, form, now);

        // A service that shares the file may have rotated the keys.
        let is_unknown = opened.as_ref().is_err_and(is_of_other_key);
        if is_unknown && self.begins_reading(LOOK_INTERVAL) {
            self.read_keys();
            opened = self.served().open(sealed, form, now);
        }

        opened.map_err(|error| {
            if is_of_other_key(&error) {
                UnsealError::UnknownKey
            } else {
                UnsealError::Damaged
            }
        })
    }

    /// Remembers an opened request of a client, before it has an effect.
    ///
    /// # Errors
    /// [`UnsealError::Replayed`] if it has arrived before, and [`UnsealError::Busy`] without room
    /// for it. It must then have no effect: a copy of it may arrive later.
    pub(crate) fn remember(
        &self,
        fingerprint: &[u8; 32],
        client: &ClientKey,
    ) -> Result<(), UnsealError> {
        let arrival = lock(&self.replays).admit(fingerprint, client, Instant::now());
        match arrival {
            Arrival::New => Ok(()),
            Arrival::Copy => Err(UnsealError::Replayed),
            Arrival::Full { after } => Err(UnsealError::Busy { after }),
        }
    }

    /// Reads the file again, and rotates keys that are due. A file that cannot be read leaves the
    /// keys as they are, except those that have ended.
    pub(crate) fn reload(&self) {
        *lock(&self.last_read) = Instant::now();
        self.read_keys();
    }

    /// Does the same once an hour, and when a key ends.
    pub(crate) fn reload_if_due(&self) {
        let has_ended = self.served().has_ended(SystemTime::now());
        let interval = if has_ended {
            LOOK_INTERVAL
        } else {
            ROTATION_INTERVAL
        };

        if self.begins_reading(interval) {
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
        let now = SystemTime::now();
        let keys = key_file::reopen(&self.file, now);
        match keys.and_then(|keys| ServedKeys::derive(&self.file, keys)) {
            Ok(served) => self.replace(served),
            Err(error) => {
                tracing::error!(%error, "gateway keys not read: the previous ones stay");
                self.retire(now);
            }
        }
    }

    /// Removes keys that have ended from memory, whatever the file holds.
    fn retire(&self, now: SystemTime) {
        let served = self.served();
        if !served.has_ended(now) {
            return;
        }

        let kept = without_ended(served.seeded.clone(), now);
        match ServedKeys::derive(&self.file, kept) {
            Ok(served) => self.replace(served),
            Err(error) => tracing::error!(%error, "ended gateway keys not removed"),
        }
    }

    fn replace(&self, served: ServedKeys) {
        let mut current = self.served.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(served);
    }

    fn served(&self) -> Arc<ServedKeys> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns true if a request is sealed under a key that the gateway does not have, or may be. Keys
/// of an earlier file had the same identifiers.
fn is_of_other_key(error: &papir_ohttp::Error) -> bool {
    use papir_ohttp::Error as E;

    matches!(error, E::UnknownKey { .. } | E::WrongKey { .. })
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_ohttp::{InnerRequest, KeyList, SealedRequest};
    use tokio::task::{JoinHandle, yield_now};

    use super::*;
    use crate::admission::Memory;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn relay(number: u32) -> ClientKey {
        ClientKey::Address(std::net::Ipv4Addr::from(number).into())
    }

    fn open(file: &Path) -> ObliviousGateway {
        ObliviousGateway::open(file, 1).unwrap()
    }

    fn seal_for(list: &[u8]) -> SealedRequest {
        let list = KeyList::parse(list).unwrap();
        let request = InnerRequest {
            method: "GET".to_owned(),
            scheme: "https".to_owned(),
            authority: "papir.example".to_owned(),
            path: "/v1/databases".to_owned(),
            headers: Vec::new(),
        };
        list.choose().unwrap().seal(&request, b"").unwrap()
    }

    fn seal(gateway: &ObliviousGateway) -> SealedRequest {
        seal_for(&gateway.key_list())
    }

    /// Opens and remembers a request, as the service does.
    fn unseal(gateway: &ObliviousGateway, sealed: &[u8]) -> Result<OpenedRequest, UnsealError> {
        let opened = gateway.unseal(sealed, SealForm::Chunked)?;
        gateway.remember(&opened.fingerprint, &relay(1))?;
        Ok(opened)
    }

    fn refusal(gateway: &ObliviousGateway, sealed: &[u8]) -> UnsealError {
        unseal(gateway, sealed).map(drop).unwrap_err()
    }

    #[test]
    fn requests_are_opened_once_also_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ohttp.toml");
        let gateway = open(&file);
        let sealed = seal(&gateway).body;

        let opened = unseal(&gateway, &sealed).unwrap();
        assert_eq!(opened.request.path, "/v1/databases");
        assert_eq!(refusal(&gateway, &sealed), UnsealError::Replayed);

        let mut damaged = seal(&gateway).body;
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(refusal(&gateway, &damaged), UnsealError::Damaged);
        assert_eq!(refusal(&gateway, b""), UnsealError::Damaged);

        let again = open(&file);
        assert_eq!(again.key_list(), gateway.key_list());
        assert!(unseal(&again, &sealed).is_ok());
    }

    #[test]
    fn an_unknown_key_is_looked_for_in_the_shared_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ohttp.toml");
        let first = open(&file);
        let later = SystemTime::now() + DAY * 31;
        key_file::open(&file, later).unwrap();
        let second = open(&file);
        assert_ne!(second.key_list(), first.key_list());

        let sealed = seal(&second).body;
        // Read a moment ago, and on a slow machine too.
        *lock(&first.last_read) = Instant::now() + ROTATION_INTERVAL;
        assert_eq!(refusal(&first, &sealed), UnsealError::UnknownKey);
        *lock(&first.last_read) = Instant::now() - LOOK_INTERVAL;
        assert!(unseal(&first, &sealed).is_ok());
        assert_eq!(second.key_list(), first.key_list());
    }

    #[test]
    fn a_key_of_a_lost_file_is_unknown_and_not_damage() {
        let folder = tempfile::tempdir().unwrap();
        let lost = open(&folder.path().join("lost.toml"));
        let file = folder.path().join("ohttp.toml");
        let gateway = open(&file);
        let sealed = seal(&lost).body;
        assert_eq!(
            sealed[..3],
            seal(&gateway).body[..3],
            "the same identifier and mechanism"
        );

        *lock(&gateway.last_read) = Instant::now() + ROTATION_INTERVAL;
        assert_eq!(refusal(&gateway, &sealed), UnsealError::UnknownKey);

        // Another service brought the file back.
        std::fs::copy(folder.path().join("lost.toml"), &file).unwrap();
        *lock(&gateway.last_read) = Instant::now() - LOOK_INTERVAL;
        assert!(unseal(&gateway, &sealed).is_ok());
    }

    #[test]
    fn an_ended_key_is_not_used_whatever_the_file_holds() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ohttp.toml");
        let now = SystemTime::now();
        let old = key_file::open(&file, now - DAY * 40).unwrap();
        let all = key_file::open(&file, now - DAY * 9).unwrap();
        assert_eq!((old.len(), all.len()), (2, 4));

        // As it was before the old keys ended.
        let gateway = open(&file);
        gateway.replace(ServedKeys::derive(&file, all).unwrap());
        let old = ServedKeys::derive(&file, old).unwrap();
        let sealed = seal_for(&old.list).body;
        assert!(old.gateway.open(&sealed, SealForm::Chunked).is_ok());
        std::fs::write(&file, "damaged").unwrap();

        *lock(&gateway.last_read) = Instant::now() + ROTATION_INTERVAL;
        assert_eq!(refusal(&gateway, &sealed), UnsealError::UnknownKey);
        assert_eq!(gateway.served().seeded.len(), 4);

        *lock(&gateway.last_read) = Instant::now() - LOOK_INTERVAL;
        gateway.reload_if_due();
        assert_eq!(gateway.served().seeded.len(), 2);
        assert_eq!(refusal(&gateway, &sealed), UnsealError::UnknownKey);
        assert!(unseal(&gateway, &seal(&gateway).body).is_ok());
    }

    #[test]
    fn a_running_gateway_keeps_its_keys_when_the_file_is_bad() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ohttp.toml");
        let gateway = open(&file);
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

    /// Waits for a turn of a relay, with a body of a hundred bytes.
    async fn enter(
        gateway: &Arc<ObliviousGateway>,
        uploads: &Arc<Memory>,
        number: u32,
    ) -> JoinHandle<Result<OpeningTurn, UnsealError>> {
        let mut body = uploads.begin(relay(number));
        assert!(body.grow(100));
        let gateway = Arc::clone(gateway);
        let waiting = tokio::spawn(async move { gateway.turn(&relay(number), body).await });

        yield_now().await;
        waiting
    }

    #[tokio::test]
    async fn a_relay_that_floods_gives_up_waiting_requests_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let gateway = Arc::new(open(&folder.path().join("ohttp.toml")));
        let uploads = Memory::new(10_000);

        let mut turns = Vec::new();
        for _ in 0..OPENING {
            let entered = enter(&gateway, &uploads, 1).await.await;
            turns.push(entered.unwrap().unwrap());
        }
        let waiting = enter(&gateway, &uploads, 1).await;
        let refused = enter(&gateway, &uploads, 1).await.await.unwrap();
        assert_eq!(refused.map(drop), Err(NO_TURN));

        // Its memory is free at once.
        let other = enter(&gateway, &uploads, 2).await;
        assert_eq!(uploads.bytes(), 100 * (OPENING + 1));
        assert_eq!(waiting.await.unwrap().map(drop), Err(NO_TURN));

        let held = turns.pop().unwrap().end();
        assert!(held.is_some() && !other.is_finished());
        assert!(other.await.unwrap().unwrap().end().is_some());
        drop((turns, held));
        assert_eq!(uploads.bytes(), 0);
    }
}
