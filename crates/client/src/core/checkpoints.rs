//! Verification of a database's signed checkpoints.
//!
//! Checkpoints are fetched with the public part, before any query. The requests depend on the
//! service's replies and on the versions that this client has seen before. They never depend on the
//! keys or indices that the client looks up.

use std::time::Duration;

use papir_checkpoint::{
    Accepted, Error as CheckpointError, Policy, Proof, VerifyingKey, successor,
};
use papir_lookup::Root;
use papir_protocol::{DatabaseInfo, limit, path};

use super::other_pins::{OtherPins, not_pinned};
use super::owner_pin::PinnedOwner;
use super::proofs::fetch_proof;
use super::service::Service;
use super::settings::{CheckpointSettings, Pin, Settings};
use super::storage::SlotStorage;
use super::task::Io;
use crate::error::{Error, Result, refused_checkpoint};

/// Default time for retries with a service that shows an older version than the client has seen.
pub(crate) const CATCH_UP: Duration = Duration::from_secs(30);
/// Shortest wait before a retry, in milliseconds.
const MIN_WAIT: u64 = 500;
/// Maximum random addition to a wait, in milliseconds, so that clients do not retry all at once.
const JITTER: u64 = 2000;

/// A session's trust in the owner of its database.
///
/// A pinned key is replaced only by a later key of the owner, to which certificates of rotation
/// lead. A given key or another session cannot bring an earlier key back.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnerTrust {
    /// The owner's key to verify against: the pinned or the given key, or that of the first
    /// checkpoint; `None` before the first checkpoint.
    owner: Option<VerifyingKey>,
    /// Set if the key was given or pinned before this session.
    known: bool,
    /// Set if a root was pinned before any key. The root remains trusted, and a key that a service
    /// sends is not pinned.
    rooted: bool,
    /// The newest version that the client has seen, and the owner's newest key at that time.
    pin: Option<PinnedOwner>,
    /// The pins of the other servers, if this is one of several.
    others: OtherPins,
    /// The newest accepted checkpoint.
    pub(crate) accepted: Option<Accepted>,
}

/// An accepted checkpoint with its proof.
#[derive(Debug)]
pub(crate) struct ProvenCheckpoint {
    pub(crate) accepted: Accepted,
    /// The proof is verified again if another session of this client changes the pin meanwhile.
    proof: Proof,
}

/// The outcome of [`OwnerTrust::keep`].
pub(crate) enum Keeping {
    /// The session trusts the checkpoint, and has pinned it if the settings say so.
    Kept,
    /// Another session of this client has stored another pin since the checkpoint was fetched, and
    /// the checkpoint is refused under that pin. The caller may fetch a newer version. Contains the
    /// refusal.
    Overtaken(Error),
}

/// The outcome of one request for a checkpoint, if it is no error.
pub(crate) enum Verdict {
    /// The database has no checkpoint, and none is required.
    Unsigned,
    /// The checkpoint is accepted. The caller must still compare the public part with it.
    Accepted(Box<ProvenCheckpoint>),
    /// The service has another version by now than the one described.
    Changed,
    /// The service shows an older version than this client has seen, possibly because it is out of
    /// date. Contains the refusal.
    Behind(Error),
}

impl OwnerTrust {
    /// Reads the pinned key, if the settings pin keys. Without a pinned key, trusts the given one,
    /// or the one pinned of another server.
    pub(crate) async fn open(
        io: &Io,
        service: &Service,
        name: &str,
        settings: &Settings,
    ) -> Result<Self> {
        let slot = service.address.identity(name);
        let storage = SlotStorage::new(io, &slot);

        let pin = match settings.pin {
            Pin::Nothing => None,
            Pin::Owner | Pin::OwnerAndRoot => storage.owner().await?,
        };
        let others = OtherPins::read(io, service, name, settings).await?;
        let given = settings.checkpoint.owner.as_ref();
        let owner = match &pin {
            // Not the given key: its owner may have replaced it since.
            Some(pin) => Some(pin.key.clone()),
            None => given.or(others.owner()).cloned(),
        };

        let rooted = match settings.pin {
            _ if owner.is_some() => false,
            Pin::Nothing => false,
            _ if others.is_rooted() => true,
            Pin::Owner => storage.has_root().await?,
            Pin::OwnerAndRoot => settings.root.is_some() || storage.has_root().await?,
        };

        Ok(Self {
            known: owner.is_some(),
            rooted,
            owner,
            pin,
            others,
            accepted: None,
        })
    }

    /// The root that is pinned of another server, and must be this one's root; `None` if the
    /// settings name a root.
    pub(crate) fn root_of_others(&self) -> Option<Root> {
        self.others.root().filter(|_| self.rooted)
    }

    /// Returns true if a root was pinned before any key. No signature can then vouch for another
    /// root.
    pub(crate) fn is_rooted(&self) -> bool {
        self.rooted
    }

    /// Returns true if the owner's key or a root was known before this session.
    pub(crate) fn is_pinned(&self) -> bool {
        self.known || self.rooted
    }

    /// Notes that a root was pinned before any key, and is trusted from now on.
    pub(crate) fn trust_root(&mut self) {
        self.rooted = true;
    }

