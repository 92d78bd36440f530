//! Follows a source of changes that grows, and publishes them as deltas.
//!
//! | module | task |
//! |---|---|
//! | [`rows`] | finds whole rows at the end of a text that grows |
//! | [`file`] | reads what was appended to a file, from the place that the database states |
//! | [`pipe`] | reads standard input as it arrives |
//! | `slot` | reads a replication slot of PostgreSQL |
//! | [`follower`] | publishes a version from what has arrived |
//!
//! The place up to which the changes of a file or a slot are in a version is stored in that version.
//! After a restart, every change is in exactly once, whatever was interrupted.

mod arrived;
mod file;
mod follower;
mod options;
mod pipe;
mod rows;
#[cfg(feature = "postgres")]
mod slot;

pub use follower::{Follower, Step};
pub use options::{FollowOptions, OnBadRow, SlotOptions};
