//! Storage of client state in the files of one directory.
//!
//! A slot is locked while it changes. Its files are replaced atomically and are durable.

use std::env;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use papir_core::FileLock;
use zeroize::Zeroizing;

use super::disk::{create_folder, failed, private, read, replace};
use super::identity::{self, Host};
use super::public_parts::PublicParts;
use super::storage::{StateEntry, StateStorage};
use crate::core::StoreLock;
use crate::error::{Error, Result};

/// A storage in the files of one directory. A file is named after the slot, and its extension after
/// the entry. Beside them are a slot's `.lock` and, while a file is written, its `.partial`. Copies
/// of public parts are in a folder of their own.
#[derive(Debug)]
pub(super) struct Folder(Option<PathBuf>);

impl Folder {
    /// A storage in `directory`, by default in [`default_state_directory`]. Creates nothing yet.
    pub(super) fn new(directory: Option<PathBuf>) -> Self {
        Self(directory.or_else(default_state_directory))
    }

    fn directory(&self) -> Result<&Path> {
        self.0.as_deref().ok_or(Error::NoStateDirectory)
    }

    fn path(&self, slot: &str, extension: &str) -> Result<PathBuf> {
        Ok(self.directory()?.join(slot).with_extension(extension))
    }

    fn file(&self, slot: &str, entry: StateEntry) -> Result<PathBuf> {
        match entry {
            StateEntry::PublicPart => Ok(PublicParts::new(self.directory()?).path(slot)),
            _ => self.path(slot, entry.name()),
        }
    }
}

impl StateStorage for Folder {
    fn lock(&self, slot: &str) -> Result<StoreLock> {
        let directory = self.directory()?;
        create_folder(directory).map_err(|error| failed(directory, error))?;

        let path = self.path(slot, "lock")?;
        let file = private(OpenOptions::new().create(true).write(true)).open(&path);
        let lock = file
            .and_then(FileLock::wait)
            .map_err(|error| failed(&path, error))?;

        let place = identity::of_slot(lock.file(), &Host::this());
        Ok(StoreLock::new(lock).at(place))
    }

    fn read(
        &self,
        slot: &str,
        entry: StateEntry,
        limit: u64,
    ) -> Result<Option<Zeroizing<Vec<u8>>>> {
        match entry {
            // Without a directory, nothing is pinned.
            StateEntry::Root | StateEntry::Owner | StateEntry::Name if self.0.is_none() => Ok(None),
            StateEntry::PublicPart => Ok(PublicParts::new(self.directory()?)
                .read(slot, limit)
                .map(Zeroizing::new)),
            _ => read(&self.file(slot, entry)?, limit),
        }
    }

    fn replace(&self, slot: &str, entry: StateEntry, bytes: &[u8]) -> Result<()> {
        if entry == StateEntry::PublicPart {
            let directory = self.directory()?;
            return PublicParts::new(directory)
                .keep(slot, bytes)
                .map_err(|error| failed(directory, error));
        }

        let path = self.file(slot, entry)?;
        let partial = self.path(slot, "partial")?;
        replace(&path, &partial, &[bytes]).map_err(|error| failed(&path, error))
    }

    fn remove(&self, slot: &str, entry: StateEntry) -> Result<()> {
        let path = self.file(slot, entry)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, error)),
            _ => Ok(()),
        }
    }

    fn location(&self, slot: &str, entry: StateEntry) -> PathBuf {
        self.file(slot, entry).unwrap_or_default()
    }
}

/// The default directory of client state: `$XDG_DATA_HOME/papir` or `~/.local/share/papir`; `None`
/// if neither variable is set.
pub fn default_state_directory() -> Option<PathBuf> {
    let data = match folder_in("XDG_DATA_HOME") {
        Some(data) => data,
        None => folder_in("HOME")?.join(".local/share"),
    };
    Some(data.join("papir"))
}

/// The folder that a variable of the environment names; `None` if the variable is not set or empty.
fn folder_in(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}
