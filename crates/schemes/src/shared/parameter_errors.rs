//! Errors of parameters that a scheme refuses.

use papir_core::{Error, Result};
use papir_lattice::params::ParamsError;
use papir_lattice::security;

use super::goals::MAX_FAILURE_LOG2;

/// Maps errors of LWE and RLWE parameters to those of a scheme.
pub(crate) fn unfit(scheme: &'static str) -> impl Fn(ParamsError) -> Error {
    move |error| match error {
        ParamsError::Insecure(error) => Error::Insecure {
            found: error.bits.map_or("no estimated".to_owned(), |bits| bits.to_string()),
            expected: security::MINIMUM_BITS as u32,
        },
        other => refused(scheme)(other),
    }
}

/// Maps a reason, or the error of a gadget or a packing, to [`Error::Parameters`].
pub(crate) fn refused<R: ToString>(scheme: &'static str) -> impl Fn(R) -> Error {
    move |reason| Error::Parameters { scheme, reason: reason.to_string() }
}

/// Checks the failure probability of an answer, given as log₂.
///
/// # Errors
/// [`Error::Parameters`] above 2⁻⁴⁰ and for NaN.
pub(crate) fn check_failure(scheme: &'static str, failure_log2: f64) -> Result<()> {
    if failure_log2 <= MAX_FAILURE_LOG2 {
        return Ok(());
    }
    let limit = MAX_FAILURE_LOG2;
    Err(refused(scheme)(format!("an answer fails with probability 2^{failure_log2:.1}, above 2^{limit}")))
}
