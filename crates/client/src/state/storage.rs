//! Storage of client state.

use std::fmt::Debug;
use std::path::PathBuf;

use zeroize::Zeroizing;

use crate::core::StoreLock;
use crate::error::Result;

/// One part of the state that is kept for a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StateEntry {
    /// The registration, with the client's secrets.
    Registration,
    /// Keys while they are uploaded.
    Keys,
    /// The pinned root.
    Root,
    /// The pinned owner's key.
    Owner,
    /// The name of a service's only database, in a slot of the service.
    Name,
    /// The filter of a set.
    Filter,
    /// A copy of the public part. It may be lost at any time.
    PublicPart,
}

impl StateEntry {
    /// A short stable name, also the extension of its file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Registration => "state",
            Self::Keys => "keys",
            Self::Root => "root",
            Self::Owner => "owner",
            Self::Name => "name",
            Self::Filter => "filter",
            Self::PublicPart => "public",
        }
    }
}

/// Storage of client state, which an application may provide itself. A slot has the entries of one
/// database or of one service; its name is 32 hexadecimal digits and does not reveal the service.
///
/// Registrations, keys, roots, owner's keys and names are changed with the slot's lock held.
/// Everything may be read without it, and a public part is also replaced without it, by several
/// threads at once.
///
/// A registered client must never use a part of its state twice, so a copy of an earlier state must
/// not come back: keep the storage out of backups and synchronization.
pub trait StateStorage: Debug + Send + Sync {
    /// Waits until no other process or thread holds the slot's lock, and takes it. The lock has a
    /// [place](StoreLock::at) if the storage has one; a copy elsewhere is then not used. Copies of
    /// a storage without places are detected by the service only, when a ticket is used again.
    ///
    /// Under a timeout this waits on a thread of its own. A lock that comes too late is released at
    /// once.
    ///
    /// # Errors
    /// The storage fails.
    fn lock(&self, slot: &str) -> Result<StoreLock>;

    /// Reads at most `limit` bytes of an entry; `None` if it is missing.
    ///
    /// # Errors
    /// The storage fails.
    fn read(&self, slot: &str, entry: StateEntry, limit: u64)
    -> Result<Option<Zeroizing<Vec<u8>>>>;

    /// Stores an entry, or replaces it as a whole. It is durable on return, except for a public
    /// part.
    ///
    /// # Errors
    /// The storage fails. The earlier entry is then unchanged.
    fn replace(&self, slot: &str, entry: StateEntry, bytes: &[u8]) -> Result<()>;

    /// Removes an entry. A missing entry is no error.
    ///
    /// # Errors
    /// The storage fails.
    fn remove(&self, slot: &str, entry: StateEntry) -> Result<()>;

    /// The location of an entry, for messages.
    fn location(&self, slot: &str, entry: StateEntry) -> PathBuf {
        PathBuf::from(format!("{slot}.{}", entry.name()))
    }
}
