//! Errors of checkpoints.

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of checkpoints. Times are seconds since 1970, UTC.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of `papir_core`: malformed bytes, an unknown format, or a number out of bounds.
    #[error(transparent)]
    Core(#[from] papir_core::Error),
    /// The checkpoint's origin is not the log of this owner and this database.
    #[error("the checkpoint is of the log `{found}`: expected `{expected}`")]
    Origin {
        /// The checkpoint's origin.
        found: String,
        /// The expected origin.
        expected: String,
    },
    /// The leaf or log names another database.
    #[error("the checkpoint is for the database `{found}`: expected `{expected}`")]
    Database {
        /// The name in the leaf.
        found: String,
        /// The requested name.
        expected: String,
    },
    /// The checkpoint has no signature of the owner's key or of a key that it certifies at this
    /// time.
    #[error(
        "the checkpoint is not signed under the owner's key {owner}: found signatures of {found}"
    )]
    Untrusted {
        /// The owner's public key.
        owner: String,
        /// The names and ids of the keys in the signature lines.
        found: String,
    },
    /// A signature with the name and id of a known key is invalid.
    #[error("the signature of {key} does not verify")]
    BadSignature {
        /// The public key.
        key: String,
    },
    /// A proof or a list of leaves does not match the size and root of the checkpoint.
    #[error("{what} does not lead to the root of the checkpoint of size {size}")]
    NotIncluded {
        /// The name of the proof or list.
        what: &'static str,
        /// The size of the checkpoint.
        size: u64,
    },
    /// The hash of the public part differs from the one in the checkpoint's newest leaf.
    #[error("the public part has the hash {found}, but the owner's checkpoint names {expected}")]
    PublicPart {
        /// The hash of the public part.
        found: String,
        /// The hash in the checkpoint's newest leaf.
        expected: String,
    },
    /// The hash of the delta's public part differs from the one in the checkpoint's newest leaf.
    #[error(
        "the delta's public part has the hash {found}, but the owner's checkpoint names {expected}"
    )]
    Delta {
        /// The hash of the delta's public part, or `none`.
        found: String,
        /// The hash in the checkpoint's newest leaf, or `none`.
        expected: String,
    },
    /// The newest leaf commits to no keys of gateways, and clients behind a relay need them.
    #[error("the owner's checkpoint names no keys of gateways: expected a certificate of them")]
    NoGatewayKeys,
    /// The keys of gateways that the newest leaf commits to are not acceptable.
    #[error("the keys of gateways are refused: {reason}")]
    GatewayKeys {
        /// The reason: the value found, and the value expected.
        reason: String,
    },
    /// The newest leaf is older than the policy allows.
    #[error("the checkpoint is {age} s old: expected at most {max} s")]
    TooOld {
        /// Age of the newest leaf in seconds.
        age: u64,
        /// The maximum in seconds.
        max: u64,
    },
    /// The time of the newest leaf is in the future.
    #[error("the checkpoint's time is {ahead} s ahead of this machine's clock: check the clock")]
    FromTheFuture {
        /// Seconds ahead.
        ahead: u64,
    },
    /// The checkpoint's sequence is below the highest one that the client has seen.
    #[error("the checkpoint has sequence {found}, but sequence {highest} has been seen")]
    Rollback {
        /// The checkpoint's sequence.
        found: u64,
        /// The highest sequence seen.
        highest: u64,
    },
    /// The checkpoint's sequence is below the one that the client requires.
    #[error("the checkpoint has sequence {found}: expected at least {required}")]
    Sequence {
        /// The checkpoint's sequence.
        found: u64,
        /// The lowest accepted sequence.
        required: u64,
    },
    /// Two different leaves have the same sequence.
    #[error(
        "the owner's key signed two different versions under sequence {sequence}: the service or the owner shows \
         different clients different data"
    )]
    Equivocation {
        /// The sequence of both leaves.
        sequence: u64,
    },
    /// Fewer known witnesses than required have cosigned the checkpoint.
    #[error("{found} of the known witnesses cosigned the checkpoint: expected at least {required}")]
    Cosignatures {
        /// Number of known witnesses that cosigned.
        found: usize,
        /// The required number.
        required: usize,
    },
    /// The log with one more leaf would exceed its maximum length.
    #[error(
        "the log has {leaves} versions in {bytes} bytes: expected at most {max} bytes; start a new log"
    )]
    Full {
        /// Number of leaves, including the new one.
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
            Self::NoGatewayKeys => "checkpoint_no_gateway_keys",
            Self::GatewayKeys { .. } => "checkpoint_gateway_keys",
            Self::TooOld { .. } => "checkpoint_too_old",
            Self::FromTheFuture { .. } => "checkpoint_future",
            Self::Rollback { .. } => "checkpoint_rollback",
            Self::Sequence { .. } => "checkpoint_sequence",
            Self::Equivocation { .. } => "checkpoint_equivocation",
            Self::Cosignatures { .. } => "checkpoint_cosignatures",
            Self::Full { .. } => "checkpoint_full",
        }
    }

    /// Makes the error for malformed bytes.
    pub(crate) fn malformed(
        what: &'static str,
        found: impl ToString,
        expected: impl ToString,
    ) -> Self {
        Self::Core(papir_core::Error::malformed(what, found, expected))
    }

    /// Makes the error for options that contradict each other.
    pub(crate) fn options(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Options {
            found: found.into(),
            expected: expected.into(),
        }
    }
}
