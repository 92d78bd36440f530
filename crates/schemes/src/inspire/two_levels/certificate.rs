//! Certificate of InsPIRe⁽²⁾: Theorems 7 and 8, term by term.

use papir_core::certificate::{FailureCertificate, Rational, TermKind};
use papir_core::{Description, Result};
use papir_lattice::response::ResponseBits;
use papir_lattice::security::{Row, Secret};

use super::layout::Layout;
use super::literal::{Literal, NAME};
use super::noise::{NoiseInput, WORD_BITS};
use crate::shared::certificate::{ExactRing, GadgetTerms, words_term};

/// Source of the sums of variances.
const SOURCE: &str = "InsPIRe, Theorems 7 and 8";
/// Source of the bounds on the squares of words.
const SQUARES: &str = "schemes/src/inspire/two_levels/noise.rs, squares";

/// A level, whose errors are those of a selection, a packing and a switch.
struct NoisyLevel {
    /// Name of the level, which begins the names of its parameters and terms.
    name: &'static str,
    columns: usize,
    plain_bits: u32,
    query_bits: u32,
    /// Bits to which its encryptions are switched.
    switch: ResponseBits,
    /// Bound on the sum of squares of a row's words.
    squares: f64,
    /// Number of coefficients that must decode.
    coefficients: f64,
}

/// Returns the certificate of InsPIRe⁽²⁾.
pub(super) fn of(
    description: &Description,
    literal: &Literal,
    layout: &Layout,
    row: Option<&'static Row>,
) -> Result<FailureCertificate> {
    let mut certificate = FailureCertificate::new(description)?;
    let ring = ExactRing::new(NAME, &literal.rlwe, Secret::ErrorLike)?;
    let levels = levels(literal, layout);

    ring.add_parameters(&mut certificate);
    for (i, gamma) in literal.gammas.into_iter().enumerate() {
        certificate.parameter(format!("gamma {i}"), gamma);
    }
    certificate.parameter("mask digits", literal.mask.count);
    certificate.parameter("body digits", literal.body.count);
    for level in &levels {
        level.add_parameters(&mut certificate);
    }

    let packings = add_packings(&mut certificate, &ring, literal);
    for (level, packing) in levels.iter().zip(packings) {
        level.add(&mut certificate, &ring, packing)?;
    }

    words_term(&mut certificate, literal.failure)?;
    ring.add_security(&mut certificate, row)?;
    Ok(certificate)
}

/// Returns both levels.
fn levels(literal: &Literal, layout: &Layout) -> [NoisyLevel; 2] {
    let input = NoiseInput::new(literal, layout);
    let coefficients = input.coefficients();
    let [query, second_query] = literal.query_bits;

    let first = NoisyLevel {
        name: "first",
        columns: layout.columns,
        plain_bits: WORD_BITS,
        query_bits: query,
        switch: literal.first_bits(),
        squares: input.squares(0),
        coefficients: coefficients[0],
    };
    let second = NoisyLevel {
        name: "second",
        columns: layout.blocks,
        plain_bits: literal.mask.bits,
        query_bits: second_query,
        switch: literal.answer,
        squares: input.squares(1),
        coefficients: coefficients[1],
    };
    [first, second]
}

/// Adds the variances of the three packings. Returns those of the levels: the second level counts
/// the larger of the second and the third packing.
fn add_packings(
    certificate: &mut FailureCertificate,
    ring: &ExactRing,
    literal: &Literal,
) -> [Rational; 2] {
    let gadget = GadgetTerms::new(certificate, ring, "pack", literal.gadget);
    let switch = gadget.key_switch(certificate, "key", literal.key_bits);
    let packings = [0, 1, 2].map(|i| {
        let packing = &switch * (literal.gammas[i] - 1);
        certificate.term(format!("packing {i}"), TermKind::Variance, SOURCE, packing)
    });

    let [first, second, third] = packings;
    match literal.gammas[1] >= literal.gammas[2] {
        true => [first, second],
        false => [first, third],
    }
}

impl NoisyLevel {
    /// Adds the level's parameters.
    fn add_parameters(&self, certificate: &mut FailureCertificate) {
        let name = self.name;
        certificate.parameter(format!("{name} columns"), self.columns);
        certificate.parameter(format!("{name} plain bits"), self.plain_bits);
        certificate.parameter(format!("{name} query bits"), self.query_bits);
        certificate.parameter(format!("{name} mask bits"), self.switch.a);
        certificate.parameter(format!("{name} body bits"), self.switch.b);
    }

    /// Adds the level's terms. `packing` is the variance of its packing.
    fn add(
        &self,
        certificate: &mut FailureCertificate,
        ring: &ExactRing,
        packing: Rational,
    ) -> Result<()> {
        let name = self.name;
        let squares = certificate.float_term(
            format!("{name} squares"),
            TermKind::Squares,
            SQUARES,
            self.squares,
        )?;
        let selection = certificate.term(
            format!("{name} selection"),
            TermKind::Variance,
            SOURCE,
            squares * ring.rounded_error(self.query_bits),
        );
        let response = certificate.term(
            format!("{name} response"),
            TermKind::Variance,
            SOURCE,
            ring.response_switch(self.switch.a, self.switch.b),
        );
        certificate.term(
            format!("{name} variance"),
            TermKind::Variance,
            SOURCE,
            selection + packing + response,
        );

        let limit = ring.step(self.plain_bits + 1) * 9u32 / 10u32;
        let rounded_scale = Rational::from(1u32 << self.plain_bits) / 4u32;
        certificate.term(
            format!("{name} threshold"),
            TermKind::Threshold,
            SOURCE,
            limit.less(rounded_scale),
        );
        certificate.term(
            format!("{name} coefficients"),
            TermKind::Count,
            SOURCE,
            self.coefficients as u64,
        );
        Ok(())
    }
}
