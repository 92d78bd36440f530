//! The client's own certificate and key.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustls::client::WantsClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder};
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Maximum number of bytes read from a file.
const MAX_BYTES: u64 = 1 << 20;

/// The files of a certificate and its private key, which the client presents to a service that asks
/// for one. Both files are PEM, and are read whenever a connection is opened.
///
/// The service can recognize the client by its certificate across connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The file of the certificate chain, which starts with the client's own certificate.
    pub certificate: PathBuf,
    /// The file of the private key: PKCS#8, PKCS#1 or SEC1.
    pub key: PathBuf,
}

impl Identity {
    /// An identity with these files.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self {
            certificate: certificate.into(),
            key: key.into(),
        }
    }
}

/// Completes a configuration of TLS with the client's certificate, if there is one. Errors name the
/// file.
pub(super) fn present(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    identity: Option<&Identity>,
) -> Result<ClientConfig> {
    let Some(Identity { certificate, key }) = identity else {
        return Ok(builder.with_no_client_auth());
    };

    let chain = CertificateDer::pem_slice_iter(&contents(certificate)?)
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|error| bad(certificate, error))?;
    if chain.is_empty() {
        return Err(bad(certificate, "contains no PEM certificate"));
    }

    let private = PrivateKeyDer::from_pem_slice(&contents(key)?)
        .map_err(|error| bad(key, format!("contains no PEM private key: {error}")))?;
    builder
        .with_client_auth_cert(chain, private)
        .map_err(|error| {
            let file = certificate.display();
            let reason = format!("{error}: expected the private key of the certificate in {file}");
            bad(key, reason)
        })
}

/// Reads a file's bytes, wiped when dropped.
fn contents(path: &Path) -> Result<Zeroizing<Vec<u8>>> {
    // Allocated at full size: growing the buffer would leave copies of the key in memory.
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_BYTES as usize));
    let file = File::open(path).map_err(|error| bad(path, error))?;
    file.take(MAX_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| bad(path, error))?;
    Ok(bytes)
}

fn bad(path: &Path, reason: impl ToString) -> Error {
    Error::BadIdentity {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}
