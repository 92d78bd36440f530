//! Verification of servers' certificates, for useful messages.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use papir_tls::{RootList, RootSource, RootVerifier};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, SignatureScheme};

use super::certificate::CertificateSummary;

/// A verifier of servers' certificates that stores the last one, accepted or refused, for messages.
#[derive(Debug)]
pub(crate) struct ObservedVerifier {
    inner: RootVerifier,
    trusted: RootSource,
    presented: Presented,
}

/// The certificate that a server presented last. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Presented(Arc<Mutex<Option<CertificateSummary>>>);

impl Presented {
    /// The certificate that was presented last; `None` if there is none, or it does not parse.
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

/// The error for a refused certificate.
#[derive(Clone, Debug)]
pub(crate) struct RefusedCertificate {
    /// The name or the address that it was presented for.
    pub(crate) server: String,
    /// Its fields; `None` if it is malformed.
    pub(crate) summary: Option<CertificateSummary>,
    /// The reason of the refusal.
    pub(crate) reason: CertificateError,
    /// The origin of the certificates that the client trusts.
    pub(crate) trusted: RootSource,
}

impl std::error::Error for RefusedCertificate {}

impl fmt::Display for RefusedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)
    }
}

impl ObservedVerifier {
    /// A verifier that trusts the certificates of `roots` and stores the certificates of servers in
    /// `presented`.
    pub(super) fn new(
        roots: &RootList,
        presented: Presented,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, rustls::Error> {
        Ok(Self {
            inner: RootVerifier::new(roots, provider)?,
            trusted: roots.source().clone(),
            presented,
        })
    }
}

impl ServerCertVerifier for ObservedVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let summary = CertificateSummary::parse(certificate);
        self.presented.set(summary.clone());

        let verified = self
            .inner
            .verify_server_cert(certificate, intermediates, name, ocsp, now);
        let Err(rustls::Error::InvalidCertificate(reason)) = verified else {
            return verified;
        };
        // The error carries the certificate, for the message.
        let refused = RefusedCertificate {
            server: name.to_str().into_owned(),
            summary,
            reason,
            trusted: self.trusted.clone(),
        };
        Err(CertificateError::Other(OtherError(Arc::new(refused))).into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
