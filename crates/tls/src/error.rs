//! Errors of reading certificates.

use std::path::PathBuf;

/// Certificates that cannot be read, or that hold no root.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RootsError {
    /// A file that the caller gave.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The fault that was found, and the expected content.
        reason: String,
    },
    /// A file or folder that an environment variable names.
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
