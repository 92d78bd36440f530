//! Numbers that certificates of several schemes have.

use papir_core::certificate::{FailureCertificate, Rational, SecuritySet, TermKind};
use papir_core::{Error, FailureBound, Result};
use papir_lattice::security::{Row, Secret};

use crate::shared::parameters::words_log2;

/// Source of the bounds on squares of whitened words.
const WORDS: &str = "schemes/src/shared/parameters.rs, squares_of_whitened";

/// Returns the shortest decimal that rounds to a parameter.
pub(crate) fn decimal(scheme: &'static str, value: f64) -> Result<Rational> {
    Rational::of_decimal(value).ok_or_else(|| Error::Parameters {
        scheme,
        reason: format!("the parameter {value} has no certificate"),
    })
}

/// Returns a set whose security `row` covers.
pub(crate) fn security_set(
    scheme: &'static str,
    n: usize,
    modulus: &Rational,
    sigma: &Rational,
    secret: Secret,
    row: &'static Row,
) -> Result<SecuritySet> {
    Ok(SecuritySet {
        n: n as u64,
        modulus: modulus.clone(),
        secret: secret.to_string(),
        sigma: sigma.clone(),
        bits: decimal(scheme, row.matzov)?,
        row: row.set,
    })
}

/// Returns the variance of rounding to multiples of `step`.
pub(crate) fn rounding(step: &Rational) -> Rational {
    step.squared() / 12u32
}

/// Returns the variance of fair rounding that drops `bits` bits.
pub(crate) fn rounding_square(bits: u32) -> Rational {
    if bits == 0 {
        return Rational::from(0u32);
    }
    (Rational::power_of_two(2 * bits as i32) + 2u32) / 12u32
}

/// Adds parts of a variance, each with its name and source, and their sum.
pub(crate) fn variance_term<const PARTS: usize>(
    certificate: &mut FailureCertificate,
    source: &'static str,
    parts: [(&'static str, &'static str, Rational); PARTS],
) {
    let mut variance = Rational::from(0u32);
    for (name, source, value) in parts {
        variance = variance + certificate.term(name, TermKind::Variance, source, value);
    }
    certificate.term("variance", TermKind::Variance, source, variance);
}

/// Adds −log₂ of the probability that is left for whitened words, below 2⁻⁴⁰.
pub(crate) fn words_term(certificate: &mut FailureCertificate, bound: FailureBound) -> Result<()> {
    if !bound.is_default() {
        certificate.float_term("words", TermKind::Bits, WORDS, -words_log2(bound))?;
    }
    Ok(())
}
