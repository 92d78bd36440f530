//! Errors of the client.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use papir_core::Version;
use papir_lookup::Root;
use papir_protocol::code;

use crate::failure::{FinalFailure, RelayFailure, shown};

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of a client. Network errors name the address. Messages hide passwords in addresses and
/// tokens; fields, and so `Debug`, may show them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address that is not valid for a papir service.
    #[error("bad address `{}`: {reason}", shown(url))]
    BadUrl {
        /// The given address or id.
        url: String,
        /// The reason.
        reason: &'static str,
    },
    /// A token that is invalid in a header.
    #[error("invalid token: expected 1 to 4096 ASCII characters without spaces")]
    BadToken,
    /// A token that would be sent over plain HTTP to another machine. Nothing was sent.
    #[error(
        "{}: the token would be sent in the clear to another machine: use https, or allow plain HTTP",
        shown(url)
    )]
    TokenInClear {
        /// The address.
        url: String,
    },
    /// An unusable file of root certificates.
    #[error("{}: {reason}", path.display())]
    BadCa {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// An unusable certificate or key of the client.
    #[error("{}: {reason}", path.display())]
    BadIdentity {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A proxy applies to the connection, but cannot be used. Nothing was sent.
    #[error("{name}: bad proxy: {reason}")]
    BadProxy {
        /// The environment's variable that names the proxy, or a name of the option.
        name: String,
        /// The reason.
        reason: String,
    },
    /// A relay that cannot be used for the service. Nothing was sent.
    #[error("{}: bad relay: {reason}", shown(url))]
    BadRelay {
        /// The relay's address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// An unusable file of a gateway's keys. Nothing was sent.
    #[error("{}: {reason}", path.display())]
    BadOhttpKeys {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// An issuer of tokens that cannot be used. Nothing was sent.
    #[error("{}: bad issuer: {reason}", shown(url))]
    BadIssuer {
        /// The issuer's address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The service demands tokens of an issuer, and the options name none.
    #[error(
        "{}: the service demands tokens of the issuer {issuer}, and no issuer is given",
        shown(url)
    )]
    NoIssuer {
        /// The service's address.
        url: String,
        /// The name of the issuer, as the service gives it.
        issuer: String,
    },
    /// The service demands a token that the client does not spend: of another issuer, for another
    /// service, or one that marks the client.
    #[error("{}: the demanded token is refused: {reason}", shown(url))]
    BadChallenge {
        /// The service's address.
        url: String,
        /// The reason: the value found, and the value expected.
        reason: String,
    },
    /// The connection failed.
    #[error("{}: {}", shown(url), shown(source))]
    Transport {
        /// The address.
        url: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The relay, or the gateway behind it, did not answer the request. Nothing was sent to the
    /// service without them.
    #[error("{}: {}", shown(url), shown(failure))]
    Relay {
        /// The address at the service.
        url: String,
        /// The relay and the reason.
        failure: RelayFailure,
    },
    /// The call took longer than the timeout of the options.
    #[error("{}: no result within {timeout:?}{}", shown(url), after(reason.as_deref()))]
    TimedOut {
        /// The service's address.
        url: String,
        /// The timeout.
        timeout: Duration,
        /// The last failure or refusal during the call; `None` if the service was silent or slow.
        reason: Option<String>,
    },
    /// The server refused the request.
    #[error("{}: HTTP {status} ({code}): {}", shown(url), shown(message))]
    Http {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The service's error code, or the client's own code for a refusal by a proxy or another
        /// server.
        code: String,
        /// Message of the service.
        message: String,
        /// The version that the server answers, if it refused a request because of its version.
        current: Option<Version>,
    },
    /// A response that is longer than any valid one.
    #[error("{}: the response exceeds the limit of {limit} bytes", shown(url))]
    TooLong {
        /// The address.
        url: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// A download that exceeds the limit of the options. It was not fetched: the service stated its
    /// length before.
    #[error(
        "{}: a download of {length} bytes: expected at most {limit}, the limit of downloads",
        shown(url)
    )]
    TooLarge {
        /// The address.
        url: String,
        /// The length in bytes.
        length: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A response that breaks the protocol.
    #[error("{}: unexpected response: {}", shown(url), shown(reason))]
    Unexpected {
        /// The address.
        url: String,
        /// The fault: the value found, and the value expected.
        reason: String,
    },
    /// The server has no database of this name.
    #[error(
        "{}: no database is named `{name}`; the databases are {known}",
        shown(url)
    )]
    NoSuchDatabase {
        /// The server's address.
        url: String,
        /// The requested name.
        name: String,
        /// The names of its databases.
        known: String,
    },
    /// No name was given, and the server does not have exactly one database.
    #[error(
        "{}: expected the name of a database; the databases are {known}",
        shown(url)
    )]
    ChooseDatabase {
        /// The server's address.
        url: String,
        /// The names of its databases.
        known: String,
    },
    /// The database's root is not the trusted one.
    #[error("{}: the database's root is {found}: expected {expected}", shown(url))]
    Root {
        /// The database's address.
        url: String,
        /// The database's root, or the statement that it has none.
        found: String,
        /// The trusted root.
        expected: Root,
    },
    /// The caller names no database, and the name of the service's only database is not the pinned
    /// one.
    #[error(
        "{}: the only database is named `{found}`: expected `{expected}`, as before (name the database to use another)",
        shown(url)
    )]
    OtherName {
        /// The server's address.
        url: String,
        /// The name of the service's database.
        found: String,
        /// The pinned name.
        expected: String,
    },
    /// The database is not signed. An owner's key is given or pinned, or the options require a
    /// maximum age or cosignatures.
    #[error(
        "{}: the database has no checkpoint: expected one signed under its owner's key",
        shown(url)
    )]
    NoCheckpoint {
        /// The database's address.
        url: String,
    },
    /// The owner's checkpoint is refused, or does not name what the service sent.
    #[error("{}: {error}", shown(url))]
    Checkpoint {
        /// The address of the checkpoint or of the public part.
        url: String,
        /// The reason.
        error: papir_checkpoint::Error,
    },
    /// A list of servers that cannot be used together. Nothing was sent.
    #[error("several servers: {}", shown(reason))]
    Servers {
        /// The reason: the value found, and the value expected.
        reason: String,
    },
    /// None of several servers can be used.
    #[error("none of the {} servers can be used: {}", failures.len(), each(failures))]
    NoServer {
        /// The last failure of each server.
        failures: Vec<ServerFailure>,
    },
    /// There is no directory for client state: neither the option nor the environment names one.
    #[error("no directory for client state: expected --state, XDG_DATA_HOME or HOME")]
    NoStateDirectory,
    /// Client state could not be read or written.
    #[error("client state {}: {source}", path.display())]
    StateFile {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A state file needs a passphrase, and the given one is missing or wrong; or a passphrase is
    /// given, but the file is not encrypted. The file stays unchanged.
    #[error("client state {}: {reason}", path.display())]
    Passphrase {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// A state file that is damaged, of another format, or of another database. The file stays
    /// unchanged.
    #[error("client state {}: {source}{}", path.display(), advice(source))]
    State {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: papir_core::Error,
    },
    /// Another copy of the client's state has used the same ticket. The registration was removed,
    /// and the next lookup registers again.
    #[error(
        "{}: {}: a copy of this client's state is in use; the next lookup registers again",
        shown(url),
        shown(message)
    )]
    StateCopied {
        /// The address.
        url: String,
        /// Message of the service.
        message: String,
    },
    /// The service did not prepare the tickets for the queries in time. No query was sent.
    #[error(
        "{}: the service has not prepared the tickets of this client's next queries: try later",
        shown(url)
    )]
    NoTicket {
        /// The address of the database's clients.
        url: String,
    },
    /// A schedule that cannot be started.
    #[error("unusable schedule: {reason}")]
    Schedule {
        /// The reason: the value found, and the value expected.
        reason: String,
    },
    /// A lookup outside a schedule, of a client that hides its times. Nothing was sent for it.
    #[error(
        "{}: a lookup outside a schedule: {reason}; start a schedule, or do not hide times",
        shown(url)
    )]
    Unscheduled {
        /// The database's address.
        url: String,
        /// The reason.
        reason: &'static str,
    },
    /// The queue of the schedule is full: `most` lookups wait for slots. The lookup was not
    /// submitted.
    #[error("{most} lookups wait for the schedule's next requests: expected fewer, try later")]
    QueueFull {
        /// The maximum number of waiting lookups.
        most: usize,
    },
    /// The schedule has ended before the lookup was answered.
    #[error("the schedule is closed: expected a running one")]
    ScheduleClosed,
    /// The error of a scheduled request, which all its lookups share.
    #[error(transparent)]
    Shared(Arc<Error>),
    /// An error of the lookup, for example a damaged answer.
    #[error(transparent)]
    Lookup(papir_lookup::Error),
    /// An error of the scheme or of a binary format.
    #[error(transparent)]
    Core(#[from] papir_core::Error),
}

