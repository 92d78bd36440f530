//! Exact terms of the level whose hint is compressed.

use papir_core::certificate::{FailureCertificate, Rational, TermKind};
use papir_core::{FailureBound, Result};
use papir_lattice::lwe32::{LOG2_Q, LweParams, MODULE_SIGMA};

use super::noise::{Budget, Level};
use super::slots::LOG2_UNIT;
use crate::shared::certificate::{decimal, rounding_square, security_set};

/// Source of the terms.
const SOURCE: &str = "schemes/src/zip/noise.rs";

/// A level whose hint is compressed, in units of q/2¹⁶.
pub(super) struct CompressedTerms<'a> {
    pub(super) level: &'a Level,
    pub(super) budget: Budget,
    /// Number of words of a sum.
    pub(super) columns: usize,
    /// Number of rows that must decode.
    pub(super) rows: usize,
    pub(super) lwe: &'a LweParams,
    pub(super) failure: FailureBound,
}

impl CompressedTerms<'_> {
    /// Adds the level's parameters, terms and security.
    pub(super) fn add(&self, certificate: &mut FailureCertificate) -> Result<()> {
        let n = self.lwe.n();
        let sigma = decimal(certificate.scheme, MODULE_SIGMA)?;
        let dropped = LOG2_Q - self.budget.query_bits;

        for (name, value) in [
            ("columns", self.columns),
            ("rows", self.rows),
            ("message bits", self.level.message_bits as usize),
            ("query bits dropped", dropped as usize),
            ("n", n),
        ] {
            certificate.parameter(name, value);
        }
        certificate.parameter("sigma", &sigma);

        // Centred words are at most half the plaintext modulus.
        let word = Rational::power_of_two(self.level.message_bits as i32 - 1);
        let word = word / Rational::power_of_two(LOG2_UNIT as i32);
        let entry = certificate.term(
            "selector entry",
            TermKind::Variance,
            SOURCE,
            sigma.squared() + rounding_square(dropped),
        );
        let selection = certificate.term(
            "selection",
            TermKind::Variance,
            SOURCE,
            word.squared() * self.columns * entry,
        );
        // Rounding of the hint, and the spill of the slot below: n/48 each.
        let compression = certificate.term(
            "compression",
            TermKind::Variance,
            SOURCE,
            Rational::from(n) / 24u32,
        );
        certificate.term(
            "variance",
            TermKind::Variance,
            SOURCE,
            selection + compression,
        );

        certificate.term("coefficients", TermKind::Count, SOURCE, self.rows);
        certificate.term("exact", TermKind::Threshold, SOURCE, Rational::new(101, 50));
        let bound = u32::from(self.budget.bound);
        certificate.term("accepted", TermKind::Accepted, SOURCE, bound);
        certificate.float_term(
            "allowed",
            TermKind::Bits,
            SOURCE,
            -self.level.tail_log2(self.failure),
        )?;

        let set = security_set(
            certificate.scheme,
            n,
            &Rational::power_of_two(LOG2_Q as i32),
            &sigma,
            self.lwe.secret(),
            self.lwe.security(),
        )?;
        certificate.security.push(set);
        Ok(())
    }
}
