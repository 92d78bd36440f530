//! The clients' keys: a file each, written in parts, made durable before it counts.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::id::ClientId;

/// What the name of whole keys ends with.
const WHOLE: &str = "keys";
/// What the name of keys that are being uploaded ends with.
const PART: &str = "part";

/// Makes a file that only its owner may read, or takes others' rights from the one that is there.
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

/// The folder of keys.
pub(crate) struct KeyFiles {
    folder: PathBuf,
}

impl KeyFiles {
    /// The folder `keys` in the registry's directory, which only its owner may enter.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let folder = directory.join("keys");
        private(DirBuilder::new().recursive(true)).create(&folder)?;
        Ok(Self { folder })
    }

    fn path(&self, id: ClientId, extension: &str) -> PathBuf {
        self.folder.join(format!("{id}.{extension}"))
    }

    /// How many bytes of an upload are on disk.
    pub(crate) fn offset(&self, id: ClientId) -> io::Result<u64> {
        match fs::metadata(self.path(id, PART)) {
            Ok(metadata) => Ok(metadata.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Appends to an upload; durable when it returns.
    pub(crate) fn append(&self, id: ClientId, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(self.path(id, PART))?;
        file.write_all(bytes)?;
        file.sync_data()
    }

    /// The bytes of an upload so far.
    pub(crate) fn read_part(&self, id: ClientId) -> io::Result<Vec<u8>> {
        fs::read(self.path(id, PART))
    }

    /// Makes an upload the client's keys.
    pub(crate) fn finish(&self, id: ClientId) -> io::Result<()> {
        fs::rename(self.path(id, PART), self.path(id, WHOLE))?;
        sync_directory(&self.folder)
    }

    /// The keys of a registered client.
    pub(crate) fn read(&self, id: ClientId) -> io::Result<Vec<u8>> {
        fs::read(self.path(id, WHOLE))
    }

    /// Removes whatever there is of a client. What cannot be removed goes at the next start.
    pub(crate) fn remove(&self, id: ClientId) {
        for extension in [PART, WHOLE] {
            if let Err(error) = fs::remove_file(self.path(id, extension))
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(%error, "a client's keys could not be removed");
            }
        }
    }

    /// Removes the files of clients that are not known.
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

/// With the rights of its owner alone, where there are such rights.
pub(crate) fn private(builder: &mut DirBuilder) -> &mut DirBuilder {
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
    builder
}

/// Makes a rename durable. Only Unix has directories that can be synced.
fn sync_directory(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
