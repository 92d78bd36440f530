//! What can go wrong between entries and a value.

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of keyword tables and lookups; those of the scheme below pass through.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the scheme or of a format.
    #[error(transparent)]
    Core(#[from] papir_core::Error),
    /// One key with two entries, where duplicates are refused.
    #[error("line {line}: the key `{key}` was already on line {first}: expected each key once")]
    DuplicateKey {
        /// The key, shortened, as text.
        key: String,
        /// Where it stood first.
        first: u64,
        /// Where it stands again.
        line: u64,
    },
    /// A value longer than a table takes.
    #[error("line {line}: the value has {found} bytes: expected at most {limit}")]
    ValueTooLong {
        /// Where it stands.
        line: u64,
        /// Its length in bytes.
        found: u64,
        /// The longest that is accepted, in bytes.
        limit: u64,
    },
    /// No arrangement of the entries was found, even in the largest table that is tried.
    #[error(
        "{entries} entries do not fit {records} records of {bucket_bytes} bytes: expected larger buckets"
    )]
    Placement {
        /// Entries to place, chunks counted one by one.
        entries: u64,
        /// Records of the last try.
        records: u64,
        /// Bytes of one record.
        bucket_bytes: u64,
    },
    /// A record that is not the one that the database's root commits to. Told to the local caller only.
    #[error(
        "the record does not prove that the database's root holds it: the server answered from other records"
    )]
    NotCommitted,
    /// An index was asked of a database of keys.
    #[error("this database is looked up by key: its records are buckets of entries, an index names none")]
    Keyed,
    /// A key was asked of a database without keys.
    #[error("this database has no keys: its records are looked up by index")]
    NotKeyed,
}

impl Error {
    /// A short stable code for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Core(error) => error.code(),
            Self::DuplicateKey { .. } => "duplicate_key",
            Self::ValueTooLong { .. } => "value_too_long",
            Self::Placement { .. } => "placement",
            Self::NotCommitted => "not_committed",
            Self::Keyed => "keyed",
            Self::NotKeyed => "not_keyed",
        }
    }
}
