//! Fields of certificates that webpki does not expose.

use std::time::Duration;

use rustls::pki_types::UnixTime;
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate, X509Version};

/// Returns true if a certificate in DER may sign others: its basic constraints say so, or its
/// version has no basic constraints. A malformed certificate may not.
///
/// webpki accepts any certificate as an anchor. But a list may contain a server's own certificate,
/// which many systems generate for tests. It must not vouch for other servers.
pub(crate) fn is_authority(der: &[u8]) -> bool {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else {
        return false;
    };
    match certificate.basic_constraints() {
        Ok(Some(constraints)) => constraints.value.ca,
        Ok(None) => certificate.version() != X509Version::V3,
        Err(_) => false,
    }
}

/// The period for which a certificate is valid.
pub(crate) struct ValidityPeriod {
    pub(crate) not_before: UnixTime,
    pub(crate) not_after: UnixTime,
}

impl ValidityPeriod {
    /// The period of a certificate in DER; `None` if it is malformed, or begins or ends before
    /// 1970.
    pub(crate) fn parse(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let validity = certificate.validity();
        Some(Self {
            not_before: unix_time(validity.not_before)?,
            not_after: unix_time(validity.not_after)?,
        })
    }
}

fn unix_time(time: ASN1Time) -> Option<UnixTime> {
    let seconds = time.timestamp().try_into().ok()?;
    Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
}
