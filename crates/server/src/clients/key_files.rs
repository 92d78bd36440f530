//! Key files: one per client, written in parts and durable before they count.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::id::ClientId;

/// File extension of complete keys.
const COMPLETE: &str = "keys";
/// File extension of keys being uploaded.
const PART: &str = "part";

/// Creates a file readable by its owner only, or restricts an existing one.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
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

    /// Number of bytes of an upload that are on disk.
    pub(crate) fn offset(&self, id: ClientId) -> io::Result<u64> {
        match fs::metadata(self.path(id, PART)) {
            Ok(metadata) => Ok(metadata.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Appends to an upload. The bytes are durable on return.
    pub(crate) fn append(&self, id: ClientId, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(self.path(id, PART))?;
        file.write_all(bytes)?;
        file.sync_data()
    }

    /// Reads the bytes of an upload so far.
    pub(crate) fn read_part(&self, id: ClientId) -> io::Result<Vec<u8>> {
        fs::read(self.path(id, PART))
    }

    /// Turns a complete upload into the client's keys.
    pub(crate) fn finish(&self, id: ClientId) -> io::Result<()> {
        fs::rename(self.path(id, PART), self.path(id, COMPLETE))?;
        sync_directory(&self.folder)
    }

    /// Reads the keys of a registered client.
    pub(crate) fn read(&self, id: ClientId) -> io::Result<Vec<u8>> {
        fs::read(self.path(id, COMPLETE))
    }

    /// Removes all files of a client. A file that cannot be removed is removed at the next start.
    pub(crate) fn remove(&self, id: ClientId) {
        for extension in [PART, COMPLETE] {
            if let Err(error) = fs::remove_file(self.path(id, extension))
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(%error, "could not remove a client's keys");
            }
        }
    }

    /// Removes the files of unknown clients.
    pub(crate) fn sweep(&self, known: &HashSet<ClientId>) -> io::Result<()> {
        for file in fs::read_dir(&self.folder)? {
            let path = file?.path();
            let id = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
            if id.is_none_or(|id| !known.contains(&id)) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
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
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
