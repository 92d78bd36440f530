//! Names of a snapshot's sections.

/// The section of [`crate::Metadata`].
pub(crate) const METADATA: &str = "metadata";
/// The section of a set for private intersection.
pub(crate) const SET: &str = "psi";
/// The section of the keyword layout.
pub(crate) const KEYWORD: &str = "keyword";
/// The section of the filter of the keys.
pub(crate) const PREFILTER: &str = "prefilter";
/// The section of the top of the hash tree, in a verifiable database.
pub(crate) const COMMITMENT: &str = "commitment";
/// The section of the keys' ids. Only the owner needs them, for updates.
pub const OWNER_KEYS: &str = "owner.keys";
/// The section of the keys' ids in an encrypted database, sealed under the owner's key.
pub const SEALED_OWNER_KEYS: &str = "owner.keys.sealed";
/// The section of the log and its signed checkpoint, if the database is signed.
pub const CHECKPOINT: &str = "checkpoint";
/// Prefix of the names of the scheme's own sections.
pub(crate) const SCHEME: &str = "scheme.";
/// The section of the values of the chunks of long sections, the last one in a file.
pub(crate) const CHUNKS: &str = "chunks";
/// The section of a delta's metadata, in the delta's own file.
pub(crate) const DELTA: &str = "delta";
/// The section of all changes in a delta. Only the owner needs them, for the next delta and the
/// merge.
pub(crate) const DELTA_CHANGES: &str = "delta.changes";
