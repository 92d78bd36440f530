//! What can go wrong in a benchmark.

/// The result of every fallible function here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a benchmark was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scheme or the records refused.
    #[error(transparent)]
    Core(#[from] papir_core::Error),
    /// A size or a file of rates was refused.
    #[error(transparent)]
    Plan(#[from] papir_plan::Error),
    /// `PAPIR_BACKEND` names what this machine cannot run.
    #[error(transparent)]
    Backend(#[from] papir_kernels::BackendError),
    /// Arguments that do not go together, or a value out of its range.
    #[error("{found}: expected {expected}")]
    Usage {
        /// What was asked.
        found: String,
        /// What can be.
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
    /// Records came back that are not the source's.
    #[error("{what} gave wrong records")]
    Wrong {
        /// What was measured.
        what: String,
    },
}

impl Error {
    /// An [`Error::Usage`].
    pub(crate) fn usage(found: impl ToString, expected: impl ToString) -> Self {
        Self::Usage { found: found.to_string(), expected: expected.to_string() }
    }

    /// An [`Error::Usage`] for parameters that a scheme or a part of it refused.
    pub(crate) fn refused(error: impl ToString) -> Self {
        Self::usage("the parameters of a benchmark", error)
    }
}
