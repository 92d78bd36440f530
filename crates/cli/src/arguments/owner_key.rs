//! Key files of encrypted databases.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use papir_core::OwnerKey;

use crate::arguments::secret_file;
use crate::failure::Failure;

/// Reads an owner's key from a file of one line, if a file is given.
pub(crate) fn read(path: Option<&Path>) -> Result<Option<OwnerKey>, Failure> {
    match path {
        Some(path) => secret_file::read(path).map(Some),
        None => Ok(None),
    }
}

/// Reads an owner's key. If the file does not exist, creates it with a fresh key, synced to disk
/// and readable only by its owner.
pub(crate) fn read_or_create(path: &Path) -> Result<OwnerKey, Failure> {
    match File::open(path) {
        Ok(file) => secret_file::parse(path, file),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            create(path).map_err(|error| Failure::at(path, error))
        }
        Err(error) => Err(Failure::at(path, error)),
    }
}

fn create(path: &Path) -> std::io::Result<OwnerKey> {
    let key = OwnerKey::generate(&mut papir::system_rng());
    secret_file::create(path, &key.to_text())?;

    eprintln!(
        "papir: created {}: the database cannot be read without this key; keep a copy, and give it only to clients",
        path.display()
    );
    Ok(key)
}
