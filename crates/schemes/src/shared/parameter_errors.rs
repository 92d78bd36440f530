//! What the lattice refuses, as a scheme's error.

use papir_core::Error;
use papir_lattice::params::ParamsError;
use papir_lattice::security;

/// Parameters of an LWE set that are insecure, or that there are no tables for.
pub(crate) fn unfit(scheme: &'static str) -> impl Fn(ParamsError) -> Error {
    move |error| match error {
        ParamsError::Insecure(error) => Error::Insecure {
            found: error.bits.map_or("no estimated".to_owned(), |bits| bits.to_string()),
            expected: security::MINIMUM_BITS as u32,
        },
        other => Error::Parameters { scheme, reason: other.to_string() },
    }
}
