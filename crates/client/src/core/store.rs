//! Requests to the storage of client state.
//!
//! A slot has the data of one database of one service, or the name of a service's only database. A
//! query uses up state that must never be used again. Therefore a change must be durable before the
//! storage replies, and only one task at a time may have a slot's lock.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use papir_lookup::Root;
use zeroize::Zeroizing;

use super::identity::Place;
use super::owner_pin::PinnedOwner;
use super::record::SavedRegistration;

/// A request to the storage.
#[derive(Debug)]
pub struct StoreRequest {
    /// The slot's identity, unique to one database of one service, or to the service; for some data
    /// also to the relay before it. It contains the addresses of service and relay, so a storage
    /// whose names others can read should hash it.
    pub slot: String,
    /// The action.
    pub action: StoreAction,
}

/// The encoded tokens of an issuer that a client has not spent. They are secret, and `Debug` does
/// not show them.
#[derive(Clone)]
pub struct SavedTokens(pub Zeroizing<Vec<u8>>);

impl fmt::Debug for SavedTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SavedTokens")
    }
}

/// The encoded version of a database that a client keeps, with the lookups that wait for answers.
/// It is secret, and `Debug` does not show it.
#[derive(Clone)]
pub struct SavedVersion(pub Zeroizing<Vec<u8>>);

impl fmt::Debug for SavedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SavedVersion")
    }
}

/// An action on a slot. The core performs the actions from `Read` to `Pin` with the lock held,
/// except `HasRoot`.
#[derive(Debug)]
pub enum StoreAction {
    /// Creates the slot if necessary and waits for its lock. The reply is [`Stored::Locked`].
    Lock,
    /// Reads the registration. The reply is [`Stored::Registration`].
    Read,
    /// Replaces the registration.
    Write(SavedRegistration),
    /// Removes the registration and its keys.
    Forget,
    /// Stores client keys for the time of their upload.
    KeepKeys(Arc<Vec<u8>>),
    /// Reads the client keys if they have exactly this length in bytes. The reply is
    /// [`Stored::Bytes`].
    Keys(u64),
    /// Removes the client keys.
    DropKeys,
    /// Checks for a pinned root, without creating the slot. The reply is [`Stored::Found`].
    HasRoot,
    /// Reads the pinned root. The reply is [`Stored::Root`].
    Root,
    /// Pins a root in place of an earlier one.
    Pin(Root),
    /// Reads the pinned owner's key, without creating the slot or taking its lock. The reply is
    /// [`Stored::Owner`].
    Owner,
    /// Pins an owner's key in place of an earlier one. The core performs it with the lock held.
    KeepOwner(PinnedOwner),
    /// Reads the pinned name of a service's database, without creating the slot or taking its lock.
    /// The reply is [`Stored::Bytes`].
    Name,
    /// Pins the name of a service's database. The core performs it with the lock held.
    KeepName(String),
    /// Reads the tokens that are not spent. The reply is [`Stored::Tokens`]. The core performs it
    /// with the lock held.
    Tokens,
    /// Stores the tokens that are not spent in place of earlier ones. The core performs it with the
    /// lock held, and sends a token only once the tokens without it are durable.
    KeepTokens(SavedTokens),
    /// Reads the kept version, without creating the slot. The reply is [`Stored::Version`].
    Version,
    /// Keeps a version in place of an earlier one. The core performs it with the lock held, and a
    /// query in a file leaves the client only once the version with its lookup is durable.
    KeepVersion(SavedVersion),
    /// Reads at most this number of bytes of a set's filter. The reply is [`Stored::Bytes`].
    Filter(u64),
    /// Stores the filter of a set in place of an earlier one. The storage takes the lock itself.
    KeepFilter(Vec<u8>),
    /// Reads at most this number of bytes of the stored public part, without creating the slot or
    /// taking its lock. The reply is [`Stored::Bytes`]. A storage may lose the public part at any
    /// time.
    PublicPart(u64),
    /// Stores a public part in place of an earlier one, without the lock.
    KeepPublicPart(Vec<u8>),
}

#[cfg(feature = "transport")]
impl StoreAction {
    /// Returns true if the storage waits for the slot's lock during this action.
    pub(crate) fn takes_lock(&self) -> bool {
        matches!(self, Self::Lock | Self::KeepFilter(_))
    }
}

/// The storage's reply. The reply is [`Stored::Done`] unless the action names another one.
#[derive(Debug)]
pub enum Stored {
    /// The change is durable.
    Done,
    /// The slot's lock, which is released when this is dropped.
    Locked(StoreLock),
    /// The registration; `None` if the slot has no registration.
    Registration(Option<SavedRegistration>),
    /// The bytes of the entry; `None` if the slot does not have it.
    Bytes(Option<Vec<u8>>),
    /// The pinned root; `None` if no root is pinned.
    Root(Option<Root>),
    /// The pinned owner's key; `None` if no key is pinned.
    Owner(Option<PinnedOwner>),
    /// The tokens that are not spent; `None` if the slot never had any.
    Tokens(Option<SavedTokens>),
    /// The kept version; `None` if no version is kept.
    Version(Option<SavedVersion>),
    /// True if a root is pinned.
    Found(bool),
}

/// The held lock of a slot, which is released when this is dropped.
pub struct StoreLock {
    place: Option<Place>,
    #[expect(dead_code, reason = "held for its drop")]
    guard: Box<dyn Any + Send + Sync>,
}

impl StoreLock {
    /// A lock that dropping `guard` releases. The slot's state is bound to no place.
    pub fn new(guard: impl Any + Send + Sync) -> Self {
        Self {
            place: None,
            guard: Box::new(guard),
        }
    }

    /// Returns the same lock, with the slot's place, or `None` if the platform does not know it.
    #[must_use]
    pub fn at(self, place: Option<Place>) -> Self {
        Self { place, ..self }
    }

    /// The slot's place.
    pub(crate) fn place(&self) -> Option<Place> {
        self.place
    }
}

impl fmt::Debug for StoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreLock")
    }
}
