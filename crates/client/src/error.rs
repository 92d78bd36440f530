//! What can go wrong between a key and its value over the network.

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
    /// A short stable code for machines.
    pub fn code(&self) -> &str {
        match self {
            Self::BadUrl { .. } => "bad_url",
            Self::Transport { .. } => "transport",
            Self::Http { code, .. } => code,
            Self::TooLong { .. } => "too_long",
            Self::Unexpected { .. } => "unexpected",
            Self::NoSuchDatabase { .. } => "unknown_database",
            Self::ChooseDatabase { .. } => "choose_database",
            Self::Lookup(error) => error.code(),
            Self::Core(error) => error.code(),
        }
    }
}
