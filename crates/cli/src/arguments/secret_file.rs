//! Files with one line of secret text.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::str::FromStr;

use zeroize::Zeroizing;

use crate::failure::Failure;

/// Maximum length of a secret file in bytes.
const MAX_BYTES: u64 = 4096;

/// Reads a secret.
pub(crate) fn read<T: FromStr<Err: std::fmt::Display>>(path: &Path) -> Result<T, Failure> {
    let file = File::open(path).map_err(|error| Failure::at(path, error))?;
    parse(path, file)
}

/// Reads a secret from an open file; `path` names it in errors.
pub(crate) fn parse<T: FromStr<Err: std::fmt::Display>>(
    path: &Path,
    file: File,
) -> Result<T, Failure> {
    // Allocated at full size: growing the buffer would leave copies of the secret in memory.
    let mut text = Zeroizing::new(String::with_capacity(MAX_BYTES as usize));
    file.take(MAX_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| Failure::at(path, error))?;

    text.parse().map_err(|error| Failure::at(path, error))
}

/// Creates a file with this line, synced to disk and readable only by its owner. Fails if the file
/// exists.
pub(crate) fn create(path: &Path, line: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);

    let file = options.open(path)?;
    if let Err(error) = write(file, path, line) {
        // A partial file must not be mistaken for a secret later.
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    Ok(())
}

/// Writes the line and syncs the file and its directory.
fn write(mut file: File, path: &Path, line: &str) -> std::io::Result<()> {
    file.write_all(line.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;

    // The directory, too: after a power failure, the file could be missing from it.
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
