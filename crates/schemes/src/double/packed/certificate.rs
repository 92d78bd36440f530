//! Certificate of a packed DoublePIR.

use papir_core::certificate::FailureCertificate;
use papir_core::{Description, Result};
use papir_lattice::lwe32::{LOG2_Q, LweParams};

use super::literal::Literal;
use crate::double::certificate::add_first;
use crate::shared::byte_matrix::Layout;
use crate::shared::selection::{PackedVariant, SelectionParams};

/// Returns the certificate: the first level of DoublePIR, and a packed selection of its digits.
pub(super) fn of<V: PackedVariant>(
    description: &Description,
    literal: &Literal,
    layout: &Layout,
    lwe: &LweParams,
    first_bound: u32,
    selection: &SelectionParams<V>,
) -> Result<FailureCertificate> {
    let mut certificate = FailureCertificate::new(description)?;
    let digits = literal.digits;

    let dropped_bits = [
        LOG2_Q - literal.first_bits,
        digits.of_mask().dropped_bits(),
        digits.of_body().dropped_bits(),
    ];
    add_first(
        &mut certificate,
        lwe,
        layout,
        dropped_bits,
        first_bound,
        literal.failure,
    )?;
    selection.certify(&mut certificate)?;

    Ok(certificate)
}
