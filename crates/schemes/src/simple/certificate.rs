//! Certificate of SimplePIR.

use papir_core::certificate::FailureCertificate;
use papir_core::{Description, Result};
use papir_lattice::lwe32::LweParams;

use super::noise::{Budget, LOG2_DELTA, TAIL_LOG2};
use crate::shared::byte_matrix::Layout;
use crate::shared::certificate::LevelTerms;

/// Returns the certificate of SimplePIR: one level, whose query and hint are not rounded.
pub(super) fn of(
    description: &Description,
    layout: &Layout,
    budget: &Budget,
    lwe: &LweParams,
) -> Result<FailureCertificate> {
    let mut certificate = FailureCertificate::new(description)?;

    let level = LevelTerms {
        name: "answer",
        source: "schemes/src/simple/noise.rs",
        log2_delta: LOG2_DELTA,
        columns: layout.columns,
        coefficients: layout.rows,
        dropped_bits: [0, 0, budget.dropped_bits],
        accepted: budget.bound,
        tail_log2: TAIL_LOG2,
    };
    level.add(&mut certificate, lwe, description.failure_bound)?;

    Ok(certificate)
}
