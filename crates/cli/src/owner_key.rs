//! Key files of encrypted databases.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use papir_core::OwnerKey;
use zeroize::Zeroizing;

use crate::failure::Failure;

/// Maximum length of a key file in bytes.
const MAX_KEY_FILE: u64 = 4096;

/// Reads an owner's key from a file of one line.
///
/// # Errors
/// The file cannot be read, or does not contain a key.
pub(crate) fn read(path: &Path) -> Result<OwnerKey, Failure> {
    parse(path, File::open(path).map_err(|error| Failure::at(path, error))?)
}

fn parse(path: &Path, file: File) -> Result<OwnerKey, Failure> {
    // Allocated at full size: growing the buffer would leave copies of the key in memory.
    let mut text = Zeroizing::new(String::with_capacity(MAX_KEY_FILE as usize));
    file.take(MAX_KEY_FILE).read_to_string(&mut text).map_err(|error| Failure::at(path, error))?;
    text.parse().map_err(|error: papir_core::Error| Failure::at(path, error))
}

/// Reads an owner's key. If the file does not exist, creates it with a fresh key, synced to disk
/// and readable only by its owner.
///
/// # Errors
/// Same as [`read`], also if the file cannot be written.
pub(crate) fn read_or_create(path: &Path) -> Result<OwnerKey, Failure> {
    match File::open(path) {
        Ok(file) => parse(path, file),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            create(path).map_err(|error| Failure::at(path, error))
        }
        Err(error) => Err(Failure::at(path, error)),
    }
}

fn create(path: &Path) -> std::io::Result<OwnerKey> {
    let key = OwnerKey::generate(&mut papir::system_rng());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    if let Err(error) = write(file, path, &key) {
        // A partial key file must not be mistaken for a key later.
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    eprintln!(
        "papir: created {}: the database cannot be read without this key; keep a copy, and give it only to clients",
        path.display()
    );
    Ok(key)
}

/// Writes the key and syncs the file and its directory.
fn write(mut file: File, path: &Path, key: &OwnerKey) -> std::io::Result<()> {
    file.write_all(key.to_text().as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
