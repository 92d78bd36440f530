//! Verification of a database's signed checkpoints.
//!
//! Checkpoints are fetched with the public part, before any query. The requests depend on the
//! service's replies and on what this client has seen of the database before. They never depend on
//! what is looked up.

use std::time::Duration;

use papir_checkpoint::{
    Accepted, Error as CheckpointError, Policy, Proof, VerifyingKey, successor,
};
use papir_protocol::{DatabaseInfo, limit, path};

use super::owner_pin::PinnedOwner;
use super::service::Service;
use super::settings::{Pin, Settings};
use super::storage::Storage;
use super::task::Io;
use crate::error::{Error, Result, refused_checkpoint};

/// Time for retries with a service that is behind, unless the settings say otherwise.
const CATCH_UP: Duration = Duration::from_secs(30);
/// Shortest wait before a retry, in milliseconds.
const MIN_WAIT: u64 = 500;
/// Waits are spread over this many milliseconds, so that clients do not ask all at once.
const JITTER: u64 = 2000;

/// A session's trust in the owner of its database.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnerTrust {
    /// The key to verify against: given, pinned, or that of the first checkpoint.
    owner: Option<VerifyingKey>,
    /// Set if the key was given or pinned before this session.
    known: bool,
    /// Set if a root was pinned before any key. The root remains trusted: a key that a service
    /// sends is not pinned.
    rooted: bool,
    /// The newest version seen, and the owner's newest key at that time.
    pin: Option<PinnedOwner>,
    /// The newest accepted checkpoint.
    pub(crate) accepted: Option<Accepted>,
}

/// The outcome of one request for a checkpoint.
pub(crate) enum Verdict {
    /// The database has no checkpoint, and none is required.
    Unsigned,
    /// The checkpoint is accepted. The public part is still to be compared with it.
    Accepted(Box<Accepted>),
    /// The database was replaced meanwhile.
    Changed,
    /// The service shows an older version than this client has seen: it may be behind.
    Behind(Error),
}

impl OwnerTrust {
    /// The given key, or the pinned one if keys are pinned.
    pub(crate) async fn open(
        io: &Io,
        service: &Service,
        name: &str,
        settings: &Settings,
    ) -> Result<Self> {
        let slot = service.address.identity(name);
        let storage = Storage::new(io, &slot);

        let pin = match settings.pin {
            Pin::Nothing => None,
            Pin::Owner | Pin::OwnerAndRoot => storage.owner().await?,
        };
        let owner = settings
            .checkpoint
            .owner
            .clone()
            .or_else(|| pin.as_ref().map(|pin| pin.key.clone()));

        let rooted = match settings.pin {
            _ if owner.is_some() => false,
            Pin::Nothing => false,
            Pin::Owner => storage.has_root().await?,
            Pin::OwnerAndRoot => settings.root.is_some() || storage.has_root().await?,
        };

        Ok(Self {
            known: owner.is_some(),
            rooted,
            owner,
            pin,
            accepted: None,
        })
    }

    /// Returns whether a root was pinned before any key: then no signature vouches for another one.
    pub(crate) fn is_rooted(&self) -> bool {
        self.rooted
    }

    /// Returns whether the owner's key or a root was known before this session.
    pub(crate) fn is_pinned(&self) -> bool {
        self.known || self.rooted
    }

    /// Trusts a root from now on: it was pinned before any key.
    pub(crate) fn trust_root(&mut self) {
        self.rooted = true;
    }

    /// Returns whether an older version than the last one would be refused: the database is signed.
    pub(crate) fn is_signed(&self) -> bool {
        self.known || self.accepted.is_some()
    }

    /// Returns whether the accepted checkpoint has become older than the settings allow.
    pub(crate) fn is_too_old(&self, service: &Service, settings: &Settings) -> bool {
        let (Some(accepted), Some(max)) = (&self.accepted, settings.checkpoint.max_age) else {
            return false;
        };

        let now = service.platform.unix_time();
        now.saturating_sub(accepted.leaf.time) > max.as_secs()
    }

    /// Fetches and verifies the checkpoint of a version. An unsigned database is refused with
    /// [`Error::NoCheckpoint`] if an owner's key is known, or anything is required of a checkpoint.
    pub(crate) async fn verdict(
        &self,
        io: &Io,
        service: &Service,
        name: &str,
        info: &DatabaseInfo,
        settings: &Settings,
    ) -> Result<Verdict> {
        let path = path::checkpoint_proof(name);
        if info.checkpoint.is_none() {
            if self.owner.is_some() || settings.checkpoint.is_required() {
                let url = service.url(&path::database(name));
                return Err(Error::NoCheckpoint { url });
            }
            return Ok(Verdict::Unsigned);
        }

        // The checkpoint of snapshot and delta together has the delta's version.
        let version = info
            .delta
            .as_ref()
            .map_or(&info.version, |delta| &delta.version);
        let bytes = service
            .bytes_of(io, &path, version, limit::CHECKPOINT_BYTES)
            .await?;
        let Some(bytes) = bytes else {
            return Ok(Verdict::Changed);
        };

        let url = service.url(&path);
        let proof = Proof::parse(&bytes).map_err(|error| refused_checkpoint(&url, error))?;
        match self.policy(service, name, settings, &proof).accept(&proof) {
            Ok(accepted) => Ok(Verdict::Accepted(Box::new(accepted))),
            Err(error @ CheckpointError::Rollback { .. }) => {
                Ok(Verdict::Behind(refused_checkpoint(&url, error)))
            }
            Err(error) => Err(refused_checkpoint(&url, error)),
        }
    }

