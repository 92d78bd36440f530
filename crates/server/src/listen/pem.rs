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
    let mut bytes = Zeroizing::new(Vec::new());
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
