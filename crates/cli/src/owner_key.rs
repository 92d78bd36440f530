//! Files that hold the key of an encrypted database's owner: one line of text.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use papir_core::OwnerKey;
use zeroize::Zeroizing;

use crate::failure::Failure;

/// Longest file that is read, in bytes.
const LONGEST: u64 = 4096;

/// The key in a file.
///
/// # Errors
/// One line for a file that cannot be read, or that holds no key.
pub(crate) fn read(path: &Path) -> Result<OwnerKey, Failure> {
    let named = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    parse(path, File::open(path).map_err(named)?)
}

fn parse(path: &Path, file: File) -> Result<OwnerKey, Failure> {
    let named = |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", path.display()));
    // Whole from the start: growing would leave copies behind.
    let mut text = Zeroizing::new(String::with_capacity(LONGEST as usize));
    file.take(LONGEST).read_to_string(&mut text).map_err(|error| named(&error))?;
    text.parse().map_err(|error: papir_core::Error| named(&error))
}

/// The key in a file, or a fresh one that is written to it, durably, for its owner alone to read.
///
/// # Errors
/// As [`read`], and one line for a file that cannot be written.
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
        // Half a key would be taken for another's text.
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    eprintln!(
        "papir: made {}: nobody reads the database without it; keep a copy, and hand it to clients alone",
        path.display()
    );
    Ok(key)
}

/// Writes the key's line through to the disk, and its name.
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