    /// Returns true if the database is signed, so that an older version than the last one would be
    /// refused.
    pub(crate) fn is_signed(&self) -> bool {
        self.known || self.accepted.is_some()
    }

    /// The owner's pin, which changes with every newer version that the client sees; `None` for an
    /// unsigned database.
    pub(crate) fn pinned(&self) -> Option<&PinnedOwner> {
        self.pin.as_ref()
    }

    /// Returns true if a version that was kept under the pin with the text `kept` may be used
    /// without a checkpoint: the pin is still the same, and the settings require no more than it
    /// tells.
    pub(crate) fn allows_kept(&self, settings: &Settings, kept: &str) -> bool {
        let CheckpointSettings {
            owner,
            max_age,
            sequence,
            cosignatures,
            ..
        } = &settings.checkpoint;
        if max_age.is_some() || sequence.is_some() || *cosignatures > 0 {
            return false;
        }

        let is_owner = match (owner, &self.pin) {
            (Some(given), Some(pin)) => pin.first.same_key(given) || pin.key.same_key(given),
            (given, None) => given.is_none(),
            (None, Some(_)) => true,
        };
        let pinned = self.pin.as_ref().map(PinnedOwner::encode);
        is_owner && pinned.unwrap_or_default() == kept
    }

    /// Returns true if the accepted checkpoint has become older than the settings allow.
    pub(crate) fn is_too_old(&self, service: &Service, settings: &Settings) -> bool {
        let (Some(accepted), Some(max)) = (&self.accepted, settings.checkpoint.max_age) else {
            return false;
        };

        let now = service.platform.unix_time();
        now.saturating_sub(accepted.leaf.time) > max.as_secs()
    }

