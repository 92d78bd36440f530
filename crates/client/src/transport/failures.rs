//! Conversion of errors into failures that no retry resolves.

use papir_tls::RootSource;
use rustls::{AlertDescription, CertificateError};

use super::verifier::RefusedCertificate;
use crate::failure::FinalFailure;

const DAY: u64 = 86_400;

/// The failure for an error of TLS; `None` if a retry may resolve the error. `base` is the
/// service's address.
pub(crate) fn of_tls(error: &rustls::Error, base: &str) -> Option<FinalFailure> {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(other)) => {
            other.0.downcast_ref::<RefusedCertificate>().map(refusal)
        }
        // A server that answers in HTTP sends bytes that are no record of TLS.
        rustls::Error::InvalidMessage(_) => Some(FinalFailure::NoTls {
            instead: base.replacen("https", "http", 1),
        }),
        rustls::Error::AlertReceived(alert) => client_certificate(*alert),
        _ => None,
    }
}

/// The failure for a server's alert about the client's certificate; `None` for other alerts.
fn client_certificate(alert: AlertDescription) -> Option<FinalFailure> {
    use AlertDescription as A;

    let reason = match alert {
        A::CertificateRequired => "the service asks for a client certificate",
        A::CertificateExpired => {
            "the service refuses the client certificate: it is expired or not valid yet"
        }
        A::CertificateRevoked => "the service refuses the client certificate: it is revoked",
        A::UnknownCA => "the service refuses the client certificate: it does not trust its issuer",
        A::BadCertificate | A::UnsupportedCertificate | A::CertificateUnknown | A::AccessDenied => {
            "the service refuses the client certificate"
        }
        _ => return None,
    };

    Some(FinalFailure::ClientCertificate {
        reason,
        // Other alerts are about the certificate that was presented.
        missing: alert == A::CertificateRequired,
    })
}

/// The failure for a response that is not HTTP; `None` if the address `base` is `https`.
///
/// A TLS server answers a plain HTTP request with an alert of TLS, which is not HTTP.
pub(crate) fn of_no_http(base: &str) -> Option<FinalFailure> {
    base.starts_with("http://").then(|| FinalFailure::NoHttp {
        instead: base.replacen("http", "https", 1),
    })
}

fn refusal(refused: &RefusedCertificate) -> FinalFailure {
    let certificate = refused
        .summary
        .as_ref()
        .map_or("malformed".to_owned(), ToString::to_string);
    FinalFailure::Certificate {
        server: refused.server.clone(),
        certificate,
        reason: reason(&refused.reason, &refused.trusted),
        unknown: is_unknown(&refused.reason),
    }
}

/// Returns true if neither the certificate nor its issuer is trusted.
fn is_unknown(error: &CertificateError) -> bool {
    match error {
        // An issuer with the name of a trusted one, and another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => true,
        CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYetContext { .. }
        | CertificateError::NotValidForNameContext { .. } => false,
        other => is_authority(other),
    }
}

/// The reason of a refusal in words. `trusted` is the origin of the certificates that the client
/// trusts.
fn reason(error: &CertificateError, trusted: &RootSource) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            format!("its issuer is not trusted (trusted: {trusted})")
        }
        CertificateError::BadSignature => format!(
            "its issuer is not trusted: a trusted certificate has the issuer's name, and another key (trusted: {trusted})"
        ),

        CertificateError::ExpiredContext { time, not_after } => {
            let days = time.as_secs().saturating_sub(not_after.as_secs()) / DAY;
            format!("it expired {days} day(s) ago")
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let days = not_before.as_secs().saturating_sub(time.as_secs()) / DAY + 1;
            format!("it is not valid before {days} day(s) from now: check this machine's clock")
        }

        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let names: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            // A certificate may name nothing.
            let names = if names.is_empty() {
                "no name at all".to_owned()
            } else {
                names.join(", ")
            };
            format!("it is for {names}, and not for {}", expected.to_str())
        }

        other if is_authority(other) => format!(
            "it is an authority's own certificate, and not one of those trusted (trusted: {trusted})"
        ),
        other => other.to_string(),
    }
}

/// Returns true if a server presented an authority's certificate as its own. webpki reports this
/// only in words.
fn is_authority(error: &CertificateError) -> bool {
    error.to_string().contains("CaUsedAsEndEntity")
}

/// The name in a text such as `DnsName("localhost")` or `IpAddress(127.0.0.1)`.
fn bare(name: &str) -> &str {
    let inner = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"')
}
