//! Snapshots in object stores: S3 and compatible servers, Google Cloud Storage, Azure, folders.
//!
//! A snapshot `NAME` is stored as parts of equal length, each named by its own BLAKE3, and a
//! manifest that lists them:
//!
//! ```text
//! NAME.parts/<BLAKE3 of the part>   one object for each distinct part
//! NAME.manifest.json                written last
//! NAME.previous.json                the manifest that the present one replaced
//! ```
//!
//! Readers therefore see either the old snapshot or the new one, never a mixture. A push uploads
//! only the parts that the store lacks, so that an interrupted push can be repeated. A pull fetches
//! only the parts that differ from the local file. The previous version stays readable, so that a
//! service that starts during an update can answer its clients.
//!
//! | step | function |
//! |---|---|
//! | file → store | [`push()`] |
//! | store → file | [`pull()`] |
//! | store → local copy that is kept up to date | [`Mirror`] |
//!
//! A [`Folder`] holds small objects of any kind.
//!
//! A build without the feature `cloud` has the same interface, and [`Location::parse`] refuses
//! every address.

mod address;
mod error;
#[cfg_attr(not(feature = "cloud"), allow(dead_code))]
mod manifest;
mod mirror;
mod transfer;

#[cfg(feature = "cloud")]
mod folder;
#[cfg(feature = "cloud")]
mod http;
#[cfg(feature = "cloud")]
mod location;
#[cfg(feature = "cloud")]
mod objects;
#[cfg(feature = "cloud")]
mod partial;
#[cfg(feature = "cloud")]
mod pull;
#[cfg(feature = "cloud")]
mod push;
#[cfg(feature = "cloud")]
mod resolver;
#[cfg(feature = "cloud")]
mod worker;

#[cfg(not(feature = "cloud"))]
mod unavailable;

#[cfg(all(test, feature = "cloud"))]
mod tests;

pub use address::{Settings, StoreProxy};
pub use error::RemoteError;
#[cfg(feature = "cloud")]
pub use folder::Folder;
#[cfg(feature = "cloud")]
pub use location::Location;
pub use manifest::Manifest;
pub use mirror::{Mirror, default_cache};
#[cfg(feature = "cloud")]
pub use pull::{manifest, pull, pull_with};
#[cfg(feature = "cloud")]
pub use push::push;
pub use transfer::{GRACE, PullOptions, PullReport, PushOptions, PushReport};
#[cfg(not(feature = "cloud"))]
pub use unavailable::{Folder, Location, manifest, pull, pull_with, push};
