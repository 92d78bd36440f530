//! Access to one storage slot.

use std::sync::Arc;

use papir_lookup::Root;

use super::identity::Place;
use super::owner_pin::PinnedOwner;
use super::record::SavedRegistration;
#[cfg(feature = "tokens")]
use super::store::SavedTokens;
use super::store::{SavedVersion, StoreAction, StoreLock, StoreRequest, Stored};
use super::task::Io;
use crate::error::{Error, Result, unexpected};

/// A storage slot, without its lock.
#[derive(Clone, Copy)]
pub(crate) struct SlotStorage<'a> {
    io: &'a Io,
    slot: &'a str,
}

/// A storage slot with its lock, which is released when this is dropped.
pub(crate) struct Locked<'a> {
    storage: SlotStorage<'a>,
    lock: StoreLock,
}

impl<'a> SlotStorage<'a> {
    pub(crate) fn new(io: &'a Io, slot: &'a str) -> Self {
        Self { io, slot }
    }

    /// Waits for the slot's lock.
    pub(crate) async fn lock(self) -> Result<Locked<'a>> {
        match self.perform(StoreAction::Lock).await? {
            Stored::Locked(lock) => Ok(Locked {
                storage: self,
                lock,
            }),
            _ => Err(self.mismatched()),
        }
    }

    /// Returns true if a root is pinned in the slot.
    pub(crate) async fn has_root(self) -> Result<bool> {
        match self.perform(StoreAction::HasRoot).await? {
            Stored::Found(found) => Ok(found),
            _ => Err(self.mismatched()),
        }
    }

    /// Reads the pinned owner's key; `None` if no key is pinned.
    pub(crate) async fn owner(self) -> Result<Option<PinnedOwner>> {
        match self.perform(StoreAction::Owner).await? {
            Stored::Owner(owner) => Ok(owner),
            _ => Err(self.mismatched()),
        }
    }

    /// Reads the pinned name of the service's database; `None` if no name is pinned.
    pub(crate) async fn name(self) -> Result<Option<String>> {
        let name = self.bytes(StoreAction::Name).await?;
        Ok(name.map(|name| {
            // Written by this client. A name that is damaged fits no database, and is refused
            // there.
            String::from_utf8_lossy(&name)
                .trim_end_matches('\n')
                .to_owned()
        }))
    }

    /// Reads the kept version; `None` if no version is kept.
    pub(crate) async fn version(self) -> Result<Option<SavedVersion>> {
        match self.perform(StoreAction::Version).await? {
            Stored::Version(version) => Ok(version),
            _ => Err(self.mismatched()),
        }
    }

    /// Reads at most `limit` bytes of the stored filter; `None` if there is no filter.
    pub(crate) async fn filter(self, limit: u64) -> Result<Option<Vec<u8>>> {
        self.bytes(StoreAction::Filter(limit)).await
    }

    /// Stores a filter in place of an earlier one.
    pub(crate) async fn keep_filter(self, bytes: Vec<u8>) -> Result<()> {
        self.change(StoreAction::KeepFilter(bytes)).await
    }

    /// Reads at most `limit` bytes of the stored public part; `None` if there is no copy.
    pub(crate) async fn public_part(self, limit: u64) -> Result<Option<Vec<u8>>> {
        self.bytes(StoreAction::PublicPart(limit)).await
    }

    /// Stores a public part in place of an earlier one.
    pub(crate) async fn keep_public_part(self, bytes: Vec<u8>) -> Result<()> {
        self.change(StoreAction::KeepPublicPart(bytes)).await
    }

    async fn bytes(self, action: StoreAction) -> Result<Option<Vec<u8>>> {
        match self.perform(action).await? {
            Stored::Bytes(bytes) => Ok(bytes),
            _ => Err(self.mismatched()),
        }
    }

    async fn change(self, action: StoreAction) -> Result<()> {
        match self.perform(action).await? {
            Stored::Done => Ok(()),
            _ => Err(self.mismatched()),
        }
    }

    async fn perform(self, action: StoreAction) -> Result<Stored> {
        self.io
            .store(StoreRequest {
                slot: self.slot.to_owned(),
                action,
            })
            .await
    }

    fn mismatched(self) -> Error {
        unexpected(
            self.slot,
            "the storage replied to another request".to_owned(),
        )
    }
}

