//! Exact terms of one level of encryption modulo 2³².
//!
//! The formulas are those of `double/noise.rs`, with the words of any level.

use papir_core::certificate::{FailureCertificate, Rational, TermKind};
use papir_core::{FailureBound, Result};
use papir_lattice::lwe32::{LOG2_Q, LweParams, N, SIGMA};

use super::numbers::{decimal, rounding_square, security_set};

/// One level: a sum of `columns` words times errors, rounded.
pub(crate) struct LevelTerms<'a> {
    /// Name of the level, which begins the names of its parameters and terms.
    pub(crate) name: &'a str,
    /// File with the derivation.
    pub(crate) source: &'static str,
    /// log₂ of Δ. Words are centred modulo 2³²/Δ.
    pub(crate) log2_delta: u32,
    /// Number of words of a sum.
    pub(crate) columns: usize,
    /// Number of coefficients that must decode.
    pub(crate) coefficients: usize,
    /// Bits dropped from the query's words, the masks' words and the bodies.
    pub(crate) dropped_bits: [u32; 3],
    /// Largest distance from a multiple of Δ that decoding accepts.
    pub(crate) accepted: u32,
    /// log₂ of the probability of a larger distance, by default.
    pub(crate) tail_log2: f64,
}

/// Returns half of a step of `bits` dropped bits, or 0 if none are dropped.
fn half_step(bits: u32) -> Rational {
    if bits == 0 {
        Rational::from(0u32)
    } else {
        Rational::power_of_two(bits as i32 - 1)
    }
}

impl LevelTerms<'_> {
    /// Adds the level's parameters, terms and security.
    pub(crate) fn add(
        &self,
        certificate: &mut FailureCertificate,
        lwe: &LweParams,
        failure: FailureBound,
    ) -> Result<()> {
        let name = self.name;
        let source = self.source;
        let [query, mask, body] = self.dropped_bits;
        let sigma = decimal(certificate.scheme, SIGMA)?;

        for (what, value) in [
            ("log2 delta", self.log2_delta as usize),
            ("columns", self.columns),
            ("coefficients", self.coefficients),
            ("query bits dropped", query as usize),
            ("mask bits dropped", mask as usize),
            ("body bits dropped", body as usize),
            ("n", N),
        ] {
            certificate.parameter(format!("{name} {what}"), value);
        }
        certificate.parameter(format!("{name} sigma"), &sigma);

        let word = Rational::power_of_two((LOG2_Q - self.log2_delta) as i32 - 1);
        let entry = certificate.term(
            format!("{name} selector entry"),
            TermKind::Variance,
            source,
            sigma.squared() + rounding_square(query),
        );
        let errors = certificate.term(
            format!("{name} selection"),
            TermKind::Variance,
            source,
            word.squared() * self.columns * entry,
        );
        let rounded = certificate.term(
            format!("{name} rounded masks"),
            TermKind::Variance,
            source,
            sigma.squared() * N * half_step(mask).squared(),
        );
        certificate.term(
            format!("{name} variance"),
            TermKind::Variance,
            source,
            errors + rounded,
        );

        certificate.term(
            format!("{name} rounded body"),
            TermKind::Threshold,
            source,
            half_step(body),
        );
        certificate.term(
            format!("{name} accepted"),
            TermKind::Accepted,
            source,
            self.accepted,
        );
        certificate.float_term(
            format!("{name} allowed"),
            TermKind::Bits,
            source,
            failure.beyond_default() - self.tail_log2,
        )?;

        let set = security_set(
            certificate.scheme,
            lwe.n(),
            &Rational::power_of_two(LOG2_Q as i32),
            &sigma,
            lwe.secret(),
            lwe.security(),
        )?;
        certificate.security.push(set);
        Ok(())
    }
}
