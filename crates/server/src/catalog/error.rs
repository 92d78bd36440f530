//! Errors of database access and of queries.

use papir_core::Version;

/// Reason why a name has no database to answer from.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseError {
    /// No database has this name.
    #[error("no such database: expected one of {known}")]
    Unknown { known: String },
    /// The database is not signed.
    #[error("the database has no checkpoint: its owner has not signed it")]
    Unsigned,
    /// The database has no filter of its keys.
    #[error("the database has no prefilter: its owner has built it without one")]
    NoPrefilter,
    /// The database is still loading.
    #[error("the databases are still loading")]
    NotLoaded,
}

/// Reason why queries are not answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueryError {
    /// The body exceeds the largest batch.
    #[error("the body is longer than the limit of {limit} bytes")]
    TooLong { limit: usize },
    /// The body is not a whole number of queries.
    #[error("the body has {found} bytes: expected one or more queries of {query} bytes each")]
    WrongLength { found: usize, query: usize },
    /// The queries are for a version that is not answered.
    #[error("the database is at version {current}: fetch its public part again")]
    WrongVersion { current: Version },
    /// The scheme rejects a query; `index` counts from 0.
    #[error("query {} of {count}: {source}", index + 1)]
    Rejected {
        index: usize,
        count: usize,
        source: papir_core::Error,
    },
    /// A machine with a part of the database did not answer.
    #[error("a part of the database is unavailable: send the same queries again")]
    Unavailable { reason: String },
    /// The scheme failed to answer a valid query.
    #[error("the answer could not be computed")]
    Failed { source: papir_core::Error },
    /// The scheme returned fewer answers than queries.
    #[error("an answer is missing")]
    Missing,
}

impl QueryError {
    /// Classifies a scheme's error for query `index` of `count`. `current` is the newest version.
    pub(crate) fn from_scheme(
        source: papir_core::Error,
        index: usize,
        count: usize,
        current: Version,
    ) -> Self {
        use papir_core::Error as E;

        match source {
            E::WrongVersion { .. } => Self::WrongVersion { current },
            E::Unavailable { reason } => Self::Unavailable { reason },
            E::Length { .. }
            | E::Malformed { .. }
            | E::Checksum { .. }
            | E::WrongScheme { .. }
            | E::OutOfBounds { .. }
            | E::IndexOutOfRange { .. }
            | E::BatchSize { .. }
            | E::Session { .. } => Self::Rejected {
                index,
                count,
                source,
            },
            source => Self::Failed { source },
        }
    }
}
