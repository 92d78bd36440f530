//! Verification of servers' certificates.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::ring::default_provider;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};

use crate::RootList;
use crate::certificate::ValidityPeriod;

/// A verifier that verifies certificate chains by webpki, and also accepts a server's own
/// certificate that the user named.
///
/// webpki refuses a server's certificate that may sign others, although `openssl req -x509` makes
/// such certificates by default. Accepting a trusted certificate adds no trust: the holder of its
/// key could sign another certificate for the server. Name, validity period and the handshake's
/// signature are checked as for every certificate.
#[derive(Debug)]
pub struct RootVerifier {
    /// Verifies chains to trusted issuers; `None` if no trusted certificate may sign others.
    chains: Option<Arc<WebPkiServerVerifier>>,
    /// The certificates that a server may present as its own.
    own: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl RootVerifier {
    /// A verifier that trusts the certificates of `roots`.
    ///
    /// # Errors
    /// [`rustls::Error::General`] if webpki's verifier cannot be built from the trusted
    /// authorities.
    pub fn new(roots: &RootList, provider: Arc<CryptoProvider>) -> Result<Self, rustls::Error> {
        let anchors = roots.anchors();
        let chains = match anchors.is_empty() {
            true => None,
            false => Some(
                WebPkiServerVerifier::builder_with_provider(anchors.into(), Arc::clone(&provider))
                    .build()
                    .map_err(|error| rustls::Error::General(error.to_string()))?,
            ),
        };

        Ok(Self {
            chains,
            own: roots.own().to_vec(),
            provider,
        })
    }
}

/// Settings of TLS that trust the certificates of `roots`, without a certificate of the client.
///
/// # Errors
/// A provider without algorithms to verify signatures.
pub fn client_config(roots: &RootList) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(default_provider());
    let verifier = RootVerifier::new(roots, Arc::clone(&provider))?;

    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// Checks the name and the validity period of a certificate that is trusted itself.
fn check_own(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
    now: UnixTime,
) -> Result<(), rustls::Error> {
    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;

    let validity = ValidityPeriod::parse(certificate).ok_or(CertificateError::BadEncoding)?;
    if now < validity.not_before {
        return Err(CertificateError::NotValidYetContext {
            time: now,
            not_before: validity.not_before,
        }
        .into());
    }
    if now > validity.not_after {
        return Err(CertificateError::ExpiredContext {
            time: now,
            not_after: validity.not_after,
        }
        .into());
    }
    Ok(())
}

impl ServerCertVerifier for RootVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.own.iter().any(|own| own == certificate) {
            check_own(certificate, name, now)?;
            return Ok(ServerCertVerified::assertion());
        }

        let chains = self
            .chains
            .as_ref()
            .ok_or(CertificateError::UnknownIssuer)?;
        chains.verify_server_cert(certificate, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
