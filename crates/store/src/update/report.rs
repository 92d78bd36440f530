//! Reports of updates.

use std::fmt;

use papir_checkpoint::Leaf;
use papir_core::{Description, Version};
use papir_lookup::update::{ChangeCounts, RebuildReason};
use papir_schemes::default_scheme::{ClientsMaySee, shown_by_reference};

use crate::delta::DeltaMetadata;
use crate::snapshot::Metadata;

/// Result of an update.
#[derive(Clone, Debug)]
pub struct UpdateReport {
    /// The snapshot's metadata.
    pub metadata: Metadata,
    /// The scheme's sizes, security and parameters.
    pub description: Description,
    /// Counts of the changes; records without keys count as keys.
    pub counts: ChangeCounts,
    /// The way in which the new snapshot was made.
    pub way: Way,
    /// The snapshot's length in bytes.
    pub snapshot_bytes: u64,
    /// The leaf of a signed version; `None` without a signature, or if nothing changed.
    pub checkpoint: Option<Leaf>,
}

impl UpdateReport {
    /// Says in words which records each client now sees, if their owner allowed fewer when the
    /// scheme was chosen. Updates keep the scheme, also of a database that outgrows it.
    pub fn shows_too_much(&self) -> Option<String> {
        let allowed = self.metadata.clients_may_see.as_ref()?;
        // A later version of papir may have more values.
        let allowed: ClientsMaySee = allowed.parse().ok()?;
        let description = &self.description;

        let most = shown_by_reference(description.shape.record_bytes() as u64);
        if allowed.allows(description, most) {
            return None;
        }
        Some(format!(
            "more of the records than `{allowed}` allows: build the database again, which chooses \
             another scheme for it than {}",
            description.scheme
        ))
    }
}

/// Result of an update of a delta.
#[derive(Clone, Debug)]
pub struct DeltaReport {
    /// The delta's metadata.
    pub metadata: DeltaMetadata,
    /// Rows of the file of changes.
    pub rows: u64,
    /// Rows that replace an earlier change of the same key since the base, in the file or the
    /// delta.
    pub superseded: u64,
    /// Bytes of all changes since the base: values, tags and lengths.
    pub bytes: u64,
    /// The most bytes that they may have.
    pub most: u64,
    /// The leaf of a signed version.
    pub checkpoint: Option<Leaf>,
}

/// Predicted times in seconds, from the rates in [`super::UpdateOptions::rates`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Time of the scheme's update.
    pub update: f64,
    /// Time of a setup of all records.
    pub setup: f64,
}

impl Prediction {
    /// Returns whether the update takes no longer than a setup.
    pub fn favours_update(&self) -> bool {
        self.update <= self.setup
    }
}

/// The way in which a new snapshot was made.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// Nothing changed, and no file was written.
    Unchanged,
    /// By the scheme's update of some records.
    Updated {
        /// Number of changed records.
        changed: u64,
        /// Number of all records.
        records: u64,
        /// The predicted times.
        predicted: Prediction,
    },
    /// By a setup of all records under the same parameters.
    SetUp {
        /// Number of changed records.
        changed: u64,
        /// Number of all records.
        records: u64,
        /// The predicted times.
        predicted: Prediction,
    },
    /// By a setup of all records of a verifiable database under the same parameters: one change
    /// changes the proofs of all records.
    Proven {
        /// Number of changed records.
        changed: u64,
        /// Number of all records.
        records: u64,
    },
    /// By a setup of more records than before.
    Extended {
        /// Number of records before.
        before: u64,
        /// Number of records now.
        records: u64,
    },
    /// By a setup of the records of an earlier version.
    RolledBack {
        /// The earlier version.
        to: Version,
    },
    /// By building the keyword table and preparing all records again.
    Rebuilt {
        /// The reason; `None` if it was requested.
        reason: Option<RebuildReason>,
        /// Number of records before.
        before: u64,
        /// Number of records now.
        records: u64,
        /// Free room for later keys, in per cent; 0 if there are no keys.
        room: u32,
    },
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchanged => f.write_str("nothing to change: the file stays unchanged"),
            Self::Updated {
                changed,
                records,
                predicted: Prediction { update, setup },
            } => write!(
                f,
                "updated {changed} of {records} records: {update:.2} s against {setup:.2} s for a setup (predicted)"
            ),
            Self::SetUp {
                changed,
                records,
                predicted: Prediction { update, setup },
            } => write!(
                f,
                "prepared all {records} records again: {setup:.2} s against {update:.2} s for an update of {changed} \
                 (predicted)"
            ),
            Self::Proven { changed, records } => write!(
                f,
                "prepared all {records} records again: {changed} changed, which changes every proof"
            ),
            Self::Extended { before, records } => {
                write!(f, "prepared all records again: {before} become {records}")
            }
            Self::RolledBack { to } => {
                write!(
                    f,
                    "prepared the records of version {to} again, as a new version"
                )
            }
            Self::Rebuilt {
                reason,
                before,
                records,
                room,
            } => {
                f.write_str("rebuilt: ")?;
                match reason {
                    Some(reason) => write!(f, "{reason}")?,
                    None => f.write_str("as requested")?,
                }

                write!(f, "; {before} records become {records}")?;
                if *room > 0 {
                    write!(f, ", with {room} % free room for later keys")
                } else {
                    Ok(())
                }
            }
        }
    }
}
