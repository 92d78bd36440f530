//! Private files that are replaced atomically.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Creates a folder and its parents, accessible to their owner only.
pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Replaces a file atomically by the concatenation of `parts`, which is on disk on return.
/// `partial` is the path of a temporary file in the same folder.
pub(super) fn replace(path: &Path, partial: &Path, parts: &[&[u8]]) -> io::Result<()> {
    // On disk before the rename: after a crash the name has the old file or the whole new one.
    write(partial, parts)?.sync_all()?;
    fs::rename(partial, path)?;
    sync_directory(path)
}

/// Writes a new file with the concatenation of `parts`. It may not be on disk on return.
pub(super) fn write(path: &Path, parts: &[&[u8]]) -> io::Result<File> {
    // A killed process may have left one, with other permissions.
    let _ = fs::remove_file(path);
    let mut file = private(OpenOptions::new().create_new(true).write(true)).open(path)?;
    parts.iter().try_for_each(|part| file.write_all(part))?;
    Ok(file)
}

/// Reads at most `limit` bytes of a file, wiped when dropped; `None` if the file does not exist.
pub(super) fn read(path: &Path, limit: u64) -> Result<Option<Zeroizing<Vec<u8>>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(path, error)),
    };

    let length = file
        .metadata()
        .map_err(|error| failed(path, error))?
        .len()
        .min(limit);
    // Allocated in full: growing would leave a copy of a secret in freed memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(length as usize + 1));
    file.take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(path, error))?;
    Ok(Some(bytes))
}

/// Restricts access to a new file to its owner, on Unix.
pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Makes a rename in the folder of `path` durable. Does nothing outside Unix, where directories
/// cannot be synchronized.
fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) if cfg!(unix) => File::open(directory)?.sync_all(),
        _ => Ok(()),
    }
}

pub(super) fn failed(path: &Path, source: io::Error) -> Error {
    Error::StateFile {
        path: path.to_owned(),
        source,
    }
}
