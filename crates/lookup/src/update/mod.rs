//! Changes of a table whose keys are not at hand: the layout, the ids and the buckets are enough.
//!
//! | step | function |
//! |---|---|
//! | rows → one change a key, and what it does | [`Changes::new`] |
//! | changes → a few changed records | [`patch`] |
//! | changes → all keys arranged again, where they do not fit | [`rebuild`] |
//!
//! A changed value stays in its bucket if it finds room there, and so does a new key. Where it does
//! not, the keys of its pilot are placed again under another one: that changes the buckets of these
//! keys and one pilot, and nothing else.

mod changes;
mod crowded;
mod drawers;
mod patch;
mod rebuild;

use papir_core::Records;

use crate::ids::KeyIds;
use crate::layout::KeywordLayout;
use crate::table::TableReport;

pub use changes::{ChangeCounts, Changes, KeyChange};
pub use patch::patch;
pub use rebuild::rebuild;

/// A table as its owner holds it.
#[derive(Clone, Copy)]
pub struct OwnedTable<'a> {
    /// Its layout.
    pub layout: &'a KeywordLayout,
    /// The ids of its keys.
    pub ids: &'a KeyIds,
    /// Its buckets.
    pub records: &'a dyn Records,
}

/// What becomes of a table with changes.
#[derive(Clone, Debug)]
pub enum Patched {
    /// Some records change, the rest stay.
    Patch(Patch),
    /// All keys have to be arranged again.
    Rebuild(RebuildReason),
}

/// A table that differs from another in some records.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The records that differ, ascending.
    pub changes: Vec<papir_core::Change>,
    /// The new layout; the old one where no keys moved.
    pub layout: KeywordLayout,
    /// The ids of all keys.
    pub ids: KeyIds,
    /// Pilots whose keys were placed again.
    pub moved: u64,
    /// What the table costs now, given the bytes of its values before.
    value_bytes: i128,
}

impl Patch {
    /// What the table costs now; `before` is the report from before the changes.
    pub fn report(&self, before_tagged: u64, before_entries: u64) -> TableReport {
        let before = i128::from(before_tagged) - 8 * i128::from(before_entries);
        let values = u64::try_from(before + self.value_bytes).unwrap_or_default();
        TableReport::new(self.ids.len() as u64, values, &self.layout)
    }
}

/// Why changes do not fit a table as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildReason {
    /// A bucket is full, and the keys of its pilot fit no other arrangement.
    #[error("the bucket of the key on line {line} is full")]
    Full {
        /// Where the change stands.
        line: u64,
    },
    /// A value that the entries' format has no place for.
    #[error("the value on line {line} has {found} bytes, for which the table's entries are not made")]
    Length {
        /// Where the change stands.
        line: u64,
        /// Its length in bytes.
        found: u64,
    },
    /// Two entries of one bucket would have the same tag.
    #[error("the key on line {line} has the tag of another key in its bucket")]
    Tag {
        /// Where the change stands.
        line: u64,
    },
}
