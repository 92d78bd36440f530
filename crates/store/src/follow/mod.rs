//! Publishes the changes of a growing source as deltas.
//!
//! | module | task |
//! |---|---|
//! | [`rows`] | finds whole rows at the end of a text that grows |
//! | [`file`] | reads the rows appended to a file, from the place that the database states |
//! | [`pipe`] | reads standard input as it arrives |
//! | `slot` | reads a replication slot of PostgreSQL |
//! | [`follower`] | publishes a version from what has arrived |
//!
//! A version states the place up to which it has the changes of a file or a slot. After a restart,
//! every change is in exactly once, even after an interruption.

mod arrived;
mod file;
mod follower;
mod options;
mod pipe;
mod rows;
#[cfg(feature = "postgres")]
mod slot;

pub use arrived::TornRow;
pub use follower::{Follower, Step};
pub use options::{FollowOptions, OnBadRow, SlotOptions};
