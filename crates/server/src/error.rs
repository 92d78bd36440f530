//! What keeps a service from starting, or a database from being replaced.

use std::path::PathBuf;

use crate::Listen;

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
        address: Listen,
        /// The system's own error.
        source: std::io::Error,
    },
    /// An address that cannot be listened on.
    #[error("`{text}` is no address: expected one like 127.0.0.1:7470, [::1]:7470 or unix:/run/papir.sock")]
    BadListen {
        /// What was given.
        text: String,
    },
    /// A certificate or a key that cannot be used.
    #[error("TLS: {}: {reason}", path.display())]
    Tls {
        /// The file at fault.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A token file that cannot be used or changed.
    #[error("tokens: {}: {reason}", path.display())]
    Tokens {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A scope that does not exist.
    #[error("`{text}` is no scope: there are query, metrics, admin")]
    BadScope {
        /// What was given.
        text: String,
    },
    /// A proxy that does not parse.
    #[error("`{text}` is no proxy: expected a network like 10.0.0.0/8 or ::1, or unix")]
    BadProxy {
        /// What was given.
        text: String,
    },
    /// A rate that does not parse.
    #[error("`{text}` is no rate: expected one like 5/s, 300/min or 1000/h")]
    BadRate {
        /// What was given.
        text: String,
    },
    /// The threads that answer could not be started.
    #[error("cannot start {threads} answering threads: {source}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// Why not.
        source: rayon::ThreadPoolBuildError,
    },
    /// A scheme with client keys, and no registry to keep them in.
    #[error("database `{name}`: clients of {scheme} register keys: expected a registry (--registry DIR)")]
    NeedsRegistry {
        /// The database's name.
        name: String,
        /// Its scheme.
        scheme: &'static str,
    },
    /// A client registry that cannot be opened.
    #[error("client registry {}: {reason}", directory.display())]
    Registry {
        /// Its directory.
        directory: PathBuf,
        /// Why not.
        reason: String,
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
