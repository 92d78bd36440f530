//! Storage of client state, with a slot for each database.
//!
//! | file | contents |
//! |---|---|
//! | `sealed` | the format of a registration: with a checksum, or encrypted under a passphrase |
//! | `storage` | the trait `StateStorage`, and a slot's entries |
//! | `slot` | the state of one database in a storage |
//! | `folder` | storage in files: locked, replaced atomically, durable; the default directory |
//! | `identity` | the place of a slot's files, to which a registration's state is bound |
//! | `public_parts` | copies of public parts |
//! | `disk` | private files, replaced atomically |
//!
//! A query uses up state that must never be used again. Therefore the changed state is durable
//! before the query is sent, and only one process at a time changes it.

mod disk;
mod folder;
mod identity;
mod public_parts;
mod sealed;
mod slot;
mod storage;

#[cfg(feature = "transport")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
#[cfg(feature = "transport")]
use std::sync::mpsc::{self, RecvTimeoutError};
#[cfg(feature = "transport")]
use std::thread;
#[cfg(feature = "transport")]
use std::time::Duration;

#[cfg(feature = "transport")]
use papir_lookup::Root;

#[cfg(feature = "transport")]
use crate::core::PinnedOwner;
use crate::core::{StoreRequest, Stored};
#[cfg(feature = "transport")]
use crate::error::Error;
use crate::error::Result;

use folder::Folder;
use slot::StateSlot;

pub use folder::default_state_directory;
pub use sealed::Passphrase;
pub use storage::{StateEntry, StateStorage};

pub(crate) use sealed::{OpenError, parse, write};

/// A client's storage, and the passphrase of its registrations.
#[derive(Clone)]
pub(crate) struct ClientState {
    storage: Arc<dyn StateStorage>,
    passphrase: Option<Passphrase>,
}

impl ClientState {
    pub(crate) fn new(storage: Arc<dyn StateStorage>, passphrase: Option<Passphrase>) -> Self {
        Self {
            storage,
            passphrase,
        }
    }

    /// A storage in the files of `directory`, by default of [`default_state_directory`].
    pub(crate) fn in_files(directory: Option<PathBuf>, passphrase: Option<Passphrase>) -> Self {
        Self::new(Arc::new(Folder::new(directory)), passphrase)
    }

    /// The location of a slot's registration. All connections of this process that share the slot
    /// get the same location.
    #[cfg(feature = "transport")]
    pub(crate) fn location(&self, slot: &str) -> PathBuf {
        StateSlot::new(&*self.storage, slot, None).location()
    }

    /// Performs a request of the protocol core. Blocks while the storage reads or writes, and while
    /// another process or thread holds the lock.
    pub(crate) fn perform(&self, request: StoreRequest) -> Result<Stored> {
        self.slot(&request.slot).perform(request.action)
    }

    /// The slot with this identity.
    fn slot(&self, identity: &str) -> StateSlot<'_> {
        StateSlot::new(&*self.storage, identity, self.passphrase.as_ref())
    }
}

#[cfg(feature = "transport")]
impl ClientState {
    /// Like [`ClientState::perform`], for a request that takes a lock, on a thread of its own: no
    /// storage can be told to stop waiting. Returns `None` if `time` passes before the reply.
    pub(crate) fn perform_within(
        &self,
        request: StoreRequest,
        time: Duration,
    ) -> Result<Option<Stored>> {
        let location = self.location(&request.slot);
        let state = self.clone();
        let (done, outcome) = mpsc::channel();
        // A lock that comes too late is released: nobody receives it.
        on_lock_thread(&location, move || drop(done.send(state.perform(request))))?;

        match outcome.recv_timeout(time) {
            Ok(stored) => stored.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(lock_thread_ended(location)),
        }
    }

    /// Reads the pinned owner's key of a slot; `None` if no key is pinned.
    pub(crate) fn owner(&self, slot: &str) -> Result<Option<PinnedOwner>> {
        self.slot(slot).owner()
    }

    /// Reads the pinned root of a slot; `None` if no root is pinned.
    pub(crate) fn root(&self, slot: &str) -> Result<Option<Root>> {
        self.slot(slot).root()
    }

    /// Reads the pinned name in the slot of a service; `None` if no name is pinned.
    pub(crate) fn name(&self, slot: &str) -> Result<Option<String>> {
        self.slot(slot).pinned_name()
    }

    /// Returns whether a slot has any of these entries. Does not create the slot.
    pub(crate) fn has_any(&self, slot: &str, entries: &[StateEntry]) -> Result<bool> {
        self.slot(slot).has_any(entries)
    }

    /// Removes entries of a slot, whose lock is held. Returns whether there were any.
    pub(crate) fn remove(&self, slot: &str, entries: &[StateEntry]) -> Result<bool> {
        self.slot(slot).remove(entries)
    }
}

/// Runs `work`, which waits for the lock at `location`, on a thread of its own, so that the caller
/// can stop waiting.
#[cfg(feature = "transport")]
pub(crate) fn on_lock_thread(location: &Path, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let spawned = thread::Builder::new().spawn(work);
    spawned.map(drop).map_err(|source| Error::StateFile {
        path: location.to_owned(),
        source,
    })
}

/// The error for a thread that ended before it had the lock at `location`.
#[cfg(feature = "transport")]
pub(crate) fn lock_thread_ended(location: PathBuf) -> Error {
    Error::StateFile {
        path: location,
        source: std::io::Error::other("the thread that waits for the lock ended"),
    }
}
