//! Errors of the client.

use std::path::PathBuf;

use papir_lookup::Root;
use papir_protocol::code;

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of a client. Those of the network name the address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not the address of a papir service.
    #[error("bad address `{url}`: {reason}")]
    BadUrl {
        /// The address given.
        url: String,
        /// The reason.
        reason: &'static str,
    },
    /// Text that is not valid as a token in a header.
    #[error("invalid token: expected 1 to 4096 ASCII characters without spaces")]
    BadToken,
    /// A token that would be sent over plain HTTP to another machine; nothing was sent.
    #[error("{url}: the token is not sent over plain HTTP to another machine: use https, or allow it")]
    TokenInClear {
        /// The address.
        url: String,
    },
    /// An unusable file of root certificates.
    #[error("{}: {reason}", path.display())]
    BadCa {
        /// The file.
        path: std::path::PathBuf,
        /// The reason.
        reason: String,
    },
    /// The connection could not be made, or broke.
    #[error("{url}: {source}")]
    Transport {
        /// The address.
        url: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server refused.
    #[error("{url}: HTTP {status} ({code}): {message}")]
    Http {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The service's code; `unknown` for a server that is not a papir service.
        code: String,
        /// The service's message.
        message: String,
    },
    /// A response longer than an honest one can be.
    #[error("{url}: the response exceeds the limit of {limit} bytes")]
    TooLong {
        /// The address.
        url: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// A response that the service should not send.
    #[error("{url}: unexpected response: {reason}")]
    Unexpected {
        /// The address.
        url: String,
        /// The value found and the one expected.
        reason: String,
    },
    /// The server has no database of this name.
    #[error("{url}: no database is named `{name}`; the databases are {known}")]
    NoSuchDatabase {
        /// The server's address.
        url: String,
        /// The requested name.
        name: String,
        /// The names of its databases.
        known: String,
    },
    /// No name was given, and the server has no database or several.
    #[error("{url}: name a database; the databases are {known}")]
    ChooseDatabase {
        /// The server's address.
        url: String,
        /// The names of its databases.
        known: String,
    },
    /// The database does not have the trusted root.
    #[error("{url}: the database's root is {found}: expected {expected}")]
    Root {
        /// The database's address.
        url: String,
        /// Its root, or `none`.
        found: String,
        /// The trusted root.
        expected: Root,
    },
    /// No directory for the state of a registered client.
    #[error("no directory for client state: expected --state, XDG_DATA_HOME or HOME")]
    NoStateDirectory,
    /// Client state could not be read or written.
    #[error("client state {}: {source}", path.display())]
    StateFile {
        /// The file.
        path: PathBuf,
        /// The system's own error.
        source: std::io::Error,
    },
    /// State is protected by a passphrase, and none or a wrong one was given. The file is left
    /// unchanged.
    #[error("client state {}: {reason}", path.display())]
    Passphrase {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// A damaged state file. It is left unchanged; remove it to register anew.
    #[error("client state {}: {source} (remove it to register anew)", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: papir_core::Error,
    },
    /// A copy of the client's state used the same ticket. The registration is removed; the next
    /// lookup makes a new one.
    #[error("{url}: {message}: a copy of this client's state is in use; asking again registers anew")]
    StateCopied {
        /// The address.
        url: String,
        /// The service's message.
        message: String,
    },
    /// The lookup failed: a bad index, a damaged answer, another version.
    #[error(transparent)]
    Lookup(papir_lookup::Error),
    /// An error of the scheme or of a binary format.
    #[error(transparent)]
    Core(#[from] papir_core::Error),
}

impl From<papir_lookup::Error> for Error {
    fn from(error: papir_lookup::Error) -> Self {
        match error {
            papir_lookup::Error::Core(error) => Self::Core(error),
            other => Self::Lookup(other),
        }
    }
}

impl Error {
    /// Whether keys or a client's state were made for another version than the newest.
    pub(crate) fn is_moved(&self) -> bool {
        match self {
            Self::Http { status, code, .. } => *status == 409 && code == code::WRONG_VERSION,
            Self::Core(error) => matches!(error, papir_core::Error::WrongVersion { .. }),
            _ => false,
        }
    }

    /// A short stable code for machines.
    pub fn code(&self) -> &str {
        match self {
            Self::BadUrl { .. } => "bad_url",
            Self::BadToken => "bad_token",
            Self::TokenInClear { .. } => "token_in_clear",
            Self::BadCa { .. } => "bad_ca",
            Self::Transport { .. } => "transport",
            Self::Http { code, .. } => code,
            Self::TooLong { .. } => "too_long",
            Self::Unexpected { .. } => "unexpected",
            Self::NoSuchDatabase { .. } => "unknown_database",
            Self::ChooseDatabase { .. } => "choose_database",
            Self::Root { .. } => "wrong_root",
            Self::NoStateDirectory => "no_state_directory",
            Self::StateFile { .. } => "state_file",
            Self::Passphrase { .. } => "passphrase",
            Self::State { .. } => "state",
            Self::StateCopied { .. } => "state_copied",
            Self::Lookup(error) => error.code(),
            Self::Core(error) => error.code(),
        }
    }
}

/// A response that the service should not send.
pub(crate) fn unexpected(url: &str, reason: String) -> Error {
    Error::Unexpected { url: url.to_owned(), reason }
}
