//! Certificate of InsPIRe: Theorems 9 and 10, term by term.

use papir_core::certificate::{FailureCertificate, Rational, TermKind};
use papir_core::{Description, Result};
use papir_lattice::security::{Row, Secret};

use super::layout::{Layout, PLAINTEXT};
use super::literal::{Literal, NAME};
use super::noise::squared_sums;
use crate::shared::certificate::{ExactRing, GadgetTerms, words_term};

/// Source of the sums of variances.
const SOURCE: &str = "InsPIRe, Theorems 9 and 10";
/// Source of the bound on the squares of words.
const SQUARES: &str = "schemes/src/inspire/noise.rs, squared_sums";
/// Source of the noise of switching the answer.
const SWITCH: &str = "InsPIRe, Lemma 9";

/// Returns the certificate of InsPIRe.
pub(super) fn of(
    description: &Description,
    literal: &Literal,
    layout: &Layout,
    row: Option<&'static Row>,
) -> Result<FailureCertificate> {
    let mut certificate = FailureCertificate::new(description)?;
    let ring = ExactRing::new(NAME, &literal.rlwe, Secret::ErrorLike)?;
    let (mask_bits, body_bits) = literal.answer_bits;

    ring.add_parameters(&mut certificate);
    certificate.parameter("points", layout.points);
    certificate.parameter("chunks", layout.chunks);
    certificate.parameter("columns", layout.columns);
    certificate.parameter("plaintext", PLAINTEXT);
    certificate.parameter("query bits", literal.query_bits);
    certificate.parameter("mask bits", mask_bits);
    certificate.parameter("body bits", body_bits);
    certificate.parameter("reserved", u32::from(literal.reserved));

    let pack_gadget = GadgetTerms::new(&mut certificate, &ring, "pack", literal.key_switch);
    let under_y_g = pack_gadget.key_switch(&mut certificate, "y_g", literal.key_bits.y_g);
    let under_y_h = pack_gadget.key_switch(&mut certificate, "y_h", literal.key_bits.y_h);
    let rgsw_gadget = GadgetTerms::new(&mut certificate, &ring, "rgsw", literal.rgsw);
    let product = rgsw_gadget.external_product(&mut certificate, "point", literal.key_bits.rgsw);

    let squares = certificate.float_term(
        "squares",
        TermKind::Squares,
        SQUARES,
        squared_sums(layout, literal.failure),
    )?;
    let entry = certificate.term(
        "selector entry",
        TermKind::Variance,
        SOURCE,
        ring.rounded_error(literal.query_bits),
    );

    let parts = [
        ("selection", SOURCE, squares * entry),
        (
            "packing",
            SOURCE,
            (under_y_g * (layout.degree - 2) + under_y_h) * layout.points,
        ),
        ("evaluation", SOURCE, product * (layout.points - 1)),
        (
            "response",
            SWITCH,
            ring.response_switch(mask_bits, body_bits),
        ),
    ];
    let mut variance = Rational::from(0u32);
    for (name, source, value) in parts {
        variance = variance + certificate.term(name, TermKind::Variance, source, value);
    }
    certificate.term("variance", TermKind::Variance, SOURCE, variance);

    let fill = if literal.reserved {
        Rational::new(31, 32)
    } else {
        Rational::from(1u32)
    };
    let limit = fill * &ring.modulus / (2 * PLAINTEXT);
    let rounded_scale = Rational::from(layout.points) * PLAINTEXT / 4u32;
    certificate.term(
        "threshold",
        TermKind::Threshold,
        SOURCE,
        limit.less(rounded_scale),
    );
    certificate.term(
        "coefficients",
        TermKind::Count,
        SOURCE,
        layout.degree * layout.chunks,
    );

    words_term(&mut certificate, literal.failure)?;
    ring.add_security(&mut certificate, row)?;
    Ok(certificate)
}
