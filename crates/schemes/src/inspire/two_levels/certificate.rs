//! Certificate of InsPIRe⁽²⁾: Theorems 7 and 8, term by term.

use papir_core::certificate::{FailureCertificate, Rational, TermKind};
use papir_core::{Description, Result};
use papir_lattice::security::{Row, Secret};

use super::layout::Layout;
use super::literal::{Literal, NAME};
use super::noise::{NoiseInput, WORD_BITS};
use crate::shared::certificate::{ExactRing, GadgetTerms, words_term};

/// Source of the sums of variances.
const SOURCE: &str = "InsPIRe, Theorems 7 and 8";
/// Source of the bounds on the squares of words.
const SQUARES: &str = "schemes/src/inspire/two_levels/noise.rs, squares";
/// Names of both levels.
const LEVELS: [&str; 2] = ["first", "second"];
/// Names of the three packings.
const PACKINGS: [&str; 3] = ["packing 0", "packing 1", "packing 2"];

/// Returns the certificate of InsPIRe⁽²⁾.
pub(super) fn of(
    description: &Description,
    literal: &Literal,
    layout: &Layout,
    row: Option<&'static Row>,
) -> Result<FailureCertificate> {
    let mut certificate = FailureCertificate::new(description)?;
    let ring = ExactRing::new(NAME, &literal.rlwe, Secret::ErrorLike)?;
    let input = NoiseInput::new(literal, layout);
    let switches = [literal.first_bits(), literal.answer];
    let plain_bits = [WORD_BITS, literal.mask.bits];

    ring.add_parameters(&mut certificate);
    for (i, gamma) in literal.gammas.into_iter().enumerate() {
        certificate.parameter(format!("gamma {i}"), gamma);
    }
    certificate.parameter("mask digits", literal.mask.count);
    certificate.parameter("body digits", literal.body.count);
    for (level, name) in LEVELS.into_iter().enumerate() {
        let columns = [layout.columns, layout.blocks][level];
        certificate.parameter(format!("{name} columns"), columns);
        certificate.parameter(format!("{name} plain bits"), plain_bits[level]);
        certificate.parameter(format!("{name} query bits"), literal.query_bits[level]);
        certificate.parameter(format!("{name} mask bits"), switches[level].a);
        certificate.parameter(format!("{name} body bits"), switches[level].b);
    }

    let gadget = GadgetTerms::new(&mut certificate, &ring, "pack", literal.gadget);
    let switch = gadget.key_switch(&mut certificate, "key", literal.key_bits);
    let mut packings = Vec::new();
    for (name, gamma) in PACKINGS.into_iter().zip(literal.gammas) {
        let packing = &switch * (gamma - 1);
        packings.push(certificate.term(name, TermKind::Variance, SOURCE, packing));
    }
    // The bound counts the larger of the second and the third packing.
    let larger = if literal.gammas[1] >= literal.gammas[2] {
        1
    } else {
        2
    };

    for (level, name) in LEVELS.into_iter().enumerate() {
        let squares = certificate.float_term(
            format!("{name} squares"),
            TermKind::Squares,
            SQUARES,
            input.squares(level),
        )?;
        let selection = certificate.term(
            format!("{name} selection"),
            TermKind::Variance,
            SOURCE,
            squares * ring.rounded_error(literal.query_bits[level]),
        );
        let response = certificate.term(
            format!("{name} response"),
            TermKind::Variance,
            SOURCE,
            ring.response_switch(switches[level].a, switches[level].b),
        );
        let packing = &packings[[0, larger][level]];
        certificate.term(
            format!("{name} variance"),
            TermKind::Variance,
            SOURCE,
            selection + packing + response,
        );

        let limit = ring.step(plain_bits[level] + 1) * 9u32 / 10u32;
        let rounded_scale = 1u32 << plain_bits[level];
        certificate.term(
            format!("{name} threshold"),
            TermKind::Threshold,
            SOURCE,
            limit.less(Rational::from(rounded_scale) / 4u32),
        );
        certificate.term(
            format!("{name} coefficients"),
            TermKind::Count,
            SOURCE,
            input.coefficients()[level] as u64,
        );
    }

    words_term(&mut certificate, literal.failure)?;
    ring.add_security(&mut certificate, row)?;
    Ok(certificate)
}
