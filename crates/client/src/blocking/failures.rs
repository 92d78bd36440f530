//! Errors of ureq as failures of the protocol core.

use crate::core::Failure;
use crate::transport::failures::{of_no_http, of_tls};

/// Converts ureq's error of a request to the service at `base`.
pub(super) fn failure(error: ureq::Error, base: &str) -> Failure {
    if let Some(failure) = tls_error(&error).and_then(|error| of_tls(error, base)) {
        return failure.into();
    }
    match error {
        ureq::Error::Protocol(_) => of_no_http(base).map_or_else(|| error.into(), Into::into),
        ureq::Error::Io(error) => error.into(),
        other => other.into(),
    }
}

fn tls_error(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}
