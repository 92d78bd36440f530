//! Files that cannot be measured.

use std::io;
use std::path::PathBuf;

/// A source file that cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum Unmeasured {
    /// A file or folder that cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file that is not Rust.
    #[error("{path}:{line}: {problem}")]
    NotRust {
        /// The file, below the root of the workspace.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The parser's message.
        problem: String,
    },
}
