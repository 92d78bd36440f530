//! Changes of records, and what they cost.

use super::parameters::Parameters;
use crate::cost::Counts;
use crate::{Change, Error, Result, Shape};

/// Predicted cost of an update. It is an upper bound: recomputed parts that turn out unchanged are
/// not written.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateEstimate {
    /// The cost of the update.
    pub update: Counts,
    /// The cost of a setup of all records, for comparison; reading their source is not included.
    pub setup: Counts,
}

impl UpdateEstimate {
    /// The estimate of a setup of all records, or of nothing if there are no changes.
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

/// Checks that changes fit a shape.
///
/// # Errors
/// [`Error::IndexOutOfRange`] or [`Error::Length`].
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
