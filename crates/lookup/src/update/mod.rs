//! Updates of keyword tables without their keys.
//!
//! An update needs a table's layout, ids and buckets.
//!
//! | step | function |
//! |---|---|
//! | rows → one change per key, and counts | [`Changes::new`] |
//! | changes → a few changed records | [`patch`] |
//! | changes that do not fit → all keys arranged again | [`rebuild`] |
//!
//! A changed value stays in its bucket if there is room, and a new key goes to its bucket if there
//! is room. Otherwise the keys of its pilot are placed again under another pilot value. This
//! changes only the buckets of these keys and one pilot.

mod cache;
mod changes;
mod evict;
mod outcome;
mod patch;
mod rebuild;

pub use changes::{ChangeCounts, Changes, KeyChange};
pub use outcome::{OwnedTable, Patch, Patched, RebuildReason};
pub use patch::patch;
pub use rebuild::rebuild;
