//! TLS 1.2 and 1.3 with a reloadable certificate.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::NoServerSessionStorage;
use tokio_rustls::rustls::{self, InconsistentKeys};

use super::client_files::ClientFiles;
use super::pem::{bad, certificates, contents};
use crate::error::Error;

/// A certificate chain and its private key, both in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain, starting with the service's own certificate.
    pub certificate: PathBuf,
    /// The private key: PKCS#8, PKCS#1 or SEC1.
    pub key: PathBuf,
    /// If given, clients without a valid certificate are refused in the handshake.
    pub clients: Option<ClientFiles>,
}

/// TLS configuration for handshakes. Read again on reload.
pub(crate) struct Tls {
    files: TlsFiles,
    current: RwLock<CertificatePair>,
}

/// A certificate chain with its key.
#[derive(Clone)]
struct CertificatePair {
    config: Arc<rustls::ServerConfig>,
    expiry: Option<i64>,
}

impl TlsFiles {
    /// Files of a service that every client may connect to.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self {
            certificate: certificate.into(),
            key: key.into(),
            clients: None,
        }
    }

    /// Checks that all files can be read, and that certificate and key match. Clients verify the
    /// certificate's validity and names.
    ///
    /// # Errors
    /// [`Error::Tls`], naming the file.
    pub fn check(&self) -> Result<(), Error> {
        self.read().map(drop)
    }

    fn read(&self) -> Result<CertificatePair, Error> {
        let certificate = &self.certificate;
        let key = &self.key;
        let chain = certificates(certificate)?;
        let private = PrivateKeyDer::from_pem_slice(&contents(key)?)
            .map_err(|error| bad(key, no_key(error)))?;
        let expiry = chain.iter().filter_map(not_after).min();

        let provider = Arc::new(ring::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| bad(certificate, error))?;
        let builder = match &self.clients {
            Some(clients) => builder.with_client_cert_verifier(clients.verifier(provider)?),
            None => builder.with_no_client_auth(),
        };

        let mut config = builder
            .with_single_cert(chain, private)
            .map_err(|error| self.blame(error))?;
        if self.clients.is_some() {
            // A resumed session has the certificate of the first one, which may have ended since.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];

        Ok(CertificatePair {
            config: Arc::new(config),
            expiry,
        })
    }

    /// Attributes an error to one of the two files.
    fn blame(&self, error: rustls::Error) -> Error {
        match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                let certificate = self.certificate.display();
                bad(
                    &self.key,
                    format!("the key does not match the certificate in {certificate}"),
                )
            }
            rustls::Error::InvalidCertificate(_) => bad(&self.certificate, error),
            other => bad(&self.key, other),
        }
    }
}

impl Tls {
    pub(crate) fn open(files: &TlsFiles) -> Result<Self, Error> {
        let current = RwLock::new(files.read()?);
        Ok(Self {
            files: files.clone(),
            current,
        })
    }

    /// Reads the files again. If they are invalid, the previous pair stays in use.
    pub(crate) fn reload(&self) {
        match self.files.read() {
            Ok(pair) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = pair;
                tracing::info!(certificate = %self.files.certificate.display(), "certificate loaded");
            }
            Err(error) => {
                tracing::error!(%error, "certificate not loaded: keeping the previous one")
            }
        }
    }

    /// An acceptor that uses the current pair.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.pair().config)
    }

    /// Earliest expiry of a certificate in the chain, in seconds since 1970; `None` if it cannot be
    /// read.
    pub(crate) fn expiry(&self) -> Option<i64> {
        self.pair().expiry
    }

    fn pair(&self) -> CertificatePair {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The end of a certificate's validity, in seconds since 1970. rustls does not expose it.
fn not_after(certificate: &CertificateDer<'_>) -> Option<i64> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
    Some(parsed.validity().not_after.timestamp())
}

fn no_key(error: rustls::pki_types::pem::Error) -> String {
    match error {
        rustls::pki_types::pem::Error::NoItemsFound => "contains no PEM private key".to_owned(),
        other => other.to_string(),
    }
}
