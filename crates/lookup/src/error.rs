//! Errors of keyword tables and lookups.

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of keyword tables and lookups. Errors of the scheme pass through unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the scheme or of a format.
    #[error(transparent)]
    Core(#[from] papir_core::Error),
    /// Two entries have the same key, and the options refuse duplicates.
    #[error("line {line}: the key `{key}` was already on line {first}: expected each key once")]
    DuplicateKey {
        /// The key as text, cut after 64 bytes.
        key: String,
        /// The line of the first entry.
        first: u64,
        /// The line of the second entry.
        line: u64,
    },
    /// Two entries have the same key, which is not known any more, and the options refuse
    /// duplicates.
    #[error("line {line}: its key was already on line {first}: expected each key once")]
    RepeatedKey {
        /// The line of the first entry.
        first: u64,
        /// The line of the second entry.
        line: u64,
    },
    /// A value longer than [`crate::MAX_VALUE_BYTES`], or, in a delta, than its limit.
    #[error("line {line}: the value has {found} bytes: expected at most {limit}")]
    ValueTooLong {
        /// The value's line in its source.
        line: u64,
        /// The value's length in bytes.
        found: u64,
        /// The maximum length in bytes.
        limit: u64,
    },
    /// The entries do not fit the largest table that was tried.
    #[error(
        "{entries} entries do not fit {records} records of {bucket_bytes} bytes: expected larger buckets"
    )]
    Placement {
        /// Number of entries, counting every chunk.
        entries: u64,
        /// Number of records of the largest table that was tried.
        records: u64,
        /// Bytes of a record.
        bucket_bytes: u64,
    },
    /// The proof of a record does not match the database's root. Only the local caller learns this.
    #[error(
        "the record's proof does not match the database's root: the server answered from other records"
    )]
    NotCommitted,
    /// A lookup by index in a database with keys.
    #[error(
        "this database is looked up by key: its records are buckets of entries and have no index of their own"
    )]
    Keyed,
    /// A lookup by key in a database without keys.
    #[error("this database has no keys: its records are looked up by index")]
    NotKeyed,
}

impl Error {
    /// A short stable code for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Core(error) => error.code(),
            Self::DuplicateKey { .. } | Self::RepeatedKey { .. } => "duplicate_key",
            Self::ValueTooLong { .. } => "value_too_long",
            Self::Placement { .. } => "placement",
            Self::NotCommitted => "not_committed",
            Self::Keyed => "keyed",
            Self::NotKeyed => "not_keyed",
        }
    }
}
