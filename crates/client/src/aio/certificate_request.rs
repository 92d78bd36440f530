//! Observation of services' requests for a client certificate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::client::ResolvesClientCert;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, SignatureScheme};

use crate::core::Failure;
use crate::failure::FinalFailure;

/// Records if the service has asked for a client certificate since its last response.
///
/// A service that refuses the certificate sends an alert after the client's handshake, and the HTTP
/// library may drop the alert. This record is then the only hint at the reason.
#[derive(Clone, Debug)]
pub(super) struct CertificateRequest {
    asked: Arc<AtomicBool>,
    has_identity: bool,
}

impl CertificateRequest {
    /// Observes all handshakes that use this configuration.
    pub(super) fn observe(tls: &mut ClientConfig) -> Self {
        let inner = Arc::clone(&tls.client_auth_cert_resolver);
        let observer = Self {
            asked: Arc::default(),
            has_identity: inner.has_certs(),
        };

        let asked = Arc::clone(&observer.asked);
        tls.client_auth_cert_resolver = Arc::new(Observed { inner, asked });
        observer
    }

    /// Records a response, which shows that the service accepted the certificate or does not
    /// require one.
    pub(super) fn satisfied(&self) {
        self.asked.store(false, Ordering::Relaxed);
    }

    /// Adds a hint about the client certificate to the failure of a connection, if the service
    /// asked for one.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        if failure.is::<FinalFailure>() || !self.asked.load(Ordering::Relaxed) {
            return failure;
        }

        let own = if self.has_identity {
            "may refuse the client's"
        } else {
            "the client has none"
        };
        format!("{failure} (the service asks for a client certificate, and {own})").into()
    }
}

/// Presents the certificate of `inner`, and records that the service asked for it.
#[derive(Debug)]
struct Observed {
    inner: Arc<dyn ResolvesClientCert>,
    asked: Arc<AtomicBool>,
}

impl ResolvesClientCert for Observed {
    fn resolve(&self, issuers: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.asked.store(true, Ordering::Relaxed);
        self.inner.resolve(issuers, schemes)
    }

    fn has_certs(&self) -> bool {
        self.inner.has_certs()
    }
}