/// The failure of one of several servers.
#[derive(Debug)]
pub struct ServerFailure {
    /// The server's address.
    pub url: String,
    /// Its error.
    pub error: Error,
}

/// A group of errors, for languages in which errors are classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorGroup {
    /// The service cannot be reached in time, or refuses a request.
    Network,
    /// A record, a root, a name or a checkpoint does not verify.
    Verification,
    /// The scheme is not private, and was not allowed. No query was sent.
    NotPrivate,
    /// The client does not support the database.
    Unsupported,
    /// Any other error.
    Other,
}

/// The reason of a timeout, for the end of a message.
fn after(reason: Option<&str>) -> String {
    reason
        .map(|reason| format!(": {}", shown(reason)))
        .unwrap_or_default()
}

/// The failures of several servers, each with its address.
fn each(failures: &[ServerFailure]) -> String {
    let texts: Vec<String> = failures.iter().map(of_server).collect();
    texts.join("; ")
}

/// The failure of a server, with its address if the error does not begin with it.
fn of_server(failure: &ServerFailure) -> String {
    let url = shown(&failure.url);
    let text = failure.error.to_string();
    if text.starts_with(&url) {
        text
    } else {
        format!("{url}: {text}")
    }
}

/// Advice for a state file that cannot be read. An error of its format number already contains a
/// remedy.
fn advice(source: &papir_core::Error) -> &'static str {
    match source {
        papir_core::Error::Format { .. } => "",
        _ => " (remove it to register again)",
    }
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
    /// The error for a failed request to the address `url`.
    pub(crate) fn of_failure(
        url: String,
        failure: Box<dyn std::error::Error + Send + Sync>,
    ) -> Self {
        #[cfg(feature = "tokens")]
        let failure = match failure.downcast::<TokenFailure>() {
            Ok(failure) => return failure.0,
            Err(failure) => failure,
        };
        match failure.downcast::<RelayFailure>() {
            Ok(failure) => Self::Relay {
                url,
                failure: *failure,
            },
            Err(source) => Self::Transport { url, source },
        }
    }

    /// Returns true if the service or the client refuses keys, state or queries because of their
    /// version.
    pub(crate) fn is_version_change(&self) -> bool {
        match self {
            Self::Http { status, code, .. } => *status == 409 && code == code::WRONG_VERSION,
            Self::Core(error) => matches!(error, papir_core::Error::WrongVersion { .. }),
            _ => false,
        }
    }

    /// The version that the server answers, if it refuses another one.
    pub(crate) fn current_version(&self) -> Option<Version> {
        if let Self::Http { current, .. } = self {
            *current
        } else {
            None
        }
    }

    /// Returns true if the same operation may succeed later without any change by the caller: the
    /// server is busy, not ready, or unreachable.
    ///
    /// Answers that do not decode or verify are final, even if the server calls them temporary.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Transport { source, .. } => !is_final(source.as_ref()),
            Self::Relay { failure, .. } => failure.is_retryable,
            Self::Http { status, .. } => matches!(status, 408 | 429 | 502..=504),
            Self::NoTicket { .. } | Self::TimedOut { .. } | Self::QueueFull { .. } => true,
            Self::NoServer { failures } => failures.iter().any(|one| one.error.is_retryable()),
            Self::Shared(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// Returns true if one of several servers has this error, before any answer is decoded, so that
    /// another server may be asked.
    ///
    /// Errors of answers are not among them: a lookup that is repeated because an answer does not
    /// decode or verify would tell the servers so.
    pub fn is_of_server(&self) -> bool {
        match self {
            Self::Transport { .. }
            | Self::Relay { .. }
            | Self::TimedOut { .. }
            | Self::Http { .. }
            | Self::TooLong { .. }
            | Self::TooLarge { .. }
            | Self::Unexpected { .. }
            | Self::NoTicket { .. } => true,
            Self::NoSuchDatabase { .. } | Self::ChooseDatabase { .. } => true,
            // Otherwise one server could keep the client from all others by its demands.
            Self::NoIssuer { .. } | Self::BadChallenge { .. } => true,
            error => error.group() == ErrorGroup::Verification && !error.is_of_answer(),
        }
    }

    /// Returns true if the error may be of an answer, of a scheme or of a binary format. Before
    /// anything is looked up, another server may be asked after it.
    pub fn is_of_answer(&self) -> bool {
        matches!(self, Self::Core(_) | Self::Lookup(_) | Self::Shared(_))
    }

    /// The group of this error.
    pub fn group(&self) -> ErrorGroup {
        match self {
            Self::Transport { .. }
            | Self::Relay { .. }
            | Self::TimedOut { .. }
            | Self::Http { .. } => ErrorGroup::Network,
            Self::NoServer { failures } => group_of(failures),

            Self::Root { .. }
            | Self::OtherName { .. }
            | Self::NoCheckpoint { .. }
            | Self::Checkpoint { .. } => ErrorGroup::Verification,
            Self::Lookup(error) if error.code() == "not_committed" => ErrorGroup::Verification,

            Self::Core(papir_core::Error::NotPrivate { .. }) => ErrorGroup::NotPrivate,
            Self::Core(
                papir_core::Error::Parameters { .. } | papir_core::Error::UnknownScheme { .. },
            ) => ErrorGroup::Unsupported,
            Self::Shared(error) => error.group(),
            _ => ErrorGroup::Other,
        }
    }

    /// The error itself, or the one that several lookups of a scheduled request share.
    pub fn unshared(&self) -> &Self {
        match self {
            Self::Shared(error) => error.unshared(),
            error => error,
        }
    }

    /// A short, stable code for programs.
    pub fn code(&self) -> &str {
        match self {
            Self::BadUrl { .. } => "bad_url",
            Self::BadToken => "bad_token",
            Self::TokenInClear { .. } => "token_in_clear",
            Self::BadCa { .. } => "bad_ca",
            Self::BadIdentity { .. } => "bad_identity",
            Self::BadProxy { .. } => "bad_proxy",
            Self::BadRelay { .. } => "bad_relay",
            Self::BadOhttpKeys { .. } => "bad_ohttp_keys",
            Self::BadIssuer { .. } => "bad_issuer",
            Self::NoIssuer { .. } => "no_issuer",
            Self::BadChallenge { .. } => "bad_challenge",

            Self::Transport { .. } => "transport",
            Self::Relay { .. } => "relay",
            Self::TimedOut { .. } => "timed_out",
            Self::Http { code, .. } => code,
            Self::TooLong { .. } => "too_long",
            Self::TooLarge { .. } => "too_large",
            Self::Unexpected { .. } => "unexpected",
            Self::NoSuchDatabase { .. } => "unknown_database",
            Self::ChooseDatabase { .. } => "choose_database",

            Self::Root { .. } => "wrong_root",
            Self::OtherName { .. } => "other_name",
            Self::NoCheckpoint { .. } => code::NO_CHECKPOINT,
            Self::Checkpoint { error, .. } => error.code(),

            Self::Servers { .. } => "servers",
            Self::NoServer { .. } => "no_server",

            Self::NoStateDirectory => "no_state_directory",
            Self::StateFile { .. } => "state_file",
            Self::Passphrase { .. } => "passphrase",
            Self::State { .. } => "state",
            Self::StateCopied { .. } => "state_copied",
            Self::NoTicket { .. } => code::NO_TICKET,

            Self::Schedule { .. } => "schedule",
            Self::Unscheduled { .. } => "unscheduled",
            Self::QueueFull { .. } => "queue_full",
            Self::ScheduleClosed => "schedule_closed",
            Self::Shared(error) => error.code(),

            Self::Lookup(error) => error.code(),
            Self::Core(error) => error.code(),
        }
    }
}

