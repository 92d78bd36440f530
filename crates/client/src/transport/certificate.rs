//! Summary of a certificate: subject, issuer and validity period.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate, X509Name};

/// Longest name that is shown, in characters. The server chooses the name.
const MAX_SHOWN: usize = 80;

/// Fields of a certificate, which are not verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateSummary {
    /// The name of the certificate's owner, for example `CN=localhost`; may be empty.
    pub subject: String,
    /// The name of the certificate's issuer; may be empty.
    pub issuer: String,
    /// The time from which the certificate is valid.
    pub not_before: SystemTime,
    /// The time until which the certificate is valid.
    pub not_after: SystemTime,
}

impl CertificateSummary {
    /// The summary of the first certificate in a PEM file; `None` if there is no certificate or it
    /// is malformed.
    pub fn of_pem(pem: &[u8]) -> Option<Self> {
        Self::parse(&CertificateDer::from_pem_slice(pem).ok()?)
    }

    /// The summary of a certificate in DER; `None` if it is malformed.
    pub(crate) fn parse(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let validity = certificate.validity();
        Some(Self {
            subject: shown(certificate.subject()),
            issuer: shown(certificate.issuer()),
            not_before: time(validity.not_before)?,
            not_after: time(validity.not_after)?,
        })
    }
}

impl fmt::Display for CertificateSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = or_no_name(&self.subject);
        let issuer = or_no_name(&self.issuer);
        write!(f, "of {subject}, issued by {issuer}")
    }
}

/// The name, or `no name` if it is empty.
fn or_no_name(name: &str) -> &str {
    if name.is_empty() { "no name" } else { name }
}

fn shown(name: &X509Name<'_>) -> String {
    name.to_string()
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_SHOWN)
        .collect()
}

/// The system's form of a time; `None` before 1970.
fn time(time: ASN1Time) -> Option<SystemTime> {
    Some(UNIX_EPOCH + Duration::from_secs(time.timestamp().try_into().ok()?))
}
