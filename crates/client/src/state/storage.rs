//! Interface of storages of client state.

use std::fmt::Debug;
use std::path::PathBuf;

use zeroize::Zeroizing;

use crate::core::StoreLock;
use crate::error::Result;

/// An entry of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StateEntry {
    /// The registration, with the client's secrets.
    Registration,
    /// The client keys, for the time of their upload.
    Keys,
    /// The pinned root.
    Root,
    /// The pinned owner's key.
    Owner,
    /// The pinned name of a service's only database, in a slot of the service.
    Name,
    /// The tokens of an issuer that are not spent.
    Tokens,
    /// The kept version, with lookups that wait for answers in files.
    Version,
    /// The filter of a set.
    Filter,
    /// A copy of the public part. It may be lost at any time.
    PublicPart,
}

impl StateEntry {
    /// A short stable name of the entry, which is also the extension of its file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Registration => "state",
            Self::Keys => "keys",
            Self::Root => "root",
            Self::Owner => "owner",
            Self::Name => "name",
            Self::Tokens => "tokens",
            Self::Version => "version",
            Self::Filter => "filter",
            Self::PublicPart => "public",
        }
    }
}

/// A storage of client state. An application may provide its own. A slot has the entries of one
/// database or of one service. Its name has 32 hexadecimal digits and does not reveal the service.
///
/// Registrations, client keys, roots, owner's keys, names, tokens, versions and filters change only
/// under the slot's lock. Every entry may be read without the lock. A public part may also be
/// replaced without it, by several threads at once.
///
/// A registered client must never use a part of its state twice, and nobody a token. A copy of an
/// earlier state must therefore not come back: exclude the storage from backups and
/// synchronization.
pub trait StateStorage: Debug + Send + Sync {
    /// Waits until no other process or thread has the slot's lock, and takes it. If the storage
    /// knows the slot's [place](StoreLock::at), the lock has it, and the client refuses a state
    /// that was copied from another place. Copies of a storage without places are detected only by
    /// the service, when a ticket is used twice.
    ///
    /// For a call with a timeout, this runs on a thread of its own. A lock that comes too late is
    /// released at once.
    ///
    /// # Errors
    /// Errors of the storage.
    fn lock(&self, slot: &str) -> Result<StoreLock>;

    /// Reads at most `limit` bytes of an entry; `None` if it is missing.
    ///
    /// # Errors
    /// Errors of the storage.
    fn read(&self, slot: &str, entry: StateEntry, limit: u64)
    -> Result<Option<Zeroizing<Vec<u8>>>>;

    /// Stores an entry, in place of an earlier one as a whole. It is durable on return, except for
    /// a public part.
    ///
    /// # Errors
    /// Errors of the storage. The earlier entry is then unchanged.
    fn replace(&self, slot: &str, entry: StateEntry, bytes: &[u8]) -> Result<()>;

    /// Removes an entry. It is no error if the entry is missing.
    ///
    /// # Errors
    /// Errors of the storage.
    fn remove(&self, slot: &str, entry: StateEntry) -> Result<()>;

    /// The location of an entry, for messages.
    fn location(&self, slot: &str, entry: StateEntry) -> PathBuf {
        PathBuf::from(format!("{slot}.{}", entry.name()))
    }
}
