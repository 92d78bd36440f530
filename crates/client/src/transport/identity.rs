//! Certificate of the client.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustls::client::WantsClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder};
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Longest accepted file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A certificate that the client presents to a service that asks for one, with its private key.
/// Both files are PEM, and are read once for each connection that is opened.
///
/// The service recognizes the client by it across connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The chain, starting with the client's own certificate.
    pub certificate: PathBuf,
    /// The private key: PKCS#8, PKCS#1 or SEC1.
    pub key: PathBuf,
}

impl Identity {
    /// The files of a certificate and its key.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self {
            certificate: certificate.into(),
            key: key.into(),
        }
    }
}

/// Completes a configuration with the client's certificate, if it has one. The errors name the
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

/// A file's bytes, wiped when dropped.
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
