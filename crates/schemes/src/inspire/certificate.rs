//! Certificate of InsPIRe: Theorems 9 and 10, term by term.

use papir_core::certificate::{FailureCertificate, Rational, TermKind};
use papir_core::{Description, Result};
use papir_lattice::security::{Row, Secret};

use super::layout::{Layout, PLAINTEXT};
use super::literal::{Literal, NAME};
use super::noise::squared_sums;
use crate::shared::certificate::{ExactRing, GadgetTerms, variance_term, words_term};

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

    ring.add_parameters(&mut certificate);
    add_parameters(&mut certificate, literal, layout);
    add_variance(&mut certificate, &ring, literal, layout)?;
    add_threshold(&mut certificate, &ring, literal, layout);
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

/// Adds the parameters besides those of the ring and the gadgets.
fn add_parameters(certificate: &mut FailureCertificate, literal: &Literal, layout: &Layout) {
    let (mask_bits, body_bits) = literal.answer_bits;

    certificate.parameter("points", layout.points);
    certificate.parameter("chunks", layout.chunks);
    certificate.parameter("columns", layout.columns);
    certificate.parameter("plaintext", PLAINTEXT);
    certificate.parameter("query bits", literal.query_bits);
    certificate.parameter("mask bits", mask_bits);
    certificate.parameter("body bits", body_bits);
    certificate.parameter("reserved", u32::from(literal.reserved));
}

/// Adds the variance of an answer's errors, part by part.
fn add_variance(
    certificate: &mut FailureCertificate,
    ring: &ExactRing,
    literal: &Literal,
    layout: &Layout,
) -> Result<()> {
    let (mask_bits, body_bits) = literal.answer_bits;
    let pack_gadget = GadgetTerms::new(certificate, ring, "pack", literal.key_switch);
    let under_y_g = pack_gadget.key_switch(certificate, "y_g", literal.key_bits.y_g);
    let under_y_h = pack_gadget.key_switch(certificate, "y_h", literal.key_bits.y_h);
    let rgsw_gadget = GadgetTerms::new(certificate, ring, "rgsw", literal.rgsw);
    let product = rgsw_gadget.external_product(certificate, "point", literal.key_bits.rgsw);

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

    let packing = (under_y_g * (layout.degree - 2) + under_y_h) * layout.points;
    let response = ring.response_switch(mask_bits, body_bits);
    let parts = [
        ("selection", SOURCE, squares * entry),
        ("packing", SOURCE, packing),
        ("evaluation", SOURCE, product * (layout.points - 1)),
        ("response", SWITCH, response),
    ];
    variance_term(certificate, SOURCE, parts);
    Ok(())
}

/// Adds the largest error that decodes, less the rounding of the scale.
fn add_threshold(
    certificate: &mut FailureCertificate,
    ring: &ExactRing,
    literal: &Literal,
    layout: &Layout,
) {
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
}
