//! Verification of private tokens with the keys of their issuer.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use papir_privacy_pass::{
    ChallengeOffer, DirectoryKey, IssuerDirectory, PassError, PassToken, TokenChallenge, verify,
    write_challenges,
};
use papir_store::timestamp;
use tokio::sync::{AcquireError, Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::config::{DirectorySource, PrivacyPassConfig};
use super::directory::{DirectoryError, read_file};
use super::recent::RecentTokens;
use crate::clients::{IssuerKeyId, Registry, SpentToken};
use crate::error::Error;

/// Interval between two readings of the directory.
const REFRESHED_EVERY: Duration = Duration::from_secs(3600);
/// Pause after a failed reading.
const RETRIED_AFTER: Duration = Duration::from_secs(10);
/// Time for which the keys of a directory are used if no newer one can be read.
const TRUSTED_FOR: Duration = Duration::from_secs(24 * 3600);
/// Requests that spend their tokens at once, each on a thread. They share writes to disk.
const SPENDING: usize = 64;

/// Verifies private tokens for one challenge, with the keys that its issuer lists.
pub(crate) struct PassVerifier {
    source: DirectorySource,
    /// The same for all clients and requests, so that it links none of them.
    challenge: TokenChallenge,
    /// The earliest begin of a key that is accepted.
    not_before: Option<SystemTime>,
    known: RwLock<Option<Arc<KeysInUse>>>,
    /// Wakes the task that reads the directory.
    wanted: Notify,
    recent: RecentTokens,
    turns: Arc<Semaphore>,
}

/// The keys of the last directory.
struct KeysInUse {
    directory: IssuerDirectory,
    until: Instant,
}

/// Reason why a request's private token is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenRefusal {
    /// The request has no private token.
    #[error("the request needs a private token of Privacy Pass")]
    Missing,
    /// The token does not parse, answers another challenge, or its signature does not verify.
    #[error("the private token is not accepted: {0}")]
    Invalid(#[from] PassError),
    /// The token was signed with a key that the issuer does not list.
    #[error("the private token is not accepted: the issuer lists no such key, or no longer")]
    UnknownKey,
    /// The token was redeemed before.
    #[error("the private token is spent: send another one")]
    Spent,
}

impl PassVerifier {
    /// Checks the settings. A directory in a file must be readable; an issuer is asked later.
    pub(crate) fn open(config: &PrivacyPassConfig) -> Result<Self, Error> {
        let listed = match &config.directory {
            DirectorySource::File(path) => {
                Some(read_file(path).map_err(|error| bad(error.to_string()))?)
            }
            DirectorySource::Issuer(_) => None,
        };
        if let Some(directory) = &listed
            && directory.keys().is_empty()
        {
            return Err(bad(DirectoryError::NoKey.to_string()));
        }

        if config.origins.is_empty() {
            return Err(bad(
                "no origin: expected the public host name of the service",
            ));
        }
        let issuer = issuer_name(config, listed.as_ref())?;
        let challenge = TokenChallenge::new(issuer, None, config.origins.clone());
        Ok(Self {
            source: config.directory.clone(),
            challenge: challenge.map_err(|error| bad(error.to_string()))?,
            not_before: config.not_before,
            known: RwLock::new(None),
            wanted: Notify::new(),
            recent: RecentTokens::default(),
            turns: Arc::new(Semaphore::new(SPENDING)),
        })
    }

    /// Reads the directory at once, each hour, and after [`Self::reload`]. Never completes.
    pub(crate) async fn follow(self: Arc<Self>, registry: Arc<Registry>) {
        loop {
            let pause = match self.refresh(&registry).await {
                Ok(()) => REFRESHED_EVERY,
                Err(error) => {
                    let issuer = self.challenge.issuer();
                    tracing::warn!(issuer, %error, "the issuer's keys were not read");
                    RETRIED_AFTER
                }
            };

            tokio::select! {
                () = sleep(pause) => {}
                () = self.wanted.notified() => {}
            }
        }
    }

    /// Asks for another reading of the directory.
    pub(crate) fn reload(&self) {
        self.wanted.notify_one();
    }

    /// Reads the directory, and uses its keys from now on.
    async fn refresh(&self, registry: &Arc<Registry>) -> Result<(), DirectoryError> {
        let mut directory = self.source.read().await?;
        let mut keys = directory.keys().to_vec();
        keys.retain(|entry| self.is_late_enough(entry));
        let are_old = keys.is_empty() && !directory.keys().is_empty();

        // Noted first: the registry remembers the tokens of noted keys only. A key that has ended
        // stays ended, since its tokens are forgotten.
        let ids: Vec<IssuerKeyId> = keys.iter().map(|entry| *entry.key.id()).collect();
        let registry = Arc::clone(registry);
        let noting = spawn_blocking(move || registry.note_issuer_keys(&ids));
        let usable = noting.await.map_err(|_| DirectoryError::Aborted)??;

        keys.retain(|entry| usable.contains(entry.key.id()));
        let has_none = keys.is_empty();
        directory = IssuerDirectory::new(directory.request_uri(), keys)?;
        self.learn(directory);
        if !has_none {
            return Ok(());
        }
        Err(match self.not_before.filter(|_| are_old) {
            Some(time) => DirectoryError::OldKeys {
                time: timestamp(time),
            },
            None => DirectoryError::NoKey,
        })
    }

    /// Returns true if a key began late enough to be accepted. An issuer signs under a key from its
    /// begin on, so that none of its tokens was spent before. A key without a begin may be old.
    fn is_late_enough(&self, entry: &DirectoryKey) -> bool {
        let Some(time) = self.not_before else {
            return true;
        };
        let begin = Duration::from_secs(entry.not_before.unwrap_or(0));
        UNIX_EPOCH
            .checked_add(begin)
            .is_none_or(|begin| begin >= time)
    }

    /// Replaces the keys.
    fn learn(&self, directory: IssuerDirectory) {
        let issuer = self.challenge.issuer();
        let keys = directory.keys().len();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);

        let is_new = known
            .as_ref()
            .is_none_or(|before| before.directory != directory);
        if is_new {
            tracing::info!(issuer, keys, "the issuer's keys have changed");
        }
        *known = Some(Arc::new(KeysInUse {
            directory,
            until: Instant::now() + TRUSTED_FOR,
        }));
    }

    /// The keys in use.
    fn known(&self) -> Option<Arc<KeysInUse>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let in_time = known.clone();
        in_time.filter(|keys| Instant::now() < keys.until)
    }

    /// The challenge as a value of `WWW-Authenticate`; `None` if no key of the issuer is known.
    pub(crate) fn offer(&self) -> Option<String> {
        let known = self.known()?;
        let key = known.directory.current(unix_seconds())?;
        let offer = ChallengeOffer::new(&self.challenge, Some(key), None);
        Some(write_challenges(&[offer]))
    }

    /// Verifies a token. It may then be spent. Tokens of all keys in the directory are accepted:
    /// the clocks of clients and issuers differ.
    pub(crate) fn verify(&self, token: &PassToken) -> Result<SpentToken, TokenRefusal> {
        let known = self.known();
        let key = known
            .as_ref()
            .and_then(|known| known.directory.by_id(&token.input.key_id))
            .ok_or(TokenRefusal::UnknownKey)?;

        let digest = *blake3::hash(&token.input.encode()).as_bytes();
        if self.recent.contains(&digest) {
            return Err(TokenRefusal::Spent);
        }
        verify(token, &self.challenge, key)?;
        Ok(SpentToken {
            key: *key.id(),
            digest,
        })
    }

    /// Notes that the registry has a token as spent, so that a copy of it costs little.
    pub(crate) fn note_spent(&self, token: &SpentToken) {
        self.recent.note(&token.digest);
    }

    /// Waits for a turn to spend a token.
    ///
    /// # Errors
    /// None: the semaphore is never closed.
    pub(crate) async fn turn(&self) -> Result<OwnedSemaphorePermit, AcquireError> {
        Arc::clone(&self.turns).acquire_owned().await
    }
}

