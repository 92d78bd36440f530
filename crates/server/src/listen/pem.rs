//! PEM files.

use std::fs;
use std::io::Read;
use std::path::Path;

use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use zeroize::Zeroizing;

use crate::error::Error;

/// Longest accepted file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A file's certificates, at least one. An error names the file.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(&contents(path)?)
        .collect::<Result<_, _>>()
        .map_err(|error| bad(path, error))?;

    if found.is_empty() {
        Err(bad(path, "contains no PEM certificate"))
    } else {
        Ok(found)
    }
}

/// A file's bytes, wiped when dropped. An error names the file.
pub(super) fn contents(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    // Allocated at full size: growing the buffer would leave copies of a key in memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES as usize + 1));
    let file = fs::File::open(path).map_err(|error| bad(path, error))?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| bad(path, error))?;

    if bytes.len() as u64 > MAX_BYTES {
        return Err(bad(path, format!("longer than {MAX_BYTES} bytes")));
    }
    Ok(bytes)
}

/// An error that names the file.
pub(super) fn bad(path: &Path, reason: impl ToString) -> Error {
    Error::Tls {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_of_a_key_never_grows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        for length in [0, 100, MAX_BYTES as usize] {
            fs::write(&path, vec![b'k'; length]).unwrap();
            let bytes = contents(&path).unwrap();
            assert_eq!(bytes.len(), length);
            assert_eq!(bytes.capacity(), MAX_BYTES as usize + 1, "{length} bytes");
        }

        fs::write(&path, vec![b'k'; MAX_BYTES as usize + 1]).unwrap();
        assert!(contents(&path).is_err());
    }
}
