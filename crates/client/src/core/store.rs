//! Requests to the storage of client state.
//!
//! A slot holds the data of one database of one service, or the name of a service's only database.
//! A query uses up state that must never be used again. Therefore a change must be durable before
//! the storage replies, and only one task at a time may hold a slot's lock.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use papir_lookup::Root;

use super::owner_pin::PinnedOwner;
use super::place::Place;
use super::record::SavedRegistration;

/// A request to the storage.
#[derive(Debug)]
pub struct StoreRequest {
    /// The slot's identity, unique to one database of one service, or to the service. It contains
    /// the service's address: storage that others can list should hash it.
    pub slot: String,
    /// The action.
    pub action: StoreAction,
}

/// Action on a slot. The actions from `Read` to `Pin` are requested with the lock held, except
/// `HasRoot`.
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
    /// Stores keys while they are uploaded.
    KeepKeys(Arc<Vec<u8>>),
    /// Reads the keys if they have exactly this length. The reply is [`Stored::Bytes`].
    Keys(u64),
    /// Removes the keys.
    DropKeys,
    /// Checks for a pinned root, without creating the slot. The reply is [`Stored::Found`].
    HasRoot,
    /// Reads the pinned root. The reply is [`Stored::Root`].
    Root,
    /// Pins a root and replaces an earlier one.
    Pin(Root),
    /// Reads the pinned owner's key, without creating the slot or taking its lock. The reply is
    /// [`Stored::Owner`].
    Owner,
    /// Pins an owner's key and replaces an earlier one. Requested with the lock held.
    KeepOwner(PinnedOwner),
    /// Reads the pinned name of a service's database, without creating the slot or taking its lock.
    /// The reply is [`Stored::Bytes`].
    Name,
    /// Pins the name of a service's database. Requested with the lock held.
    KeepName(String),
    /// Reads a set's filter, up to a maximum of bytes. The reply is [`Stored::Bytes`].
    Filter(u64),
    /// Stores the filter of a set and replaces an earlier one. The storage takes the lock itself.
    KeepFilter(Vec<u8>),
    /// Reads the stored public part, up to a maximum of bytes, without creating the slot or taking
    /// its lock. The reply is [`Stored::Bytes`]. A storage may lose it at any time.
    PublicPart(u64),
    /// Stores a public part and replaces an earlier one, without the lock.
    KeepPublicPart(Vec<u8>),
}

#[cfg(feature = "transport")]
impl StoreAction {
    /// Returns whether the storage waits for the slot's lock.
    pub(crate) fn takes_lock(&self) -> bool {
        matches!(self, Self::Lock | Self::KeepFilter(_))
    }
}

/// Reply of the storage. Actions without their own reply return [`Stored::Done`].
#[derive(Debug)]
pub enum Stored {
    /// The change is durable.
    Done,
    /// The lock is held until this is dropped.
    Locked(StoreLock),
    /// The registration; `None` if the slot has none.
    Registration(Option<SavedRegistration>),
    /// The bytes; `None` if the slot has none.
    Bytes(Option<Vec<u8>>),
    /// The pinned root; `None` if none is pinned.
    Root(Option<Root>),
    /// The pinned owner's key; `None` if none is pinned.
    Owner(Option<PinnedOwner>),
    /// Set if a root is pinned.
    Found(bool),
}

/// A held lock of a slot. The lock is released when dropped.
pub struct StoreLock {
    place: Option<Place>,
    #[expect(dead_code, reason = "held for its drop")]
    guard: Box<dyn Any + Send + Sync>,
}

impl StoreLock {
    /// A lock that is released when `guard` is dropped. Its state is bound to no place.
    pub fn new(guard: impl Any + Send + Sync) -> Self {
        Self {
            place: None,
            guard: Box::new(guard),
        }
    }

    /// The same lock of a slot at `place`; `None` if the platform cannot tell the place.
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
