//! What can go wrong between a key and its value over the network.

use std::path::PathBuf;

use papir_lookup::Root;

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of a client; each names the address it was talking to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address that cannot be one of a papir service.
    #[error("bad address `{url}`: {reason}")]
    BadUrl {
        /// The address given.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A token that cannot stand in a header.
    #[error("the token is not one: expected 1 to 4096 characters, no spaces")]
    BadToken,
    /// A token that others could read on its way; nothing was sent.
    #[error("{url}: the token is not sent over plain HTTP to another machine: use https, or allow it")]
    TokenInClear {
        /// The address.
        url: String,
    },
    /// A file of root certificates that cannot be used.
    #[error("{}: {reason}", path.display())]
    BadCa {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No connection, or it broke.
    #[error("{url}: {source}")]
    Transport {
        /// The address.
        url: String,
        /// The cause.
        source: Box<ureq::Error>,
    },
    /// The server refused.
    #[error("{url}: HTTP {status} ({code}): {message}")]
    Http {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The service's code, or `unknown` where the answer was not one of a papir service.
        code: String,
        /// The service's message.
        message: String,
    },
    /// A response that is longer than it can honestly be.
    #[error("{url}: the response is longer than the {limit} bytes that are expected at most")]
    TooLong {
        /// The address.
        url: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// A response that is not what the service should send.
    #[error("{url}: unexpected response: {reason}")]
    Unexpected {
        /// The address.
        url: String,
        /// What was found and what was expected.
        reason: String,
    },
    /// The server has no database of this name.
    #[error("{url}: no database is named `{name}`: there are {known}")]
    NoSuchDatabase {
        /// The server's address.
        url: String,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// No name was given, and the server has not exactly one database.
    #[error("{url}: name a database: there are {known}")]
    ChooseDatabase {
        /// The server's address.
        url: String,
        /// The names there are.
        known: String,
    },
    /// The database does not commit to the root that is trusted.
    #[error("{url}: the database's root is {found}: expected {expected}")]
    Root {
        /// The database's address.
        url: String,
        /// The root it has, or `none`.
        found: String,
        /// The root that is trusted.
        expected: Root,
    },
    /// No directory to keep a registered client's state in.
    #[error("no directory for client state: expected --state, XDG_DATA_HOME or HOME")]
    NoStateDirectory,
    /// State that could not be read or written.
    #[error("client state {}: {source}", path.display())]
    StateFile {
        /// The file.
        path: PathBuf,
        /// The system's own error.
        source: std::io::Error,
    },
    /// State under a passphrase that was not given, or is another one. It stays as it is.
    #[error("client state {}: {reason}", path.display())]
    Passphrase {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: &'static str,
    },
    /// A state file that is damaged. It stays as it is: remove it to register anew.
    #[error("client state {}: {source} (remove it to register anew)", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: papir_core::Error,
    },
    /// A copy of the client's state has asked with the same ticket. The registration is given up: the
    /// next lookup makes a new one.
    #[error("{url}: {message}: a copy of this client's state is in use; asking again registers anew")]
    StateCopied {
        /// The address.
        url: String,
        /// The service's message.
        message: String,
    },
    /// The scheme or the lookup refused: a bad index, a damaged answer, a foreign version.
    #[error(transparent)]
    Lookup(papir_lookup::Error),
    /// An error of the scheme or of a format.
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
    /// Whether it says that the database has another version by now than what was made for it: keys,
    /// or a client's state.
    pub(crate) fn is_moved(&self) -> bool {
        match self {
            Self::Http { status, code, .. } => *status == 409 && code == "wrong_version",
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
