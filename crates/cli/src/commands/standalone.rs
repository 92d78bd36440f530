//! Options that the relay and the issuer share: both run apart from `papir serve`.

use std::path::PathBuf;
use std::time::Duration;

use papir_server::TlsFiles;

use crate::arguments::duration::Span;
use crate::failure::Failure;

/// Refuses time limits of zero.
pub(super) fn check_time_limits(header: Span, body: Span) -> Result<(), Failure> {
    for (name, span) in [("header-timeout", header), ("body-timeout", body)] {
        if span.0 == Duration::ZERO {
            return Err(Failure::new(format!(
                "{name} is 0: every request would time out"
            )));
        }
    }
    Ok(())
}

/// The files of a certificate and its key; `None` for plain HTTP.
pub(super) fn tls_files(certificate: Option<&PathBuf>, key: Option<&PathBuf>) -> Option<TlsFiles> {
    // Each of the options requires the other.
    Some(TlsFiles::new(certificate?, key?))
}
