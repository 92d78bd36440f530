//! Options and reports of pushes and pulls.

use std::time::Duration;

use papir_checkpoint::VerifyingKey;

use super::manifest::{Manifest, PART_BYTES};

/// Minimum age of the parts that pruning removes. A younger part may belong to a push in progress.
pub const GRACE: Duration = Duration::from_secs(24 * 3600);

/// Options of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushOptions {
    /// Length of a part in bytes, 4 KiB to 64 MiB. Four parts are held in memory at a time.
    pub part_bytes: u64,
    /// Minimum age of the parts to remove after the push; `None` keeps all parts. Parts of this
    /// snapshot, and of the one that it replaces, stay: readers may still be fetching them.
    pub prune: Option<Duration>,
}

impl Default for PushOptions {
    /// Parts of 16 MiB, without pruning.
    fn default() -> Self {
        Self {
            part_bytes: PART_BYTES,
            prune: None,
        }
    }
}

impl PushOptions {
    /// The defaults, but parts older than [`GRACE`] are removed.
    pub fn pruning() -> Self {
        Self {
            prune: Some(GRACE),
            ..Self::default()
        }
    }
}

/// Options of a pull.
#[derive(Clone, Debug, Default)]
pub struct PullOptions {
    /// The key of the database's owner. The snapshot's log must be signed under it, and state the
    /// snapshot. `None` trusts the object store.
    pub owner: Option<VerifyingKey>,
    /// The database's name, which the snapshot's log must state under an owner's key. `None` takes
    /// the stem of the location's name.
    pub name: Option<String>,
    /// Replaces a file that papir did not write.
    pub force: bool,
}

/// Result of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushReport {
    /// The manifest that is now in the store.
    pub manifest: Manifest,
    /// Number of parts uploaded; the store already had the others.
    pub uploaded_parts: usize,
    /// Bytes uploaded.
    pub uploaded_bytes: u64,
    /// Number of parts of older snapshots that were removed.
    pub removed_parts: usize,
}

/// Result of a pull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullReport {
    /// The manifest of the snapshot that the file now holds.
    pub manifest: Manifest,
    /// Set if the file was replaced.
    pub changed: bool,
    /// Number of parts fetched; the others came from the previous file or an interrupted download.
    pub fetched_parts: usize,
    /// Bytes fetched.
    pub fetched_bytes: u64,
}
