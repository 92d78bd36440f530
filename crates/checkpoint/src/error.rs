//! Errors of checkpoints.

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of checkpoints. Times are seconds since 1970, UTC.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes that do not parse.
    #[error(transparent)]
    Core(#[from] papir_core::Error),
    /// The checkpoint is of another log than the one of the owner and the database.
    #[error("the checkpoint is of the log `{found}`: expected `{expected}`")]
    Origin {
        /// The checkpoint's origin.
        found: String,
        /// The expected origin.
        expected: String,
    },
    /// The log is of another database.
    #[error("the checkpoint is for the database `{found}`: expected `{expected}`")]
    Database {
        /// The name in the leaf.
        found: String,
        /// The name that was asked for.
        expected: String,
    },
    /// No signature is of a key that the owner's key certifies at this time.
    #[error(
        "the checkpoint is not signed under the owner's key {owner}: found signatures of {found}"
    )]
    Untrusted {
        /// The owner's public key.
        owner: String,
        /// The names and ids of the keys in the signature lines.
        found: String,
    },
    /// A signature of a known key does not verify.
    #[error("the signature of {key} does not verify")]
    BadSignature {
        /// The public key.
        key: String,
    },
    /// A proof or a list of leaves does not lead to the root of the checkpoint.
    #[error("{what} does not lead to the root of the checkpoint of size {size}")]
    NotIncluded {
        /// The proof or list.
        what: &'static str,
        /// The size of the checkpoint.
        size: u64,
    },
    /// The public part is not the one that the checkpoint names.
    #[error("the public part has the hash {found}, but the owner's checkpoint names {expected}")]
    PublicPart {
        /// The hash of the public part.
        found: String,
        /// The hash in the checkpoint's newest leaf.
        expected: String,
    },
    /// The delta is not the one that the checkpoint names.
    #[error(
        "the delta's public part has the hash {found}, but the owner's checkpoint names {expected}"
    )]
    Delta {
        /// The hash of the delta's public part, or `none`.
        found: String,
        /// The hash in the checkpoint's newest leaf, or `none`.
        expected: String,
    },
    /// The checkpoint is older than the caller accepts.
    #[error("the checkpoint is {age} s old: expected at most {max} s")]
    TooOld {
        /// Its age in seconds.
        age: u64,
        /// The maximum in seconds.
        max: u64,
    },
    /// The checkpoint's time is in the future.
    #[error("the checkpoint's time is {ahead} s ahead of this machine's clock: check the clock")]
    FromTheFuture {
        /// Seconds ahead.
        ahead: u64,
    },
    /// The checkpoint's sequence is below the highest that was seen.
    #[error("the checkpoint has sequence {found}, but sequence {highest} has been seen")]
    Rollback {
        /// The checkpoint's sequence.
        found: u64,
        /// The highest sequence seen.
        highest: u64,
    },
    /// Two different versions under one sequence.
    #[error(
        "the owner's key signed two different versions under sequence {sequence}: the service or the owner shows \
         different clients different data"
    )]
    Equivocation {
        /// The sequence.
        sequence: u64,
    },
    /// Too few known witnesses have cosigned.
    #[error("{found} of the known witnesses cosigned the checkpoint: expected at least {required}")]
    Cosignatures {
        /// Number of known witnesses that cosigned.
        found: usize,
        /// The required number.
        required: usize,
    },
    /// A log that cannot take another leaf.
    #[error(
        "the log has {leaves} versions in {bytes} bytes: expected at most {max} bytes; start a new log"
    )]
    Full {
        /// Number of leaves.
        leaves: u64,
        /// Length of the encoded log in bytes.
        bytes: u64,
        /// The limit in bytes.
        max: u64,
    },
    /// Options that contradict each other.
    #[error("{found}: expected {expected}")]
    Options {
        /// The options given.
        found: String,
        /// The options that are accepted.
        expected: String,
    },
}

impl Error {
    /// A short, stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Core(error) => error.code(),
            Self::Options { .. } => "options",

            Self::Origin { .. } => "checkpoint_origin",
            Self::Database { .. } => "checkpoint_database",
            Self::Untrusted { .. } => "checkpoint_untrusted",
            Self::BadSignature { .. } => "checkpoint_signature",
            Self::NotIncluded { .. } => "checkpoint_proof",
            Self::PublicPart { .. } => "checkpoint_public_part",
            Self::Delta { .. } => "checkpoint_delta",
            Self::TooOld { .. } => "checkpoint_too_old",
            Self::FromTheFuture { .. } => "checkpoint_future",
            Self::Rollback { .. } => "checkpoint_rollback",
            Self::Equivocation { .. } => "checkpoint_equivocation",
            Self::Cosignatures { .. } => "checkpoint_cosignatures",
            Self::Full { .. } => "checkpoint_full",
        }
    }

    /// The error for bytes that do not parse.
    pub(crate) fn malformed(
        what: &'static str,
        found: impl ToString,
        expected: impl ToString,
    ) -> Self {
        Self::Core(papir_core::Error::malformed(what, found, expected))
    }

    /// The error for options that contradict each other.
    pub(crate) fn options(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Options {
            found: found.into(),
            expected: expected.into(),
        }
    }
}
