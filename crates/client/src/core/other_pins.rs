//! Pins of the other servers of a database.

use papir_checkpoint::{Error as CheckpointError, Policy, Proof, VerifyingKey};
use papir_core::without_passwords;
use papir_lookup::Root;

use super::owner_pin::PinnedOwner;
use super::service::Service;
use super::settings::{Pin, Settings};
use super::storage::SlotStorage;
use super::task::Io;
use crate::error::{Error, Result};

/// The pins of the other servers of a database, each stored under its server's address.
///
/// Without them, a client that pinned one server's owner would trust any owner at another server,
/// as soon as the first one is away.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherPins {
    /// The pinned owners. Every checkpoint must be acceptable under each of them.
    owners: Vec<OtherOwner>,
    /// Set if a root is pinned of any other server.
    rooted: bool,
    /// The root pinned of the other servers; `None` if the settings name a root.
    root: Option<Root>,
}

/// The pinned owner of another server.
#[derive(Clone, Debug)]
struct OtherOwner {
    /// The server's address, without a password.
    server: String,
    pin: PinnedOwner,
}

impl OtherOwner {
    /// The error for a checkpoint that no key of this owner signed. `found` describes its signers.
    fn not_pinned(&self, found: String) -> CheckpointError {
        let Self { server, pin } = self;
        let remedy = format!("`papir pin remove {server}` forgets it");
        CheckpointError::Untrusted {
            owner: format!("{}, which is pinned of {server} ({remedy})", pin.key),
            found,
        }
    }
}

impl OtherPins {
    /// Reads the pins of the other servers, unless the settings disable pins.
    ///
    /// Fails with [`Error::Servers`] if two servers have different pinned roots, and the settings
    /// name none.
    pub(crate) async fn read(
        io: &Io,
        service: &Service,
        name: &str,
        settings: &Settings,
    ) -> Result<Self> {
        let mut pins = Self::default();
        if settings.pin == Pin::Nothing {
            return Ok(pins);
        }

        for address in service.others() {
            let slot = address.identity(name);
            let storage = SlotStorage::new(io, &slot);
            if let Some(pin) = storage.owner().await? {
                let server = without_passwords(&address.shown());
                pins.owners.push(OtherOwner { server, pin });
            }
            pins.add_root(storage, &slot, settings).await?;
        }

        if pins.root.is_some() {
            // The server's own one: a root of the others must not replace it.
            let slot = service.address.identity(name);
            let storage = SlotStorage::new(io, &slot);
            pins.add_root(storage, &slot, settings).await?;
        }
        Ok(pins)
    }

    /// Adds the root pinned in a slot, which must be the same in all slots.
    async fn add_root(
        &mut self,
        storage: SlotStorage<'_>,
        slot: &str,
        settings: &Settings,
    ) -> Result<()> {
        // Asked before the lock, which would create the slot.
        if !storage.has_root().await? {
            return Ok(());
        }
        self.rooted = true;
        if settings.root.is_some() {
            return Ok(());
        }

        let lock = storage.lock().await?;
        let found = lock.root().await?;
        match (self.root, found) {
            (Some(expected), Some(found)) if expected != found => Err(Error::Servers {
                reason: format!(
                    "the pinned root of {slot} is {found}, and that of another server {expected}: \
                     expected the same, or a given root"
                ),
            }),
            (known, found) => {
                self.root = known.or(found);
                Ok(())
            }
        }
    }

    /// The key of a pinned owner; `None` if no owner is pinned.
    pub(crate) fn owner(&self) -> Option<&VerifyingKey> {
        self.owners.first().map(|one| &one.pin.key)
    }

    /// Returns true if a root is pinned.
    pub(crate) fn is_rooted(&self) -> bool {
        self.rooted
    }

    /// The pinned root; `None` if no root is pinned, or the settings name one.
    pub(crate) fn root(&self) -> Option<Root> {
        self.root
    }

    /// Checks that a proof is acceptable under each pinned owner, and not older than the highest
    /// sequence seen at any server.
    pub(crate) fn check(&self, name: &str, now: u64, proof: &Proof) -> Result<(), CheckpointError> {
        for one in &self.owners {
            let policy = Policy {
                highest: Some(one.pin.highest),
                ..Policy::new(&one.pin.key, name, now)
            };
            match policy.accept(proof) {
                Err(CheckpointError::Untrusted { found, .. }) => {
                    return Err(one.not_pinned(found));
                }
                accepted => accepted.map(drop)?,
            }
        }
        Ok(())
    }

    /// The error for a checkpoint that is not signed under the key `owner`. It names the server of
    /// which this key is pinned, if it is. `found` describes the signers.
    pub(crate) fn untrusted(&self, owner: String, found: String) -> CheckpointError {
        let mut owners = self.owners.iter();
        match owners.find(|one| one.pin.key.to_string() == owner) {
            Some(one) => one.not_pinned(found),
            None => CheckpointError::Untrusted { owner, found },
        }
    }
}

/// The error for a checkpoint that no key of the pinned owner signed. `found` describes its
/// signers.
pub(crate) fn not_pinned(pin: &PinnedOwner, found: String) -> CheckpointError {
    let key = &pin.key;
    CheckpointError::Untrusted {
        owner: format!("{key}, which is pinned (`papir pin remove` forgets it)"),
        found,
    }
}
