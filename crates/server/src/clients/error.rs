//! Errors of the client registry.

use std::fmt;
use std::time::Duration;

use crate::catalog::QueryError;

/// Reason why a request by or about a client fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The database's scheme has no client keys.
    #[error("the database accepts no registrations: its scheme has no client keys")]
    NoRegistry,
    /// The list of clients is reserved for the operator.
    #[error("listing clients is reserved for the operator and not enabled")]
    ListForbidden,
    /// The query names no client.
    #[error("no client is named: register first")]
    NoClient,
    /// The client is unknown, has expired or was evicted, and must register again.
    #[error("no such client: unknown, expired or evicted; register again")]
    Gone,
    /// The keys do not have the length that the scheme expects.
    #[error("client keys have {found} bytes: expected {expected}")]
    WrongKeysLength { found: u64, expected: u64 },
    /// The keys must be uploaded in parts.
    #[error("client keys longer than {limit} bytes must be uploaded in parts")]
    TooLongForOneRequest { limit: usize },
    /// A part exceeds the limit or the announced length.
    #[error("the body is longer than the limit of {limit} bytes")]
    PartTooLong { limit: usize },
    /// The keys alone exceed the quota.
    #[error("client keys of {keys} bytes exceed the database's quota of {quota} bytes")]
    OverQuota { keys: u64, quota: u64 },
    /// The clients of the database, or of the token or network, are at their limit.
    #[error("too many registered clients: retry in {} s", retry_after.as_secs())]
    Full { retry_after: Duration },
    /// The keys have not been uploaded completely.
    #[error("the client's keys are incomplete: {offset} of {length} bytes have arrived")]
    Incomplete { offset: u64, length: u64 },
    /// The keys have been uploaded completely.
    #[error("the client's keys are already complete")]
    AlreadyRegistered,
    /// A part that does not continue the upload.
    #[error("the upload continues at byte {offset}")]
    WrongOffset { offset: u64 },
    /// Another request is writing to the same upload.
    #[error("another request is writing to this upload")]
    UploadBusy,
    /// The scheme rejects the keys.
    #[error("client keys: {source}")]
    BadKeys { source: papir_core::Error },
    /// Another client has registered the same keys.
    #[error(
        "another client has registered the same keys: the random numbers of two machines are equal, \
         as after a copy of a running virtual machine"
    )]
    KeysRepeated,
    /// The number of tickets differs from the number of queries.
    #[error("{found} ticket numbers: expected {queries}, one for each query")]
    TicketCount { found: usize, queries: usize },
    /// Another query used the ticket, or its number is too old.
    #[error("ticket {number} was used by another query or is too old")]
    TicketUsed { number: u64 },
    /// The ticket is still being prepared.
    #[error("ticket {number} is not prepared yet: retry in {retry_after} s")]
    TicketNotReady { number: u64, retry_after: u64 },
    /// The queries are invalid or for another version.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The tables or key files failed.
    #[error("the client registry failed")]
    Storage(#[from] StoreError),
    /// The operating system provides no randomness, or a task was aborted.
    #[error("the client registry failed")]
    Internal,
}

/// Failure of the tables or key files.
#[derive(Debug)]
pub(crate) struct StoreError {
    reason: String,
    cause: Cause,
}

/// The part of the registry that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The storage of the tables. A file must then be opened again.
    Tables,
    /// The data of one client, or settings: they say nothing about the storage.
    Data,
    /// Key files, an object store, or this process.
    Files,
}

impl StoreError {
    /// The file of the tables is closed after a failure.
    pub(super) fn closed() -> Self {
        Self::other("the registry's file is closed after a failure")
    }

    /// Work on the registry ended before it was done.
    pub(super) fn aborted() -> Self {
        Self::other("work on the registry was aborted")
    }

    /// The storage of the tables failed.
    #[cfg(feature = "postgres")]
    pub(super) fn of_tables(reason: String) -> Self {
        Self {
            reason,
            cause: Cause::Tables,
        }
    }

    /// The data of one client is damaged, or settings do not fit it.
    #[cfg(feature = "postgres")]
    pub(super) fn of_data(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            cause: Cause::Data,
        }
    }

    /// The file of the tables is damaged. `reason` is what was found, and what was expected.
    pub(super) fn damaged(reason: impl fmt::Display) -> Self {
        Self {
            reason: format!(
                "the file registry.redb is damaged ({reason}): move the directory away and start \
                 again, then clients register anew; restore no backup, whose tickets were used"
            ),
            cause: Cause::Tables,
        }
    }

    /// A failure outside the tables, or settings that refuse a start.
    pub(super) fn other(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            cause: Cause::Files,
        }
    }

    /// Returns true if the storage of the tables failed. A file must then be opened again.
    pub(super) fn is_of_tables(&self) -> bool {
        self.cause == Cause::Tables
    }

    /// Returns true if the storage of keys failed.
    pub(super) fn is_of_files(&self) -> bool {
        self.cause == Cause::Files
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for StoreError {}

/// Converts errors of the given types with their text.
macro_rules! store_error_from {
    ($cause:expr; $($error:ty),*) => {
        $(impl From<$error> for StoreError {
            fn from(error: $error) -> Self {
                Self { reason: error.to_string(), cause: $cause }
            }
        })*
    };
}
store_error_from!(
    Cause::Tables; redb::StorageError, redb::TableError, redb::TransactionError, redb::CommitError,
    redb::DatabaseError, redb::SetDurabilityError
);
store_error_from!(Cause::Data; papir_core::Error);
store_error_from!(Cause::Files; std::io::Error);