    /// Fetches and verifies the checkpoint of the version that `info` describes. Fails with
    /// [`Error::NoCheckpoint`] for an unsigned database if an owner's key is known, or the settings
    /// require anything of a checkpoint.
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
        match self.accept(service, name, settings, &proof) {
            Ok(accepted) => Ok(Verdict::Accepted(Box::new(ProvenCheckpoint {
                accepted,
                proof,
            }))),
            Err(error @ (CheckpointError::Rollback { .. } | CheckpointError::Sequence { .. })) => {
                Ok(Verdict::Behind(refused_checkpoint(&url, error)))
            }
            Err(error) => Err(refused_checkpoint(&url, error)),
        }
    }

    /// Fetches a proof without a token, and verifies the keys of gateways that it names. From then
    /// on the session sends the token. Does nothing unless the session holds the token back.
    pub(crate) async fn open_gate(
        &self,
        io: &Io,
        service: &Service,
        name: &str,
        settings: &Settings,
    ) -> Result<()> {
        if !service.is_gate_closed() {
            return Ok(());
        }

        let proof = fetch_proof(io, service, name).await?;
        self.check_given_owner(service, settings, &proof)
            // The sequence is not checked: a service that is out of date may catch up.
            .and_then(|()| self.verify_keys(service, name, settings, &proof))
            .map_err(|error| {
                let url = service.url(&path::checkpoint_proof(name));
                refused_checkpoint(&url, error)
            })
    }

    /// Checks that the given key belongs to the pinned owner. Does nothing unless there are both.
    fn check_given_owner(
        &self,
        service: &Service,
        settings: &Settings,
        proof: &Proof,
    ) -> Result<(), CheckpointError> {
        match (&settings.checkpoint.owner, &self.pin) {
            (Some(given), Some(pin)) => {
                check_given(given, pin, proof, service.platform.unix_time())
            }
            _ => Ok(()),
        }
    }

    /// Verifies the keys of gateways that a proof names, for all later requests of the session. A
    /// proof without keys is refused if the owner must name some.
    fn verify_keys(
        &self,
        service: &Service,
        name: &str,
        settings: &Settings,
        proof: &Proof,
    ) -> Result<(), CheckpointError> {
        let Some(gate) = service.gate() else {
            return Ok(());
        };
        if proof.leaf.gateways.is_none() && !gate.is_required() {
            return Ok(());
        }

        let owner = self.owner.as_ref().unwrap_or(&proof.owner);
        let now = service.platform.unix_time();
        let policy = Policy {
            witnesses: &settings.checkpoint.witnesses,
            cosignatures: settings.checkpoint.cosignatures,
            ..Policy::new(owner, name, now)
        };
        gate.open(policy.gateway_keys(proof)?);
        Ok(())
    }

    /// Verifies a proof under the owner's key and the settings, and the keys of gateways that it
    /// names.
    fn accept(
        &self,
        service: &Service,
        name: &str,
        settings: &Settings,
        proof: &Proof,
    ) -> Result<Accepted, CheckpointError> {
        let now = service.platform.unix_time();
        let checkpoint = &settings.checkpoint;
        let owner = self.owner.as_ref().unwrap_or(&proof.owner);

        self.check_given_owner(service, settings, proof)?;
        let policy = Policy {
            max_age: checkpoint.max_age.map(|age| age.as_secs()),
            highest: self.pin.as_ref().map(|pin| pin.highest),
            witnesses: &checkpoint.witnesses,
            cosignatures: checkpoint.cosignatures,
            ..Policy::new(owner, name, now)
        };
        let accepted = match (policy.accept(proof), &self.pin) {
            (Err(CheckpointError::Untrusted { found, .. }), Some(pin)) => {
                return Err(not_pinned(pin, found));
            }
            (Err(CheckpointError::Untrusted { owner, found }), None) => {
                return Err(self.others.untrusted(owner, found));
            }
            (accepted, _) => accepted?,
        };

        self.others.check(name, now, proof)?;
        accepted.seen.require(checkpoint.sequence)?;
        self.verify_keys(service, name, settings, proof)?;
        Ok(accepted)
    }

    /// The pin to store for an accepted checkpoint.
    fn pin_of(&self, accepted: &Accepted) -> PinnedOwner {
        let first = match (&self.pin, &self.owner) {
            (Some(pin), _) => &pin.first,
            (None, Some(owner)) => owner,
            (None, None) => &accepted.owner,
        };
        PinnedOwner {
            key: accepted.owner.clone(),
            first: first.clone(),
            highest: accepted.seen,
        }
    }

    /// Trusts an accepted checkpoint in this session and, if the settings pin keys, stores its pin.
    /// The caller has compared the public part with the checkpoint before.
    ///
    /// If another session of this client has changed the stored pin meanwhile, this session trusts
    /// that pin from then on, and the checkpoint must be acceptable under it too: see
    /// [`Keeping::Overtaken`].
    pub(crate) async fn keep(
        &mut self,
        io: &Io,
        service: &Service,
        name: &str,
        settings: &Settings,
        mut proven: ProvenCheckpoint,
    ) -> Result<Keeping> {
        // Stored first: a version that is not pinned could be rolled back after a restart.
        let pin = self.pin_of(&proven.accepted);
        if settings.pin != Pin::Nothing
            && !self.rooted
            && self.pin.as_ref() != Some(&pin)
            && let Some(overtaken) = self
                .store_pin(io, service, name, settings, &mut proven)
                .await?
        {
            return Ok(Keeping::Overtaken(overtaken));
        }

        // Made again: the stored pin may have another first key.
        let pin = self.pin_of(&proven.accepted);
        self.owner = Some(pin.key.clone());
        self.pin = Some(pin);
        self.accepted = Some(proven.accepted);
        Ok(Keeping::Kept)
    }

    /// Pins the owner of a checkpoint in the storage. Leaves the storage unchanged if a root was
    /// pinned there before any key, or if the user has removed the pin that this session knows.
    /// Returns the refusal if another session has stored a pin under which the checkpoint is not
    /// acceptable.
    async fn store_pin(
        &mut self,
        io: &Io,
        service: &Service,
        name: &str,
        settings: &Settings,
        proven: &mut ProvenCheckpoint,
    ) -> Result<Option<Error>> {
        let slot = service.address.identity(name);
        let lock = SlotStorage::new(io, &slot).lock().await?;

        let Some(stored) = lock.owner().await? else {
            // The user has removed a pin that this session knows: it stays removed. Another session
            // may have pinned a root meanwhile, which a key that a service sends does not replace.
            let removed = self.pin.is_some();
            if !removed && (self.known || lock.root().await?.is_none()) {
                lock.keep_owner(self.pin_of(&proven.accepted)).await?;
            }
            return Ok(None);
        };

        if self.pin.as_ref() != Some(&stored) {
            self.owner = Some(stored.key.clone());
            self.known = true;
            self.pin = Some(stored);

            // Under the stored pin: its key may be a successor of the one that this session knew.
            match self.accept(service, name, settings, &proven.proof) {
                Ok(accepted) => proven.accepted = accepted,
                Err(refusal) => {
                    let url = service.url(&path::checkpoint_proof(name));
                    return Ok(Some(refused_checkpoint(&url, refusal)));
                }
            }
        }

        lock.keep_owner(self.pin_of(&proven.accepted)).await?;
        Ok(None)
    }
}

/// Checks that a given key belongs to the pinned owner: it is the first key, the newest one, or a
/// key that the rotations in the proof connect with the newest one.
fn check_given(
    given: &VerifyingKey,
    pin: &PinnedOwner,
    proof: &Proof,
    now: u64,
) -> Result<(), CheckpointError> {
    if pin.first.same_key(given) || pin.key.same_key(given) {
        return Ok(());
    }

    let newest = successor(&pin.key, &proof.certificates, now);
    if successor(given, &proof.certificates, now).same_key(&newest) {
        return Ok(());
    }
    let signers = proof.note.signers();
    Err(not_pinned(
        pin,
        format!("{signers}; no shown certificate connects it with the given key {given}"),
    ))
}

/// Waits a random time before a retry with a service that is out of date, but not beyond the
/// deadline. Returns false without a wait if the deadline has passed.
pub(crate) async fn wait_for_newer(
    io: &Io,
    service: &Service,
    start: Duration,
    settings: &Settings,
) -> bool {
    // Another server may have the newest version, and is asked at once.
    if service.is_one_of_several() {
        return false;
    }

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
