//! Checks and cost estimates of changed records.

use super::parameters::Parameters;
use crate::cost::Counts;
use crate::{Change, Error, Result, Shape};

/// Predicted cost of an update: an upper bound, because recomputed parts that turn out unchanged
/// are not written.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateEstimate {
    /// The cost of the update.
    pub update: Counts,
    /// The cost of a new setup of all records, for comparison. It does not include reading their
    /// source.
    pub setup: Counts,
}

impl UpdateEstimate {
    /// The estimate for a scheme whose updates prepare all records again. Without changes, the
    /// update costs nothing.
    pub(super) fn of_setup(params: &impl Parameters, changes: &[Change]) -> Result<Self> {
        check_changes(&params.shape(), changes)?;

        let setup = params.describe().work.setup;
        let update = if changes.is_empty() {
            Counts::new()
        } else {
            setup.clone()
        };
        Ok(Self { update, setup })
    }
}

/// Checks that changes have valid indices and records of the right length.
///
/// # Errors
/// [`Error::IndexOutOfRange`] for an index beyond the last record, [`Error::Length`] for a record
/// of another length.
pub fn check_changes(shape: &Shape, changes: &[Change]) -> Result<()> {
    // All before any is applied: a version has all changes or none.
    changes.iter().try_for_each(|change| {
        shape.check_index(change.index)?;
        Error::check_length(
            "a changed record",
            change.record.len(),
            shape.record_bytes(),
        )
    })
}
