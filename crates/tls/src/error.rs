//! Errors of reading trusted certificates.

use std::path::PathBuf;

/// Trusted certificates that cannot be read, or a source without certificates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RootsError {
    /// The file that the caller gave is unusable.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The fault that was found, and the expected content.
        reason: String,
    },
    /// The file or folder that an environment variable names is unusable.
    #[error("{name} is {}: {reason}", path.display())]
    Variable {
        /// The variable.
        name: &'static str,
        /// The variable's value.
        path: PathBuf,
        /// The fault that was found, and the expected content.
        reason: String,
    },
}