/// The name of the issuer: as configured, else the host in the directory.
fn issuer_name(
    config: &PrivacyPassConfig,
    listed: Option<&IssuerDirectory>,
) -> Result<String, Error> {
    if let Some(name) = &config.issuer {
        return Ok(name.clone());
    }

    let address = listed.map_or("", IssuerDirectory::request_uri);
    let rest = address.strip_prefix("https://").ok_or_else(|| {
        bad("the issuer has no name: expected one, or issuer-request-uri with https://HOST")
    })?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.strip_suffix(":443").unwrap_or(host);
    Ok(host.to_ascii_lowercase())
}

/// The error for settings that cannot be used.
fn bad(reason: impl Into<String>) -> Error {
    Error::PrivacyPass {
        reason: reason.into(),
    }
}

/// Seconds since 1970, UTC.
fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;
    use std::sync::LazyLock;

    use chacha20::ChaCha20Rng;
    use papir_privacy_pass::{IssuerKey, TokenBlinding, parse_challenges};
    use rand_core::SeedableRng;

    use super::*;

    static FIRST: LazyLock<IssuerKey> = LazyLock::new(|| key(1));
    static SECOND: LazyLock<IssuerKey> = LazyLock::new(|| key(2));

    fn key(seed: u64) -> IssuerKey {
        IssuerKey::generate(&mut ChaCha20Rng::seed_from_u64(seed)).unwrap()
    }

    fn entry(key: &IssuerKey, not_before: Option<u64>) -> DirectoryKey {
        DirectoryKey {
            key: key.public().clone(),
            not_before,
        }
    }

    fn directory(address: &str, keys: Vec<DirectoryKey>) -> IssuerDirectory {
        IssuerDirectory::new(address, keys).unwrap()
    }

    /// Settings of a service with a directory in a file.
    fn settings(folder: &Path, directory: &IssuerDirectory) -> PrivacyPassConfig {
        let file = folder.join("keys.json");
        std::fs::write(&file, directory.to_json().unwrap()).unwrap();
        PrivacyPassConfig {
            issuer: None,
            directory: DirectorySource::File(file),
            origins: vec!["pir.example".to_owned()],
            not_before: None,
        }
    }

    fn token(key: &IssuerKey, challenge: &TokenChallenge) -> PassToken {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let (blinding, request) = TokenBlinding::new(challenge, key.public(), &mut rng).unwrap();
        let response = key.sign_blinded(&request, &mut rng).unwrap();
        blinding.finalize(&response, key.public()).unwrap()
    }

    #[test]
    fn the_keys_of_a_directory_are_used_for_a_limited_time() {
        let folder = tempfile::tempdir().unwrap();
        let listed = vec![entry(&SECOND, Some(u64::MAX)), entry(&FIRST, None)];
        let listed = directory("https://issuer.example/r", listed);
        let verifier = PassVerifier::open(&settings(folder.path(), &listed)).unwrap();
        let of_first = token(&FIRST, &verifier.challenge);
        let of_second = token(&SECOND, &verifier.challenge);
        assert_eq!(verifier.offer(), None, "not read yet");
        assert_eq!(verifier.verify(&of_first), Err(TokenRefusal::UnknownKey));

        // A key whose time has not come is not offered. Its tokens are accepted, since a client may
        // have another clock.
        verifier.learn(listed.clone());
        let offers = parse_challenges(&verifier.offer().unwrap()).unwrap();
        let offered = offers[0].parse_key().unwrap();
        assert_eq!(offered.as_ref(), Some(FIRST.public()));
        let spendable = verifier.verify(&of_first).unwrap();
        assert_eq!(spendable.key, *FIRST.public().id());
        assert_ne!(spendable, verifier.verify(&of_second).unwrap());

        let ended = KeysInUse {
            directory: listed,
            until: Instant::now(),
        };
        *verifier.known.write().unwrap() = Some(Arc::new(ended));
        assert_eq!(verifier.offer(), None);
        assert_eq!(verifier.verify(&of_first), Err(TokenRefusal::UnknownKey));
    }

    #[test]
    fn keys_that_began_before_a_time_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let listed = directory("https://issuer.example/r", vec![entry(&FIRST, None)]);
        let of_begin = |begin: Option<u64>, not_before: Option<u64>| {
            let config = PrivacyPassConfig {
                not_before: not_before.map(|time| UNIX_EPOCH + Duration::from_secs(time)),
                ..settings(folder.path(), &listed)
            };
            let verifier = PassVerifier::open(&config).unwrap();
            verifier.is_late_enough(&entry(&FIRST, begin))
        };

        for begin in [None, Some(999), Some(1000), Some(u64::MAX)] {
            assert!(of_begin(begin, None), "{begin:?}");
            let is_late = begin.is_some_and(|begin| begin >= 1000);
            assert_eq!(of_begin(begin, Some(1000)), is_late, "{begin:?}");
        }
    }

    #[test]
    fn a_token_is_known_by_its_signed_fields() {
        let folder = tempfile::tempdir().unwrap();
        let listed = directory("https://issuer.example/r", vec![entry(&FIRST, None)]);
        let verifier = PassVerifier::open(&settings(folder.path(), &listed)).unwrap();
        verifier.learn(listed);

        let first = token(&FIRST, &verifier.challenge);
        let mut other = first.clone();
        other.authenticator[0] ^= 1;
        assert!(matches!(
            verifier.verify(&other),
            Err(TokenRefusal::Invalid(_))
        ));

        let spendable = verifier.verify(&first).unwrap();
        let expected = blake3::hash(&other.input.encode());
        assert_eq!(spendable.digest, *expected.as_bytes());

        verifier.note_spent(&spendable);
        for copy in [&first, &other] {
            assert_eq!(verifier.verify(copy), Err(TokenRefusal::Spent));
        }
    }

    #[test]
    fn the_name_of_an_issuer_is_the_host_in_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        for (address, expected) in [
            ("https://Issuer.example/request", Some("issuer.example")),
            ("https://issuer.example:443?a", Some("issuer.example")),
            ("https://issuer.example:8443", Some("issuer.example:8443")),
            ("/request", None),
            ("http://issuer.example/request", None),
            ("https://", None),
            ("https://user@issuer.example/", None),
        ] {
            let listed = directory(address, vec![entry(&FIRST, None)]);
            let opened = PassVerifier::open(&settings(folder.path(), &listed));
            let name = opened.map(|verifier| verifier.challenge.issuer().to_owned());
            assert_eq!(name.ok().as_deref(), expected, "{address}");
        }
    }
}
