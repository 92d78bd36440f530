//! Key files, one per client.
//!
//! They are written in parts, and are durable before they count.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::id::ClientId;
use super::keys::KeyStorage;
use super::tables::{ROOM, Result};

/// File extension of complete keys.
const COMPLETE: &str = "keys";
/// File extension of keys being uploaded.
const PART: &str = "part";
/// File of a probe. A crash leaves it for the next sweep.
const PROBE: &str = "probe";

/// Creates a file readable by its owner only, or restricts an existing one.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;

    // The mode above applies to a new file only.
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    drop(file);
    Ok(())
}

/// The directory of key files.
pub(crate) struct KeyFiles {
    folder: PathBuf,
}

impl KeyFiles {
    /// Opens `keys` in the registry's directory, accessible to its owner only.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let folder = directory.join("keys");
        private(DirBuilder::new().recursive(true)).create(&folder)?;
        Ok(Self { folder })
    }

    fn path(&self, id: ClientId, extension: &str) -> PathBuf {
        self.folder.join(format!("{id}.{extension}"))
    }
}

impl KeyStorage for KeyFiles {
    fn offset(&self, id: ClientId) -> Result<u64> {
        let metadata = found(fs::metadata(self.path(id, PART)))?;
        Ok(metadata.map_or(0, |metadata| metadata.len()))
    }

    fn append(&self, id: ClientId, offset: u64, part: &[u8]) -> Result<bool> {
        if self.offset(id)? != offset {
            return Ok(false);
        }

        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.path(id, PART))?;
        file.write_all(part)?;
        file.sync_data()?;
        Ok(true)
    }

    fn holds(&self, id: ClientId, offset: u64, part: &[u8]) -> Result<bool> {
        // One of both exists: complete keys have the file of their upload under another name.
        for extension in [PART, COMPLETE] {
            let Some(mut file) = found(File::open(self.path(id, extension)))? else {
                continue;
            };
            let mut bytes = Vec::with_capacity(part.len());
            file.seek(SeekFrom::Start(offset))?;
            file.take(part.len() as u64).read_to_end(&mut bytes)?;
            return Ok(bytes == part);
        }
        Ok(false)
    }

    fn read_upload(&self, id: ClientId) -> Result<Vec<u8>> {
        Ok(fs::read(self.path(id, PART))?)
    }

    fn finish(&self, id: ClientId) -> Result<()> {
        // The parts are on disk already, so the rename makes the keys complete at once.
        fs::rename(self.path(id, PART), self.path(id, COMPLETE))?;
        Ok(sync_directory(&self.folder)?)
    }

    fn read(&self, id: ClientId) -> Result<Option<Vec<u8>>> {
        Ok(found(fs::read(self.path(id, COMPLETE)))?)
    }

    /// A file that cannot be removed is removed at the next start.
    fn remove(&self, id: ClientId) {
        for extension in [PART, COMPLETE] {
            if let Err(error) = fs::remove_file(self.path(id, extension))
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(%error, "could not remove a client's keys");
            }
        }
    }

    fn sweep(&self, known: &HashSet<ClientId>) -> Result<()> {
        for file in fs::read_dir(&self.folder)? {
            let path = file?.path();
            let id = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .and_then(|stem| stem.parse().ok());
            if id.is_none_or(|id| !known.contains(&id)) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    fn probe(&self) -> Result<()> {
        let path = self.folder.join(PROBE);
        let mut file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(true)
            .open(&path)?;

        // The file is removed also if the disk is full.
        let written = file
            .write_all(&vec![0; ROOM])
            .and_then(|()| file.sync_data());
        fs::remove_file(&path)?;
        Ok(written?)
    }
}

/// Replaces the error for a missing file by `None`.
fn found<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Restricts a directory to its owner, on systems with such permissions.
pub(crate) fn private(builder: &mut DirBuilder) -> &mut DirBuilder {
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
    builder
}

/// Makes a rename durable. Only Unix can sync directories.
fn sync_directory(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}
