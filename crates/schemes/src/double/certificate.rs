//! Certificate of DoublePIR, and the terms of its first level.

use papir_core::certificate::FailureCertificate;
use papir_core::{Description, FailureBound, Result};
use papir_lattice::lwe32::{LOG2_Q, LweParams};

use super::levels::{BODY, MASK, coefficients};
use super::noise::{Bits, Bounds, FIRST, SECOND, TAIL_LOG2};
use crate::shared::byte_matrix::Layout;
use crate::shared::certificate::LevelTerms;

/// Source of the terms of a level.
const SOURCE: &str = "schemes/src/double/noise.rs";

/// Adds the first level of DoublePIR, whose words are bytes.
pub(crate) fn add_first(
    certificate: &mut FailureCertificate,
    lwe: &LweParams,
    layout: &Layout,
    dropped_bits: [u32; 3],
    accepted: u32,
    failure: FailureBound,
) -> Result<()> {
    let level = LevelTerms {
        name: "first",
        source: SOURCE,
        log2_delta: FIRST.log2_delta,
        columns: layout.columns,
        coefficients: layout.unit_layout.unit_bytes,
        dropped_bits,
        accepted,
        tail_log2: TAIL_LOG2,
    };
    level.add(certificate, lwe, failure)
}

/// Returns the certificate of DoublePIR.
pub(super) fn of(
    description: &Description,
    layout: &Layout,
    bits: &Bits,
    bounds: &Bounds,
    lwe: &LweParams,
) -> Result<FailureCertificate> {
    let mut certificate = FailureCertificate::new(description)?;
    let failure = description.failure_bound;

    let of_first = [
        LOG2_Q - bits.first,
        MASK.dropped_bits(),
        BODY.dropped_bits(),
    ];
    add_first(
        &mut certificate,
        lwe,
        layout,
        of_first,
        bounds.first,
        failure,
    )?;

    let second = LevelTerms {
        name: "second",
        source: SOURCE,
        log2_delta: SECOND.log2_delta,
        columns: layout.units,
        coefficients: coefficients(layout),
        dropped_bits: [LOG2_Q - bits.second, LOG2_Q - bits.mask, LOG2_Q - bits.body],
        accepted: bounds.second,
        tail_log2: TAIL_LOG2,
    };
    second.add(&mut certificate, lwe, failure)?;

    Ok(certificate)
}
