//! Preparation of a database, with proofs if it is verifiable.

use papir_core::erased::ErasedServer;
use papir_core::{Progress, Records};
use papir_lookup::{Commitment, ProvenRecords};

use crate::error::Result;

/// Prepares records. If `verifiable`, adds a proof to each record and returns the commitment.
pub(crate) fn prove(
    verifiable: bool,
    records: &dyn Records,
    progress: &dyn Progress,
    prepare: impl FnOnce(&dyn Records) -> Result<Box<dyn ErasedServer>>,
) -> Result<(Box<dyn ErasedServer>, Option<Commitment>)> {
    if !verifiable {
        return Ok((prepare(records)?, None));
    }

    progress.stage("committing", 1);
    let proven = ProvenRecords::new(records)?;
    progress.advance(1);
    Ok((prepare(&proven)?, Some(proven.commitment())))
}
