//! Files with the key of an encrypted database's owner.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use papir_core::OwnerKey;
use zeroize::Zeroizing;

use crate::failure::Failure;

/// Longest key file that is read, in bytes.
const LONGEST: u64 = 4096;

/// Reads the key from a file of one line.
///
/// # Errors
/// The file cannot be read, or does not contain a key.
pub(crate) fn read(path: &Path) -> Result<OwnerKey, Failure> {
    let named = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    parse(path, File::open(path).map_err(named)?)
}

fn parse(path: &Path, file: File) -> Result<OwnerKey, Failure> {
    let named = |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", path.display()));
    // Allocated at full size: growing the buffer would leave copies of the key in memory.
    let mut text = Zeroizing::new(String::with_capacity(LONGEST as usize));
    file.take(LONGEST).read_to_string(&mut text).map_err(|error| named(&error))?;
    text.parse().map_err(|error: papir_core::Error| named(&error))
}

/// Reads the key, or creates the file with a fresh key, durably and readable only by its owner.
///
/// # Errors
/// As [`read`]; also if the file cannot be written.
pub(crate) fn read_or_make(path: &Path) -> Result<OwnerKey, Failure> {
    match File::open(path) {
        Ok(file) => parse(path, file),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make(path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
        }
        Err(error) => Err(Failure::new(format!("{}: {error}", path.display()))),
    }
}

fn make(path: &Path) -> std::io::Result<OwnerKey> {
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