/// The failure to find a token for a request. Its error is the result of the call, in place of an
/// [`Error::Transport`].
#[cfg(feature = "tokens")]
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct TokenFailure(pub(crate) Error);

#[cfg(feature = "tokens")]
impl TokenFailure {
    /// The failure with this error.
    pub(crate) fn of(error: Error) -> Box<dyn std::error::Error + Send + Sync> {
        Box::new(Self(error))
    }
}

/// Returns true if no retry resolves the failure of a request.
pub(crate) fn is_final(failure: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    // The fetch of tokens has made its own retries.
    #[cfg(feature = "tokens")]
    if failure.is::<TokenFailure>() {
        return true;
    }
    match failure.downcast_ref::<RelayFailure>() {
        Some(failure) => !failure.is_retryable,
        None => failure.is::<FinalFailure>(),
    }
}

/// The group that all failures have, else that of the network.
fn group_of(failures: &[ServerFailure]) -> ErrorGroup {
    let mut groups = failures.iter().map(|one| one.error.group());
    match groups.next() {
        Some(first) if groups.all(|group| group == first) => first,
        _ => ErrorGroup::Network,
    }
}

/// Makes the error for a refused checkpoint. `url` is the address of the checkpoint or of the
/// public part.
pub(crate) fn refused_checkpoint(url: &str, error: papir_checkpoint::Error) -> Error {
    Error::Checkpoint {
        url: url.to_owned(),
        error,
    }
}

/// Makes the error for a response that breaks the protocol.
pub(crate) fn unexpected(url: &str, reason: String) -> Error {
    Error::Unexpected {
        url: url.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests;
