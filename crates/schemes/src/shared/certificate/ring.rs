//! Exact terms of a ring and of its gadgets.
//!
//! The formulas are those of [`papir_lattice::noise`], in rationals instead of floats.

use papir_core::Result;
use papir_core::certificate::{FailureCertificate, Rational, TermKind};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::params::Literal as RlweLiteral;
use papir_lattice::security::{Row, Secret};

use super::numbers::{decimal, rounding, security_set};

/// Source of the noise of gadgets and of key switches.
const KEY_SWITCH: &str = "InsPIRe, Theorem 2 and appendix G.1";
/// Source of the noise of external products.
const EXTERNAL_PRODUCT: &str = "InsPIRe, Lemma 2 and appendix G.1";

/// A ring with exact parameters.
pub(crate) struct ExactRing {
    pub(crate) degree: usize,
    /// q.
    pub(crate) modulus: Rational,
    /// Standard deviation of errors.
    pub(crate) sigma: Rational,
    pub(crate) secret: Secret,
}

impl ExactRing {
    /// Creates the ring of a scheme.
    pub(crate) fn new(scheme: &'static str, literal: &RlweLiteral, secret: Secret) -> Result<Self> {
        let [first, second] = literal.primes;
        Ok(Self {
            degree: literal.degree,
            modulus: Rational::from(first) * second,
            sigma: decimal(scheme, literal.sigma)?,
            secret,
        })
    }

    /// Adds d, q and σ.
    pub(crate) fn add_parameters(&self, certificate: &mut FailureCertificate) {
        certificate.parameter("degree", self.degree);
        certificate.parameter("q", &self.modulus);
        certificate.parameter("sigma", &self.sigma);
    }

    /// Adds the security that `row` states, if there is one.
    pub(crate) fn add_security(
        &self,
        certificate: &mut FailureCertificate,
        row: Option<&'static Row>,
    ) -> Result<()> {
        let Some(row) = row else {
            return Ok(());
        };

        let set = security_set(
            certificate.scheme,
            self.degree,
            &self.modulus,
            &self.sigma,
            self.secret,
            row,
        )?;
        certificate.security.push(set);
        Ok(())
    }

    /// Returns the mean square of a secret's coefficient.
    pub(crate) fn secret_square(&self) -> Rational {
        match self.secret {
            Secret::ErrorLike => self.sigma.squared(),
            Secret::Ternary => Rational::new(2, 3),
            Secret::Binary => Rational::new(1, 2),
        }
    }

    /// Returns the step of rounding to `bits` bits.
    pub(crate) fn step(&self, bits: u32) -> Rational {
        &self.modulus / Rational::power_of_two(bits as i32)
    }

    /// Returns the variance of an error, and of rounding its body to `bits` bits.
    pub(crate) fn rounded_error(&self, bits: u32) -> Rational {
        self.sigma.squared() + rounding(&self.step(bits))
    }

    /// Returns the variance of switching an answer's mask to `bits` bits.
    pub(crate) fn mask_switch(&self, bits: u32) -> Rational {
        self.secret_square() * self.degree * rounding(&self.step(bits))
    }

    /// Returns the variance of switching an answer to these bits of its mask and body.
    pub(crate) fn response_switch(&self, mask: u32, body: u32) -> Rational {
        self.mask_switch(mask) + rounding(&self.step(body))
    }
}

/// The terms of a gadget.
pub(crate) struct GadgetTerms<'a> {
    ring: &'a ExactRing,
    levels: usize,
    /// Mean square of a digit.
    digit: Rational,
    /// Variance of the part that the gadget drops.
    dropped: Rational,
}

impl<'a> GadgetTerms<'a> {
    /// Adds the gadget's parameters and the terms of its digits.
    pub(crate) fn new(
        certificate: &mut FailureCertificate,
        ring: &'a ExactRing,
        name: &str,
        gadget: GadgetParams,
    ) -> Self {
        certificate.parameter(format!("{name} levels"), gadget.levels);
        certificate.parameter(format!("{name} log2 base"), gadget.log_base);
        certificate.parameter(format!("{name} dropped bits"), gadget.drop);

        let square = Rational::power_of_two(2 * gadget.log_base as i32);
        let digit = (square + 2u32) / 12u32;
        let dropped = rounding(&Rational::power_of_two(gadget.drop as i32));

        Self {
            ring,
            levels: gadget.levels,
            digit: certificate.term(
                format!("{name} digit"),
                TermKind::Variance,
                KEY_SWITCH,
                digit,
            ),
            dropped: certificate.term(
                format!("{name} dropped"),
                TermKind::Variance,
                KEY_SWITCH,
                dropped,
            ),
        }
    }

    /// Adds a key of `bits` bits, its error and the variance of a key switch under it, which it
    /// returns.
    pub(crate) fn key_switch(
        &self,
        certificate: &mut FailureCertificate,
        key: &str,
        bits: u32,
    ) -> Rational {
        let error = self.key_error(certificate, key, bits);
        let switch = self.digits(&error) + self.dropped_mask();
        let name = format!("switch under {key}");
        certificate.term(name, TermKind::Variance, KEY_SWITCH, switch)
    }

    /// Adds a key of `bits` bits, its error and the variance of an external product with it, which
    /// it returns.
    pub(crate) fn external_product(
        &self,
        certificate: &mut FailureCertificate,
        key: &str,
        bits: u32,
    ) -> Rational {
        let error = self.key_error(certificate, key, bits);
        let product = self.digits(&error) * 2u32 + self.dropped_mask() + &self.dropped;
        let name = format!("product with {key}");
        certificate.term(name, TermKind::Variance, EXTERNAL_PRODUCT, product)
    }

    fn key_error(&self, certificate: &mut FailureCertificate, key: &str, bits: u32) -> Rational {
        certificate.parameter(format!("{key} bits"), bits);
        let error = self.ring.rounded_error(bits);
        let name = format!("error of {key}");
        certificate.term(name, TermKind::Variance, KEY_SWITCH, error)
    }

    /// Variance of digits times the errors of one key element.
    fn digits(&self, error: &Rational) -> Rational {
        &self.digit * self.levels * self.ring.degree * error
    }

    /// Variance of the dropped part of a mask times the secret.
    fn dropped_mask(&self) -> Rational {
        self.ring.secret_square() * self.ring.degree * &self.dropped
    }
}
