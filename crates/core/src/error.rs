//! One family of errors: each says what was found and what was expected.

use crate::Version;

/// The result of every fallible function of papir.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong between records and an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A database needs at least one record.
    #[error("the database is empty: expected at least one record")]
    EmptyDatabase,
    /// A size that the scheme or the format cannot take.
    #[error("{what} is {found}: expected {expected}")]
    OutOfBounds {
        /// The quantity.
        what: &'static str,
        /// Its value.
        found: u64,
        /// What would be accepted, in words.
        expected: String,
    },
    /// An index beyond the last record.
    #[error("index {found} is out of range: the database has {records} records (0 to {})", records - 1)]
    IndexOutOfRange {
        /// The index asked for.
        found: u64,
        /// The number of records.
        records: u64,
    },
    /// More or fewer indices than one query of the scheme holds.
    #[error("{found} indices in one query: {scheme} takes 1 to {capacity}")]
    BatchSize {
        /// The scheme's name.
        scheme: &'static str,
        /// Indices given.
        found: usize,
        /// The scheme's batch capacity.
        capacity: usize,
    },
    /// A message, section or buffer of the wrong length.
    #[error("{what} has {found} bytes: expected {expected}")]
    Length {
        /// What was measured.
        what: &'static str,
        /// Its length in bytes.
        found: u64,
        /// The length it should have, in bytes.
        expected: u64,
    },
    /// Bytes that do not parse.
    #[error("{what} is malformed: found {found}, expected {expected}")]
    Malformed {
        /// What was parsed.
        what: &'static str,
        /// What stood there.
        found: String,
        /// What should have stood there.
        expected: String,
    },
    /// A file of a format version that this build does not read.
    #[error(
        "{what} has format version {found}: this papir reads {}; {remedy}",
        versions(*oldest, *newest)
    )]
    Format {
        /// What has the format, with an article.
        what: &'static str,
        /// The version found.
        found: u32,
        /// The oldest version that is read.
        oldest: u32,
        /// The newest version that is read.
        newest: u32,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A checksum that does not match its bytes.
    #[error("{what} is damaged: its checksum does not match its bytes")]
    Checksum {
        /// The message, file or section.
        what: String,
    },
    /// A message of another scheme.
    #[error("message of scheme number {found}: expected {expected}")]
    WrongScheme {
        /// Scheme number found in the message.
        found: u16,
        /// The scheme's own number.
        expected: u16,
    },
    /// A message made for another version of the database.
    #[error("message for version {found} of the database: expected {expected}")]
    WrongVersion {
        /// The version in the message.
        found: Version,
        /// The version at hand.
        expected: Version,
    },
    /// A scheme name that the registry does not have.
    #[error("unknown scheme `{found}`: expected one of {expected}")]
    UnknownScheme {
        /// The name given.
        found: String,
        /// The names there are.
        expected: String,
    },
    /// No parameters exist for what was asked.
    #[error("no parameters of {scheme} fit: {reason}")]
    Parameters {
        /// The scheme's name.
        scheme: &'static str,
        /// Which condition failed, with figures.
        reason: String,
    },
    /// A choice of parameters fixes one that the scheme does not have.
    #[error("{scheme} has no {what}")]
    NoSuchParameter {
        /// The scheme's name.
        scheme: &'static str,
        /// The parameter.
        what: &'static str,
    },
    /// Parameters below the security that papir ships.
    #[error("insecure parameters: {found} bits, expected at least {expected}")]
    Insecure {
        /// Estimated bits of security, in words where there is no estimate.
        found: String,
        /// The least that is accepted.
        expected: u32,
    },
    /// A scheme without privacy was asked to serve without an acknowledgement.
    #[error("{scheme} is not private ({reason}): it serves only when told so explicitly")]
    NotPrivate {
        /// The scheme's name.
        scheme: &'static str,
        /// Why it is not private.
        reason: &'static str,
    },
    /// The key of a database's owner is missing, or another's.
    #[error("an encrypted database needs {expected}: found {found}")]
    OwnerKey {
        /// Which key was given, by what tells it from others.
        found: String,
        /// Which is needed.
        expected: String,
    },
    /// The scheme needs registered client keys (or a ticket) that the session lacks.
    #[error("{scheme} needs {what}: the session has none")]
    Session {
        /// The scheme's name.
        scheme: &'static str,
        /// What is missing.
        what: &'static str,
    },
    /// The answer does not decode under the query's secret. Told to the local caller only.
    #[error("the answer does not decode: it was damaged, or answers another query")]
    NotDecodable,
    /// A section that a prepared database must have.
    #[error("section `{name}` is missing")]
    MissingSection {
        /// The section's name.
        name: String,
    },
    /// The scheme's prepared databases do not give their records back.
    #[error("a prepared database of {scheme} does not give its records back: prepare from their source")]
    Unreadable {
        /// The scheme's name.
        scheme: &'static str,
    },
    /// The operating system refused.
    #[error("{what}: {source}")]
    Io {
        /// What was being done, and to which file.
        what: String,
        /// The system's own error.
        source: std::io::Error,
    },
}

impl Error {
    /// A short stable code for machines, as sent in the service's JSON errors.
    pub fn code(&self) -> &'static str {
        match self {
            Self::EmptyDatabase => "empty_database",
            Self::OutOfBounds { .. } => "out_of_bounds",
            Self::IndexOutOfRange { .. } => "index_out_of_range",
            Self::BatchSize { .. } => "batch_size",
            Self::Length { .. } => "wrong_length",
            // The code is older than the variant, and stays.
            Self::Malformed { .. } | Self::Format { .. } => "malformed",
            Self::Checksum { .. } => "checksum",
            Self::WrongScheme { .. } => "wrong_scheme",
            Self::WrongVersion { .. } => "wrong_version",
            Self::UnknownScheme { .. } => "unknown_scheme",
            Self::Parameters { .. } => "no_parameters",
            Self::NoSuchParameter { .. } => "no_such_parameter",
            Self::Insecure { .. } => "insecure",
            Self::NotPrivate { .. } => "not_private",
            Self::OwnerKey { .. } => "owner_key",
            Self::Session { .. } => "session",
            Self::NotDecodable => "not_decodable",
            Self::MissingSection { .. } => "missing_section",
            Self::Unreadable { .. } => "unreadable",
            Self::Io { .. } => "io",
        }
    }

    /// An [`Error::Malformed`] from anything that prints.
    pub fn malformed(what: &'static str, found: impl ToString, expected: impl ToString) -> Self {
        Self::Malformed { what, found: found.to_string(), expected: expected.to_string() }
    }

    /// An [`Error::OutOfBounds`] from anything that prints.
    pub fn out_of_bounds(what: &'static str, found: u64, expected: impl ToString) -> Self {
        Self::OutOfBounds { what, found, expected: expected.to_string() }
    }

    /// Checks a length in bytes.
    ///
    /// # Errors
    /// [`Error::Length`] when the two differ.
    pub fn check_length(what: &'static str, found: usize, expected: usize) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        Err(Self::Length { what, found: found as u64, expected: expected as u64 })
    }
}

/// A range of format versions in words.
fn versions(oldest: u32, newest: u32) -> String {
    if oldest == newest {
        return format!("version {newest}");
    }
    format!("versions {oldest} to {newest}")
}
