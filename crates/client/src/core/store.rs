//! Requests to the storage of client state.
//!
//! A slot keeps the files of one database of one service. A query uses up state that must never be
//! used again: a change must be durable before its request is answered, and one task at a time
//! holds a slot's lock.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use papir_lookup::Root;

use super::record::SavedRegistration;

/// A request to the storage.
#[derive(Debug)]
pub struct StoreRequest {
    /// The slot's identity: unique to one database of one service. It names the place to clients of
    /// that database; storage that others can list should hash it.
    pub slot: String,
    /// The action.
    pub action: StoreAction,
}

/// Action on a slot. `Read` to `Pin` come with the lock held, except `HasRoot`.
#[derive(Debug)]
pub enum StoreAction {
    /// Makes the slot and waits for its lock. Answered with [`Stored::Locked`].
    Lock,
    /// Reads the registration. Answered with [`Stored::Registration`].
    Read,
    /// Replaces the registration.
    Write(SavedRegistration),
    /// Removes the registration and its keys.
    Forget,
    /// Keeps keys while they are uploaded.
    KeepKeys(Arc<Vec<u8>>),
    /// Reads keys of exactly this length. Answered with [`Stored::Bytes`].
    Keys(u64),
    /// Removes the keys.
    DropKeys,
    /// Looks for a pinned root and makes nothing. Answered with [`Stored::Found`].
    HasRoot,
    /// Reads the pinned root. Answered with [`Stored::Root`].
    Root,
    /// Pins a root in place of another.
    Pin(Root),
    /// Reads at most this many bytes of a set's filter. Answered with [`Stored::Bytes`].
    Filter(u64),
    /// Keeps the filter of a set in place of another. Takes the lock itself.
    KeepFilter(Vec<u8>),
}

/// The storage's answer.
#[derive(Debug)]
pub enum Stored {
    /// The change is durable.
    Done,
    /// The lock is held until this is dropped.
    Locked(StoreLock),
    /// The registration, if there is one.
    Registration(Option<SavedRegistration>),
    /// The bytes, if there are any.
    Bytes(Option<Vec<u8>>),
    /// The pinned root, if there is one.
    Root(Option<Root>),
    /// Whether it exists.
    Found(bool),
}

/// Holds a slot's lock; dropping it unlocks.
pub struct StoreLock(#[expect(dead_code, reason = "held for its drop")] Box<dyn Any + Send + Sync>);

impl StoreLock {
    /// A lock that is released when `guard` is dropped.
    pub fn new(guard: impl Any + Send + Sync) -> Self {
        Self(Box::new(guard))
    }
}

impl fmt::Debug for StoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreLock")
    }
}