    fn policy<'a>(
        &'a self,
        service: &Service,
        name: &'a str,
        settings: &'a Settings,
        proof: &'a Proof,
    ) -> Policy<'a> {
        let now = service.platform.unix_time();
        let checkpoint = &settings.checkpoint;
        let owner = self.owner.as_ref().unwrap_or(&proof.owner);
        let newest = successor(owner, &proof.certificates, now);

        Policy {
            max_age: checkpoint.max_age.map(|age| age.as_secs()),
            highest: self.pin_of([owner, &newest]).map(|pin| pin.highest),
            witnesses: &checkpoint.witnesses,
            cosignatures: checkpoint.cosignatures,
            ..Policy::new(owner, name, now)
        }
    }

    /// The pin, if it is of the owner with one of these keys. Sequences belong to one owner's log:
    /// a caller that gives another owner's key starts anew.
    fn pin_of(&self, keys: [&VerifyingKey; 2]) -> Option<&PinnedOwner> {
        let pin = self.pin.as_ref()?;
        keys.iter()
            .any(|key| pin.key.same_key(key) || pin.first.same_key(key))
            .then_some(pin)
    }

    /// Keeps an accepted checkpoint, whose public part was compared: in this session and, if keys
    /// are pinned, in the storage.
    ///
    /// Fails with [`Error::Checkpoint`] if another session has pinned another owner meanwhile, a
    /// newer version, or another one under the same sequence. This session trusts that pin from
    /// then on.
    pub(crate) async fn keep(
        &mut self,
        io: &Io,
        service: &Service,
        name: &str,
        settings: &Settings,
        accepted: Accepted,
    ) -> Result<()> {
        let trusted = self.owner.as_ref().unwrap_or(&accepted.owner);
        let former = self.pin_of([trusted, &accepted.owner]);
        let first = former.map_or(trusted, |pin| &pin.first).clone();
        let pin = PinnedOwner {
            key: accepted.owner.clone(),
            first,
            highest: accepted.seen,
        };

        // Stored first: a version that is not pinned could be rolled back after a restart.
        if settings.pin != Pin::Nothing && !self.rooted && self.pin.as_ref() != Some(&pin) {
            self.store_pin(io, service, name, settings, &pin).await?;
        }

        if settings.checkpoint.owner.is_none() {
            self.owner = Some(pin.key.clone());
        }
        self.pin = Some(pin);
        self.accepted = Some(accepted);
        Ok(())
    }

    /// Pins an owner in the storage, unless a root was pinned there before any key. Trusts the
    /// stored pin instead if the new one may not replace it.
    async fn store_pin(
        &mut self,
        io: &Io,
        service: &Service,
        name: &str,
        settings: &Settings,
        pin: &PinnedOwner,
    ) -> Result<()> {
        let slot = service.address.identity(name);
        let lock = Storage::new(io, &slot).lock().await?;
        // Another session may have seen a newer version meanwhile, or pinned the first key.
        let given = settings.checkpoint.owner.is_some();
        let stored = lock
            .owner()
            .await?
            .filter(|stored| !given || stored.is_of_owner(pin));
        let is_first = !self.known && stored.is_none();

        if let Some(stored) = stored
            && let Err(error) = check_replacement(&stored, pin)
        {
            if !given {
                self.owner = Some(stored.key.clone());
                self.known = true;
            }
            self.pin = Some(stored);
            let url = service.url(&path::checkpoint_proof(name));
            return Err(refused_checkpoint(&url, error));
        }

        // Another session may have pinned a root meanwhile.
        if !is_first || lock.root().await?.is_none() {
            lock.keep_owner(pin.clone()).await?;
        }
        Ok(())
    }
}

/// Checks that a pin may replace a stored one: both are of one owner, and nothing that was seen is
/// lost.
fn check_replacement(stored: &PinnedOwner, pin: &PinnedOwner) -> Result<(), CheckpointError> {
    if !stored.is_of_owner(pin) {
        let owner = stored.key.to_string();
        let found = pin.key.to_string();
        return Err(CheckpointError::Untrusted { owner, found });
    }
    pin.highest.check(&stored.highest)
}

/// Waits before a retry with a service that is behind: a random time, but not beyond the deadline.
/// Returns whether there was time left.
pub(crate) async fn wait_for_newer(
    io: &Io,
    service: &Service,
    start: Duration,
    settings: &Settings,
) -> bool {
    let most = settings.checkpoint.catch_up.unwrap_or(CATCH_UP);
    let left = most.saturating_sub(service.platform.now().saturating_sub(start));
    if left.is_zero() {
        return false;
    }

    // The generator is dropped before the wait.
    let wait = MIN_WAIT + service.platform.rng().next_u64() % JITTER;
    io.wait(Duration::from_millis(wait).min(left)).await;
    true
}
