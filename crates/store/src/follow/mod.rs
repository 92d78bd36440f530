//! Follows a source of changes that grows, and publishes them as deltas.
//!
//! | module | task |
//! |---|---|
//! | [`rows`] | finds whole rows at the end of a text that grows |
//! | [`file`] | reads what was appended to a file, from the place that the database states |
//! | [`pipe`] | reads standard input as it arrives |
//! | [`follower`] | publishes a version from what has arrived |
//!
//! The place up to which a file's changes are in a version is stored in that version. After a restart,
//! every change is in exactly once, whatever was interrupted.

mod file;
mod follower;
mod pipe;
mod rows;

pub use follower::{FollowOptions, Follower, OnBadRow, Step};
