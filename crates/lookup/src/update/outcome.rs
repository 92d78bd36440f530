//! Input and outcome of an update.

use papir_core::{Change, Records};

use crate::ids::KeyIds;
use crate::layout::KeywordLayout;
use crate::table::TableReport;

/// A keyword table with the ids that its owner keeps.
#[derive(Clone, Copy)]
pub struct OwnedTable<'a> {
    /// The table's layout.
    pub layout: &'a KeywordLayout,
    /// The ids of the table's keys.
    pub ids: &'a KeyIds,
    /// The table's buckets.
    pub records: &'a dyn Records,
}

/// The outcome of a patch.
#[derive(Clone, Debug)]
pub enum Patched {
    /// Some records change, and all others stay the same.
    Patch(Patch),
    /// The changes do not fit, so that all keys must be arranged again.
    Rebuild(RebuildReason),
}

/// The outcome of a step of a patch.
pub(super) enum PatchStep<T> {
    Done(T),
    /// The changes do not fit.
    Rebuild(RebuildReason),
}

/// The difference between a table and its successor.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The records that differ, ascending.
    pub changes: Vec<Change>,
    /// The new layout; equal to the old one if no keys moved.
    pub layout: KeywordLayout,
    /// The ids of all keys after the changes.
    pub ids: KeyIds,
    /// Number of pilots whose keys were placed again.
    pub moved: u64,
    /// Growth of all values together, in bytes; negative if they shrank.
    pub(super) value_bytes: i128,
}

impl Patch {
    /// The sizes of the new table, computed from [`TableReport::tagged_bytes`] and
    /// [`TableReport::entries`] of the old table's report.
    pub fn report(&self, before_tagged: u64, before_entries: u64) -> TableReport {
        let before = i128::from(before_tagged)
            - i128::from(self.layout.tag_bytes()) * i128::from(before_entries);
        let values = u64::try_from(before + self.value_bytes).unwrap_or_default();
        TableReport::new(self.ids.len() as u64, values, &self.layout)
    }
}

/// The reason why changes do not fit a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildReason {
    /// A bucket is full, and no other arrangement of its pilot's keys was found.
    #[error("the bucket of the key on line {line} is full")]
    Full {
        /// The line of the change.
        line: u64,
    },
    /// A value is longer than the entries' format supports.
    #[error("the value on line {line} has {found} bytes, which the table's entries cannot hold")]
    Length {
        /// The line of the change.
        line: u64,
        /// The value's length in bytes.
        found: u64,
    },
    /// Two entries of a bucket would have the same tag.
    #[error("the key on line {line} has the tag of another key in its bucket")]
    Tag {
        /// The line of the change.
        line: u64,
    },
}
