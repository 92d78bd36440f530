//! Certificate of a packed SimplePIR.

use papir_core::certificate::FailureCertificate;
use papir_core::{Description, Result};

use crate::shared::certificate::words_term;
use crate::shared::selection::{PackedVariant, SelectionParams};

/// Returns the certificate: a packed selection of whitened words.
pub(super) fn of<V: PackedVariant>(
    description: &Description,
    selection: &SelectionParams<V>,
) -> Result<FailureCertificate> {
    let mut certificate = FailureCertificate::new(description)?;

    selection.certify(&mut certificate)?;
    words_term(&mut certificate, description.failure_bound)?;

    Ok(certificate)
}
