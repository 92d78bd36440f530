//! Verification of clients' certificates.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::CertificateRevocationListDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;

use super::pem::{bad, certificates, contents};
use crate::error::Error;

/// Authorities whose certificates clients need to connect, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFiles {
    /// Certificates of the authorities.
    pub authorities: PathBuf,
    /// Their revocation lists. If given, each authority in a client's chain needs one.
    pub revoked: Option<PathBuf>,
}

impl ClientFiles {
    /// Authorities without revocation lists.
    pub fn new(authorities: impl Into<PathBuf>) -> Self {
        Self {
            authorities: authorities.into(),
            revoked: None,
        }
    }

    /// A verifier that refuses clients without a valid certificate. An error names the file.
    pub(super) fn verifier(
        &self,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ClientCertVerifier>, Error> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.authorities)? {
            roots
                .add(certificate)
                .map_err(|error| bad(&self.authorities, error))?;
        }

        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = builder.with_crls(self.lists()?).build();
        verifier.map_err(|error| bad(self.revoked.as_ref().unwrap_or(&self.authorities), error))
    }

    fn lists(&self) -> Result<Vec<CertificateRevocationListDer<'static>>, Error> {
        let Some(path) = &self.revoked else {
            return Ok(Vec::new());
        };
        let lists = CertificateRevocationListDer::pem_slice_iter(&contents(path)?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| bad(path, error))?;

        // An empty file would revoke nothing, and nobody would notice.
        if lists.is_empty() {
            Err(bad(path, "contains no PEM revocation list"))
        } else {
            Ok(lists)
        }
    }
}