impl Locked<'_> {
    /// The slot's identity, which names its database and service.
    pub(crate) fn slot(&self) -> &str {
        self.storage.slot
    }

    /// The slot's place; `None` if the platform does not know it.
    pub(crate) fn place(&self) -> Option<Place> {
        self.lock.place()
    }

    /// Reads the registration; `None` if the slot has no registration.
    pub(crate) async fn read(&self) -> Result<Option<SavedRegistration>> {
        let saved = match self.storage.perform(StoreAction::Read).await? {
            Stored::Registration(saved) => saved,
            _ => return Err(self.storage.mismatched()),
        };

        // A storage may have mixed up its slots: a key must not be used at two services.
        match saved {
            Some(saved) if saved.address != self.storage.slot => {
                let reason = format!("the storage returned the registration of {}", saved.address);
                Err(unexpected(self.storage.slot, reason))
            }
            saved => Ok(saved),
        }
    }

    /// Replaces the registration. It is durable on return.
    pub(crate) async fn write(&self, saved: SavedRegistration) -> Result<()> {
        self.storage.change(StoreAction::Write(saved)).await
    }

    /// Removes the registration and its keys.
    pub(crate) async fn forget(&self) -> Result<()> {
        self.storage.change(StoreAction::Forget).await
    }

    /// Stores client keys for the time of their upload. They are durable on return.
    pub(crate) async fn keep_keys(&self, keys: &Arc<Vec<u8>>) -> Result<()> {
        self.storage
            .change(StoreAction::KeepKeys(Arc::clone(keys)))
            .await
    }

    /// Reads the client keys that are being uploaded; `None` unless they have exactly `length`
    /// bytes.
    pub(crate) async fn keys(&self, length: u64) -> Result<Option<Vec<u8>>> {
        self.storage.bytes(StoreAction::Keys(length)).await
    }

    /// Removes the stored client keys.
    pub(crate) async fn drop_keys(&self) -> Result<()> {
        self.storage.change(StoreAction::DropKeys).await
    }

    /// Reads the pinned root; `None` if no root is pinned.
    pub(crate) async fn root(&self) -> Result<Option<Root>> {
        match self.storage.perform(StoreAction::Root).await? {
            Stored::Root(root) => Ok(root),
            _ => Err(self.storage.mismatched()),
        }
    }

    /// Reads the tokens that are not spent; `None` if the slot never had any.
    #[cfg(feature = "tokens")]
    pub(crate) async fn tokens(&self) -> Result<Option<SavedTokens>> {
        match self.storage.perform(StoreAction::Tokens).await? {
            Stored::Tokens(tokens) => Ok(tokens),
            _ => Err(self.storage.mismatched()),
        }
    }

    /// Stores the tokens that are not spent. They are durable on return.
    #[cfg(feature = "tokens")]
    pub(crate) async fn keep_tokens(&self, tokens: SavedTokens) -> Result<()> {
        self.storage.change(StoreAction::KeepTokens(tokens)).await
    }

    /// Reads the pinned owner's key; `None` if no key is pinned.
    pub(crate) async fn owner(&self) -> Result<Option<PinnedOwner>> {
        self.storage.owner().await
    }

    /// Pins an owner's key. It is durable on return.
    pub(crate) async fn keep_owner(&self, owner: PinnedOwner) -> Result<()> {
        self.storage.change(StoreAction::KeepOwner(owner)).await
    }

    /// Reads the pinned name of the service's database; `None` if no name is pinned.
    pub(crate) async fn name(&self) -> Result<Option<String>> {
        self.storage.name().await
    }

    /// Pins the name of the service's database. It is durable on return.
    pub(crate) async fn keep_name(&self, name: &str) -> Result<()> {
        self.storage
            .change(StoreAction::KeepName(name.to_owned()))
            .await
    }

    /// Reads the kept version; `None` if no version is kept.
    pub(crate) async fn version(&self) -> Result<Option<SavedVersion>> {
        self.storage.version().await
    }

    /// Keeps a version in place of an earlier one. It is durable on return.
    pub(crate) async fn keep_version(&self, version: SavedVersion) -> Result<()> {
        self.storage.change(StoreAction::KeepVersion(version)).await
    }

    /// Pins a root. It is durable on return.
    pub(crate) async fn pin(&self, root: Root) -> Result<()> {
        self.storage.change(StoreAction::Pin(root)).await
    }
}
