//! Storage of the protocol core in files.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::public_parts::PublicParts;
use super::sealed::Passphrase;
use super::slot::Slot;
use crate::core::{StoreAction, StoreLock, StoreRequest, Stored};
use crate::error::{Error, Result};

/// Stores client state in the files of one directory.
#[derive(Clone, Debug)]
pub struct StateFiles {
    directory: Option<PathBuf>,
    passphrase: Option<Passphrase>,
}

impl StateFiles {
    /// Stores state in `directory`, by default in [`default_state_directory`], protected by the
    /// passphrase if there is one.
    pub fn new(directory: Option<PathBuf>, passphrase: Option<Passphrase>) -> Self {
        Self { directory: directory.or_else(default_state_directory), passphrase }
    }

    /// Performs a request of the protocol core. Blocks while it reads or writes files, and while
    /// another process or thread holds the lock.
    ///
    /// # Errors
    /// [`Error::NoStateDirectory`], [`Error::StateFile`], [`Error::Passphrase`] and
    /// [`Error::State`].
    pub fn perform(&self, request: StoreRequest) -> Result<Stored> {
        let slot = match self.slot(&request.slot) {
            // Without a directory, nothing is pinned.
            Err(_) if matches!(request.action, StoreAction::HasRoot) => return Ok(Stored::Found(false)),
            Err(_) if matches!(request.action, StoreAction::Owner) => return Ok(Stored::Owner(None)),
            slot => slot?,
        };
        Ok(match request.action {
            StoreAction::HasRoot => Stored::Found(slot.has_root()),
            StoreAction::Lock => {
                let lock = slot.create_and_lock()?;
                let place = lock.place();
                Stored::Locked(StoreLock::new(lock).at(place))
            }
            StoreAction::Read => Stored::Registration(slot.read()?),
            StoreAction::Write(saved) => done(slot.write(&saved)?),
            StoreAction::Forget => done(slot.forget()?),
            StoreAction::KeepKeys(keys) => done(slot.keep_keys(&keys)?),
            StoreAction::Keys(length) => Stored::Bytes(slot.keys(length)?),
            StoreAction::DropKeys => done(slot.drop_keys()?),
            StoreAction::Root => Stored::Root(slot.root()?),
            StoreAction::Pin(root) => done(slot.pin(&root)?),
            StoreAction::Owner => Stored::Owner(slot.owner()?),
            StoreAction::KeepOwner(owner) => done(slot.keep_owner(&owner)?),
            StoreAction::Filter(limit) => Stored::Bytes(slot.filter(limit)?),
            StoreAction::KeepFilter(bytes) => {
                let _lock = slot.create_and_lock()?;
                done(slot.keep_filter(&bytes)?)
            }
            StoreAction::PublicPart(limit) => Stored::Bytes(self.public_parts()?.read(&request.slot, limit)),
            StoreAction::KeepPublicPart(bytes) => done(self.keep_public_part(&request.slot, &bytes)?),
        })
    }

    fn keep_public_part(&self, identity: &str, bytes: &[u8]) -> Result<()> {
        let failed = |source| Error::StateFile { path: self.directory.clone().unwrap_or_default(), source };
        self.public_parts()?.keep(identity, bytes).map_err(failed)
    }

    fn public_parts(&self) -> Result<PublicParts> {
        Ok(PublicParts::new(self.directory()?))
    }

    fn slot(&self, identity: &str) -> Result<Slot> {
        Ok(Slot::new(self.directory()?, identity, self.passphrase.clone()))
    }

    fn directory(&self) -> Result<&Path> {
        self.directory.as_deref().ok_or(Error::NoStateDirectory)
    }
}

fn done((): ()) -> Stored {
    Stored::Done
}

/// The default directory of client state: `$XDG_DATA_HOME/papir` or `~/.local/share/papir`; `None`
/// if neither variable is set.
pub fn default_state_directory() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    let data = folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(".local/share")))?;
    Some(data.join("papir"))
}
