//! What an update did, and why that way.

use std::fmt;

use papir_core::Description;
use papir_lookup::update::{ChangeCounts, RebuildReason};

use crate::metadata::Metadata;

/// What an update gave.
#[derive(Clone, Debug)]
pub struct UpdateReport {
    /// What the snapshot says of itself.
    pub metadata: Metadata,
    /// The scheme's sizes, security and parameters.
    pub description: Description,
    /// What the rows of changes did; records that are looked up by index count as keys.
    pub counts: ChangeCounts,
    /// How the new snapshot came to be.
    pub way: Way,
    /// The snapshot's length in bytes.
    pub snapshot_bytes: u64,
}

/// Predicted times in seconds, by the rates of [`super::UpdateOptions::rates`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Of the scheme's update.
    pub update: f64,
    /// Of a setup of all records.
    pub setup: f64,
}

impl Prediction {
    /// Whether the update takes no longer than a setup.
    pub fn favours_update(&self) -> bool {
        self.update <= self.setup
    }
}

/// How a new snapshot came to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// Nothing changes: no file was written.
    Unchanged,
    /// The scheme's update, for some of its records.
    Updated {
        /// Records that changed.
        changed: u64,
        /// All records.
        records: u64,
        /// Why.
        predicted: Prediction,
    },
    /// A setup of the changed records under the same parameters.
    SetUp {
        /// Records that changed.
        changed: u64,
        /// All records.
        records: u64,
        /// Why.
        predicted: Prediction,
    },
    /// A setup of all records of a verifiable database under the same parameters.
    Proven {
        /// Records that changed.
        changed: u64,
        /// All records.
        records: u64,
    },
    /// A setup of records that are more than before.
    Extended {
        /// Records before.
        before: u64,
        /// Records now.
        records: u64,
    },
    /// Everything was arranged and prepared again.
    Rebuilt {
        /// Why; `None` where that was asked for.
        reason: Option<RebuildReason>,
        /// Records before.
        before: u64,
        /// Records now.
        records: u64,
        /// Room for later keys, in per cent; 0 where there are no keys.
        room: u32,
    },
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchanged => f.write_str("nothing to change: the file stays as it is"),
            Self::Updated { changed, records, predicted: Prediction { update, setup } } => write!(
                f,
                "updated {changed} of {records} records: {update:.2} s against {setup:.2} s for a setup (predicted)"
            ),
            Self::SetUp { changed, records, predicted: Prediction { update, setup } } => write!(
                f,
                "prepared all {records} records again: {setup:.2} s against {update:.2} s for an update of {changed} \
                 (predicted)"
            ),
            Self::Proven { changed, records } => write!(
                f,
                "prepared all {records} records again: {changed} changed, and with one the proofs of all"
            ),
            Self::Extended { before, records } => {
                write!(f, "prepared all records again: {before} become {records}")
            }
            Self::Rebuilt { reason, before, records, room } => {
                f.write_str("rebuilt: ")?;
                match reason {
                    Some(reason) => write!(f, "{reason}")?,
                    None => f.write_str("as asked")?,
                }
                write!(f, "; {before} records become {records}")?;
                if *room > 0 { write!(f, ", with {room} % of room for later keys") } else { Ok(()) }
            }
        }
    }
}
