//! Snapshots in object stores: S3 and what speaks like it, Google Cloud Storage, Azure, a folder.
//!
//! A snapshot `NAME` lies there as parts of one length, each under the name of its own BLAKE3, and a
//! manifest that lists them:
//!
//! ```text
//! NAME.parts/<BLAKE3 of the part>   as many as the snapshot has different parts
//! NAME.manifest.json                written last
//! ```
//!
//! So a reader sees the old snapshot or the new one and never half of either; a push that was
//! interrupted, or that changes little, uploads the missing parts alone; and a pull fetches only
//! those that differ from the file at hand.
//!
//! | step | function |
//! |---|---|
//! | file → store | [`push()`] |
//! | store → file | [`pull()`] |
//! | store → file that is kept up to date | [`Mirror`] |

mod error;
mod location;
mod manifest;
mod mirror;
mod objects;
mod partial;
mod prune;
mod pull;
mod push;
mod worker;

#[cfg(test)]
mod tests;

pub use error::RemoteError;
pub use location::{Location, Settings};
pub use manifest::Manifest;
pub use mirror::{Mirror, default_cache};
pub use prune::GRACE;
pub use pull::{PullReport, pull};
pub use push::{PushOptions, PushReport, push};
