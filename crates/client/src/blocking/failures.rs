//! Errors of the HTTP client in words, with the remedy.

use rustls::{AlertDescription, CertificateError};

use super::tls::verifier::RefusedCertificate;
use crate::core::Failure;
use crate::error::FinalFailure;

const DAY: u64 = 86_400;

/// Converts an error of a request to the service at `base`.
pub(super) fn failure(error: ureq::Error, base: &str) -> Failure {
    match tls_error(&error) {
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(other))) => {
            match other.0.downcast_ref::<RefusedCertificate>() {
                Some(refused) => return refusal(refused).into(),
                None => return error.into(),
            }
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            return FinalFailure::NoTls { instead: base.replacen("https", "http", 1) }.into();
        }
        Some(rustls::Error::AlertReceived(alert)) => {
            if let Some(failure) = client_certificate(*alert) {
                return failure.into();
            }
        }
        _ => {}
    }
    match error {
        // A TLS server answers a request without TLS with an alert, which is not HTTP.
        ureq::Error::Protocol(_) if base.starts_with("http://") => {
            FinalFailure::NoHttp { instead: base.replacen("http", "https", 1) }.into()
        }
        ureq::Error::Io(error) => error.into(),
        other => other.into(),
    }
}

/// The failure for an alert about the client's certificate; `None` for other alerts.
fn client_certificate(alert: AlertDescription) -> Option<FinalFailure> {
    use AlertDescription as A;
    let reason = match alert {
        A::CertificateRequired => "the service asks for a client certificate",
        A::CertificateExpired => "the service refuses the client certificate: it is expired or not valid yet",
        A::CertificateRevoked => "the service refuses the client certificate: it is revoked",
        A::UnknownCA => "the service refuses the client certificate: it does not trust its issuer",
        A::BadCertificate | A::UnsupportedCertificate | A::CertificateUnknown | A::AccessDenied => {
            "the service refuses the client certificate"
        }
        _ => return None,
    };
    Some(FinalFailure::ClientCertificate { reason, missing: alert == A::CertificateRequired })
}

fn tls_error(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}

fn refusal(refused: &RefusedCertificate) -> FinalFailure {
    let (reason, unknown) = reason(&refused.reason);
    let certificate = refused.summary.as_ref().map_or("malformed".to_owned(), ToString::to_string);
    FinalFailure::Certificate { certificate, reason, unknown }
}

/// The reason in words, and whether the certificate's issuer is unknown.
fn reason(error: &CertificateError) -> (String, bool) {
    match error {
        CertificateError::UnknownIssuer => ("its issuer is not trusted".to_owned(), true),
        CertificateError::ExpiredContext { time, not_after } => {
            let days = time.as_secs().saturating_sub(not_after.as_secs()) / DAY;
            (format!("it expired {days} day(s) ago"), false)
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let days = not_before.as_secs().saturating_sub(time.as_secs()) / DAY + 1;
            (format!("it is not valid before {days} day(s) from now: check this machine's clock"), false)
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            let names = if names.is_empty() { "no name at all".to_owned() } else { names.join(", ") };
            (format!("it is for {names}, and not for {}", expected.to_str()), false)
        }
        other => {
            let text = other.to_string();
            match text.contains("CaUsedAsEndEntity") {
                true => {
                    ("it is an authority's own certificate, and not one of those trusted".to_owned(), true)
                }
                false => (text, false),
            }
        }
    }
}

/// The name in `DnsName("localhost")` or `IpAddress(127.0.0.1)`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}
