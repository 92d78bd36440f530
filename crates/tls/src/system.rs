//! The operating system's store of certificates.

use rustls::pki_types::CertificateDer;

/// The certificates of the system's store; empty if the system has no store, or it cannot be read.
#[cfg(all(unix, not(target_vendor = "apple")))]
pub(crate) fn certificates() -> Vec<CertificateDer<'static>> {
    use rustls_native_certs::load_certs_from_paths;

    // The file is the folder's certificates in one, so the folder is read only without it.
    let places = openssl_probe::probe();
    if let Some(file) = &places.cert_file {
        let found = load_certs_from_paths(Some(file), None);
        if !found.certs.is_empty() {
            return found.certs;
        }
    }

    let folders = places.cert_dir.iter();
    folders
        .flat_map(|folder| load_certs_from_paths(None, Some(folder)).certs)
        .collect()
}

/// The certificates of the system's store; empty if it cannot be read.
#[cfg(not(all(unix, not(target_vendor = "apple"))))]
pub(crate) fn certificates() -> Vec<CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}
