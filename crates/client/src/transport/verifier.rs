//! Verification of servers' certificates.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};

use super::certificate::CertificateSummary;

/// Verifies chains by webpki, and also accepts a certificate that is itself one of the given roots.
///
/// webpki refuses a server's certificate that may sign others, and `openssl req -x509` makes such
/// certificates by default. Accepting a given root adds no trust: the holder of its key could sign
/// another certificate for the server. Name, validity period and the handshake's signature are
/// checked as for every certificate.
#[derive(Debug)]
pub(crate) struct Verifier {
    chains: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
    presented: Presented,
}

/// The certificate that a server presented last. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Presented(Arc<Mutex<Option<CertificateSummary>>>);

impl Presented {
    /// The certificate, if one was presented that parses.
    #[cfg(feature = "blocking")]
    pub(crate) fn get(&self) -> Option<CertificateSummary> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, summary: Option<CertificateSummary>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = summary;
    }
}

/// A refused certificate.
#[derive(Clone, Debug)]
pub(crate) struct RefusedCertificate {
    /// Its fields; `None` if it is malformed.
    pub(crate) summary: Option<CertificateSummary>,
    /// The reason.
    pub(crate) reason: CertificateError,
}

impl std::error::Error for RefusedCertificate {}

impl fmt::Display for RefusedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)
    }
}

impl Verifier {
    /// Trusts `given` or, if it is `None`, the public roots. Stores the certificates of servers in
    /// `presented`. Fails if no given certificate can be a root.
    pub(super) fn new(
        given: Option<Vec<CertificateDer<'static>>>,
        presented: Presented,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        match &given {
            Some(given) => drop(roots.add_parsable_certificates(given.iter().cloned())),
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }

        let chains = WebPkiServerVerifier::builder_with_provider(roots.into(), provider)
            .build()
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        Ok(Self {
            chains,
            given: given.unwrap_or_default(),
            presented,
        })
    }

    fn verify(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        if !self.given.iter().any(|given| given == certificate) {
            return self
                .chains
                .verify_server_cert(certificate, intermediates, name, &[], now)
                .map(drop);
        }

        verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
        let summary =
            CertificateSummary::parse(certificate).ok_or(CertificateError::BadEncoding)?;

        let time = UNIX_EPOCH + Duration::from_secs(now.as_secs());
        if time < summary.not_before {
            return Err(CertificateError::NotValidYetContext {
                time: now,
                not_before: unix_time(summary.not_before),
            }
            .into());
        }
        if time > summary.not_after {
            return Err(CertificateError::ExpiredContext {
                time: now,
                not_after: unix_time(summary.not_after),
            }
            .into());
        }
        Ok(())
    }
}

fn unix_time(time: SystemTime) -> UnixTime {
    UnixTime::since_unix_epoch(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let summary = CertificateSummary::parse(certificate);
        self.presented.set(summary.clone());
        match self.verify(certificate, intermediates, name, now) {
            Ok(()) => Ok(ServerCertVerified::assertion()),
            // The error carries the certificate, for the message.
            Err(rustls::Error::InvalidCertificate(reason)) => {
                let refused = RefusedCertificate { summary, reason };
                Err(CertificateError::Other(OtherError(Arc::new(refused))).into())
            }
            Err(other) => Err(other),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chains
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chains
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}
