//! What keeps a service from starting, or a database from being replaced.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Errors of the service itself; what a request can meet is answered as JSON instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing to serve.
    #[error("no database to serve: expected at least one")]
    NoDatabases,
    /// A name that does not fit in an address.
    #[error(
        "database name `{name}` for {}: expected 1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit",
        path.display()
    )]
    BadName {
        /// The name.
        name: String,
        /// The snapshot it was given to.
        path: PathBuf,
    },
    /// Two databases of one name.
    #[error("two databases are named `{name}`: {} and {}", first.display(), second.display())]
    DuplicateName {
        /// The name.
        name: String,
        /// The snapshot that has it.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// A database that is not served under this name.
    #[error("no database is named `{name}`: there are {known}")]
    UnknownDatabase {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A snapshot that could not be loaded.
    #[error("database `{name}`: {source}")]
    Load {
        /// Its name.
        name: String,
        /// Its file.
        path: PathBuf,
        /// Why not.
        source: Box<papir_store::Error>,
    },
    /// The address could not be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's own error.
        source: std::io::Error,
    },
    /// The threads that answer could not be started.
    #[error("cannot start {threads} answering threads: {source}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// Why not.
        source: rayon::ThreadPoolBuildError,
    },
    /// A task of the service ended abnormally.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// The system's own error.
        source: std::io::Error,
    },
}
