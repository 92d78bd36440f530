//! Files of queries and answers.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use crate::failure::Failure;

/// Maximum length of a file in bytes: 64 MiB, of the longest messages.
const MAX_BYTES: u64 = 64 << 20;

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| Failure::at(path, error))?;

    if bytes.len() as u64 > MAX_BYTES {
        let reason = format!("longer than {MAX_BYTES} bytes: expected a query or an answer");
        return Err(Failure::at(path, reason));
    }
    Ok(bytes)
}

/// Writes a file in place of an earlier one. It is on disk on return.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    File::create(path)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .map_err(|error| Failure::at(path, error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("q.bin");
        assert!(read(&path).is_err());

        for bytes in [&b"longer"[..], b"short"] {
            write(&path, bytes).unwrap();
            assert_eq!(read(&path).unwrap(), bytes);
        }
    }
}
