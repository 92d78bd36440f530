//! Errors of benchmarks.

/// Result type of this crate's fallible functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of benchmarks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the scheme or the records.
    #[error(transparent)]
    Core(#[from] papir_core::Error),
    /// An error about a size or a rates file.
    #[error(transparent)]
    Plan(#[from] papir_plan::Error),
    /// The device cannot be used.
    #[error(transparent)]
    Device(#[from] papir_cuda::CudaError),
    /// `PAPIR_BACKEND` names a backend that this machine cannot run.
    #[error(transparent)]
    Backend(#[from] papir_kernels::BackendError),
    /// Incompatible arguments, or a value out of range.
    #[error("{found}: expected {expected}")]
    Usage {
        /// Requested value.
        found: String,
        /// Accepted values.
        expected: String,
    },
    /// The threads could not be started.
    #[error("starting the threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The result could not be written.
    #[error("writing the result: {0}")]
    Output(#[from] std::io::Error),
    /// The result could not be written as JSON.
    #[error("writing the result as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A benchmark that moved to another program.
    #[error(
        "`papir bench {arguments}` is now `papir-papers {arguments}` (cargo build -p papir-papers)"
    )]
    Moved {
        /// Arguments, which stay the same.
        arguments: String,
    },
    /// A returned record differs from the source.
    #[error("{what} returned wrong records")]
    Wrong {
        /// Name of the scheme or benchmark.
        what: String,
    },
}

impl Error {
    /// Creates an [`Error::Usage`].
    pub fn usage(found: impl ToString, expected: impl ToString) -> Self {
        Self::Usage {
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    /// Creates an [`Error::Usage`] for parameters that a scheme, or a part of a scheme, refused.
    pub fn parameters(error: impl ToString) -> Self {
        Self::usage("the parameters of a benchmark", error)
    }
}
