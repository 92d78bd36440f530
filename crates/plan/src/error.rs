//! Errors of planning.

use std::path::PathBuf;

/// The result type of this crate's fallible functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of planning.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of a scheme.
    #[error(transparent)]
    Core(#[from] papir_core::Error),
    /// `PAPIR_BACKEND` names a backend that this machine cannot run.
    #[error(transparent)]
    Backend(#[from] papir_kernels::BackendError),
    /// A file of rates cannot be read.
    #[error("{}: {reason}: expected a file that `papir plan --calibrate` wrote", file.display())]
    Rates {
        /// The file.
        file: PathBuf,
        /// The problem that was found.
        reason: String,
    },
    /// A file of rates cannot be written.
    #[error("{}: {reason}: expected a file that can be written", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The reason of the failure.
        reason: String,
    },
    /// A malformed size.
    #[error("the size `{found}`: expected bytes above 0, such as 64, 64B, 8KiB, 256MiB or 1GiB")]
    Size {
        /// The malformed text.
        found: String,
    },
    /// No scheme can serve the database.
    #[error("nothing can serve {database}: {reasons}")]
    NothingFits {
        /// Shape of the database.
        database: String,
        /// The reasons why schemes are excluded.
        reasons: String,
    },
}

/// Converts the error of a table into an error of a scheme.
pub(crate) fn of_core(error: papir_lookup::Error) -> papir_core::Error {
    match error {
        papir_lookup::Error::Core(error) => error,
        other => papir_core::Error::Parameters {
            scheme: "a keyed table",
            reason: other.to_string(),
        },
    }
}
