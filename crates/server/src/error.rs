//! Errors of the service itself, outside of requests.

use std::path::PathBuf;

use tokio::task::JoinError;

/// Errors of starting or stopping a service, and of replacing a database.
///
/// Errors of a request are JSON responses instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration names no database.
    #[error("no database to serve: expected at least one")]
    NoDatabases,
    /// A name that is not valid in a URL path.
    #[error(
        "database name `{name}` for {}: expected 1 to 128 of A-Z a-z 0-9 . _ -, the first a letter or digit",
        path.display()
    )]
    BadName {
        /// The name.
        name: String,
        /// The snapshot with this name.
        path: PathBuf,
    },
    /// Two databases with the same name.
    #[error("two databases are named `{name}`: {} and {}", first.display(), second.display())]
    DuplicateName {
        /// The name.
        name: String,
        /// The first snapshot with this name.
        first: PathBuf,
        /// The second one.
        second: PathBuf,
    },
    /// A database that is not served.
    #[error("no database is named `{name}`: expected one of {known}")]
    UnknownDatabase {
        /// The requested name.
        name: String,
        /// The names of the served databases.
        known: String,
    },
    /// A snapshot that could not be loaded.
    #[error("database `{name}`: {source}")]
    Load {
        /// The database's name.
        name: String,
        /// The snapshot file.
        path: PathBuf,
        /// The cause.
        source: Box<papir_store::Error>,
    },
    /// The server could not listen on the address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address, as configured.
        address: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// An invalid listen address.
    #[error(
        "invalid address `{text}`: expected one like 127.0.0.1:7470, [::1]:7470, localhost:7470 or unix:/run/papir.sock"
    )]
    BadListen {
        /// The input.
        text: String,
    },
    /// An unusable certificate or private key.
    #[error("TLS: {}: {reason}", path.display())]
    Tls {
        /// The file at fault.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// A token file that cannot be read or changed.
    #[error("tokens: {}: {reason}", path.display())]
    Tokens {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// A token file of a format that this build does not read.
    #[error("tokens: {}: {source}", path.display())]
    TokenFormat {
        /// The file.
        path: PathBuf,
        /// The format found, the formats read, and the remedy.
        source: papir_core::Error,
    },
    /// The private keys of a gateway of Oblivious HTTP cannot be read, made or replaced.
    #[error("gateway keys: {}: {reason}", path.display())]
    GatewayKeys {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// Settings of private tokens that cannot be used.
    #[error("private tokens: {reason}")]
    PrivacyPass {
        /// The cause, and what was expected.
        reason: String,
    },
    /// The private keys of an issuer of tokens cannot be read, made or replaced.
    #[error("issuer keys: {}: {reason}", path.display())]
    IssuerKeys {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The file with the numbers of issued tokens cannot be opened.
    #[error("issued tokens: {}: {reason}", path.display())]
    IssuedCounts {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// Fewer tokens a day than clients fetch at a time.
    #[error("{found} tokens a day: expected at least {least}, which clients fetch at a time")]
    FewDailyTokens {
        /// The number.
        found: u32,
        /// The tokens of a batch.
        least: usize,
    },
    /// An unknown scope.
    #[error("unknown scope `{text}`: expected query, metrics or admin")]
    BadScope {
        /// The input.
        text: String,
    },
    /// An invalid trusted proxy.
    #[error("invalid proxy `{text}`: expected a network like 10.0.0.0/8 or ::1, or unix")]
    BadProxy {
        /// The input.
        text: String,
    },
    /// An invalid relay.
    #[error("invalid relay `{text}`: expected a network like 192.0.2.7 or 2001:db8::/64, or unix")]
    BadRelay {
        /// The input.
        text: String,
    },
    /// An invalid web origin.
    #[error(
        "invalid origin `{text}`: expected one like https://app.example or http://localhost:8080, or *"
    )]
    BadOrigin {
        /// The input.
        text: String,
    },
    /// An invalid rate.
    #[error("invalid rate `{text}`: expected one like 5/s, 300/min or 1000/h")]
    BadRate {
        /// The input.
        text: String,
    },
    /// The answering threads could not be started.
    #[error("cannot start {threads} answering threads: {source}")]
    Threads {
        /// The requested number of threads.
        threads: usize,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// More answering threads than a machine can have.
    #[error("{found} threads: expected at most {most}, or 0 for one per core")]
    TooManyThreads {
        /// The requested number of threads.
        found: usize,
        /// The largest accepted number.
        most: usize,
    },
    /// A scheme with client keys, but no client registry.
    #[error(
        "database `{name}`: clients of the scheme {scheme} register keys: expected a registry (--registry DIR)"
    )]
    NeedsRegistry {
        /// The database's name.
        name: String,
        /// The database's scheme.
        scheme: &'static str,
    },
    /// A client registry that cannot be opened.
    #[error("client registry {place}: {reason}")]
    Registry {
        /// Its directory, or the kind of its server.
        place: String,
        /// The cause.
        reason: String,
    },
    /// A short message in a file that is not answered.
    #[error("the message is refused: {reason}")]
    Message {
        /// The cause, and what was expected.
        reason: String,
    },
    /// A task of the service ended abnormally.
    #[error("{what}: {source}")]
    Io {
        /// The failed operation.
        what: &'static str,
        /// The operating system's error.
        source: std::io::Error,
    },
}

impl Error {
    /// Returns whether a store could not be reached, so that the same load may succeed later.
    pub fn is_temporary(&self) -> bool {
        let Self::Load { source, .. } = self else {
            return false;
        };
        matches!(&**source, papir_store::Error::Remote(error) if error.is_temporary())
    }

    /// Returns whether work was cancelled because the runtime is ending, which is no fault.
    pub fn is_cancelled(&self) -> bool {
        let Self::Io { source, .. } = self else {
            return false;
        };
        let cause = source
            .get_ref()
            .and_then(|cause| cause.downcast_ref::<JoinError>());
        cause.is_some_and(JoinError::is_cancelled)
    }
}
