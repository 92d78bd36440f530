//! Errors of schemes and formats, with the value found and the value expected.

use crate::Version;

/// The result type of papir's fallible functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of schemes, records and file formats.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A database needs at least one record.
    #[error("the database is empty: expected at least one record")]
    EmptyDatabase,
    /// A number, for example a size, that the scheme or the format does not support.
    #[error("{what} is {found}: expected {expected}")]
    OutOfBounds {
        /// Name of the quantity.
        what: &'static str,
        /// Value of the quantity.
        found: u64,
        /// The accepted values, in words.
        expected: String,
    },
    /// An index beyond the last record.
    #[error("index {found} is out of range: the database has {records} records (0 to {})", records - 1)]
    IndexOutOfRange {
        /// The requested index.
        found: u64,
        /// The number of records.
        records: u64,
    },
    /// A query with no index, or with more indices than one query of the scheme supports.
    #[error("{found} indices in one query: {scheme} accepts 1 to {capacity}")]
    BatchSize {
        /// The scheme's name.
        scheme: &'static str,
        /// The number of indices given.
        found: usize,
        /// The scheme's batch capacity.
        capacity: usize,
    },
    /// A message, section or buffer of the wrong length.
    #[error("{what} has {found} bytes: expected {expected}")]
    Length {
        /// Name of the message, section or buffer.
        what: &'static str,
        /// Length in bytes.
        found: u64,
        /// Expected length in bytes.
        expected: u64,
    },
    /// Bytes or a text that do not parse, or a value that is not accepted.
    #[error("{what} is malformed: found {found}, expected {expected}")]
    Malformed {
        /// Name of the parsed bytes.
        what: &'static str,
        /// The invalid value.
        found: String,
        /// Description of valid values.
        expected: String,
    },
    /// A file of a format version that this build does not read.
    #[error(
        "{what} has format version {found}: this papir reads {}; {remedy}",
        versions(*oldest, *newest)
    )]
    Format {
        /// The kind of file, with an article.
        what: &'static str,
        /// The version found.
        found: u32,
        /// The oldest version that is read.
        oldest: u32,
        /// The newest version that is read.
        newest: u32,
        /// The remedy, as an instruction.
        remedy: &'static str,
    },
    /// A checksum that does not match its bytes.
    #[error("{what} is damaged: its checksum does not match its bytes")]
    Checksum {
        /// The message, file or section.
        what: String,
    },
    /// A message for another scheme.
    #[error("message for scheme number {found}: expected {expected}")]
    WrongScheme {
        /// Scheme number found in the message.
        found: u16,
        /// The expected scheme number.
        expected: u16,
    },
    /// A message made for another version of the database.
    #[error("message for version {found} of the database: expected {expected}")]
    WrongVersion {
        /// The version in the message.
        found: Version,
        /// The expected version.
        expected: Version,
    },
    /// A scheme name that is not in the registry.
    #[error("unknown scheme `{found}`: expected one of {expected}")]
    UnknownScheme {
        /// The given name.
        found: String,
        /// The known names.
        expected: String,
    },
    /// A machine with a part of the database did not answer, or answered wrongly. The client may
    /// send the same query again.
    #[error("a part of the database is unavailable: {reason}")]
    Unavailable {
        /// The machine's error, or the fault in its answer.
        reason: String,
    },
    /// A device failed, or its memory does not suffice.
    #[error("{device}: {reason}")]
    Device {
        /// The device's name and place.
        device: String,
        /// The device's error, or the memory that is free and the memory that is needed.
        reason: String,
    },
    /// No parameters of the scheme meet the request, or the scheme does not support the operation.
    #[error("no parameters of {scheme} fit: {reason}")]
    Parameters {
        /// The scheme's name.
        scheme: &'static str,
        /// The condition that failed, with figures.
        reason: String,
    },
    /// A choice fixes a parameter that the scheme does not have.
    #[error("{scheme} has no {what}")]
    NoSuchParameter {
        /// The scheme's name.
        scheme: &'static str,
        /// The parameter.
        what: &'static str,
    },
    /// Parameters below papir's minimum security.
    #[error("insecure parameters: {found} bits, expected at least {expected}")]
    Insecure {
        /// Estimated bits of security, or words if there is no estimate.
        found: String,
        /// The minimum that is accepted.
        expected: u32,
    },
    /// A scheme that is not private was used without an acknowledgement.
    #[error("{scheme} is not private ({reason}): it must be allowed explicitly")]
    NotPrivate {
        /// The scheme's name.
        scheme: &'static str,
        /// The reason why it is not private.
        reason: &'static str,
    },
    /// The key of a database's owner is missing or wrong.
    #[error("an encrypted database needs {expected}: found {found}")]
    OwnerKey {
        /// The given key's fingerprint, or a statement that there is no key.
        found: String,
        /// The fingerprint or description of the required key.
        expected: String,
    },
    /// The scheme needs registered client keys or a ticket, which the session lacks.
    #[error("{scheme} needs {what}: the session has none")]
    Session {
        /// The scheme's name.
        scheme: &'static str,
        /// The missing keys or ticket.
        what: &'static str,
    },
    /// The answer does not decode under the query's secret. Reported to the local caller only.
    #[error("the answer does not decode: it was damaged, or it answers another query")]
    NotDecodable,
    /// A required section of a prepared database is missing.
    #[error("section `{name}` is missing")]
    MissingSection {
        /// The section's name.
        name: String,
    },
    /// The scheme cannot read records back from its prepared databases.
    #[error(
        "records cannot be read back from a prepared database of {scheme}: prepare it from the source"
    )]
    Unreadable {
        /// The scheme's name.
        scheme: &'static str,
    },
    /// An I/O error of the operating system.
    #[error("{what}: {source}")]
    Io {
        /// The operation that failed, with its file.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl Error {
    /// A short stable code for machines, used in the server's JSON errors.
    pub fn code(&self) -> &'static str {
        match self {
            Self::EmptyDatabase => "empty_database",
            Self::OutOfBounds { .. } => "out_of_bounds",
            Self::Unavailable { .. } => "unavailable",
            Self::Device { .. } => "device",
            Self::IndexOutOfRange { .. } => "index_out_of_range",
            Self::BatchSize { .. } => "batch_size",
            Self::Length { .. } => "wrong_length",
            // Codes are stable: `Format` keeps the code from before it was a variant of its own.
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

    /// Creates an [`Error::Malformed`] from displayable values.
    pub fn malformed(what: &'static str, found: impl ToString, expected: impl ToString) -> Self {
        Self::Malformed {
            what,
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    /// Creates an [`Error::OutOfBounds`] from a displayable value.
    pub fn out_of_bounds(what: &'static str, found: u64, expected: impl ToString) -> Self {
        Self::OutOfBounds {
            what,
            found,
            expected: expected.to_string(),
        }
    }

    /// Checks a length in bytes.
    ///
    /// # Errors
    /// [`Error::Length`] if `found` differs from `expected`.
    pub fn check_length(what: &'static str, found: usize, expected: usize) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        Err(Self::Length {
            what,
            found: found as u64,
            expected: expected as u64,
        })
    }
}

/// Bytes as an error message shows them: text in backquotes if they are printable ASCII, else
/// hexadecimal digits.
pub fn shown_bytes(bytes: &[u8]) -> String {
    let printable = !bytes.is_empty() && bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
    match std::str::from_utf8(bytes) {
        Ok(text) if printable => format!("`{text}`"),
        _ => bytes.iter().fold("0x".to_owned(), |digits, byte| {
            format!("{digits}{byte:02x}")
        }),
    }
}

/// A range of format versions in words.
fn versions(oldest: u32, newest: u32) -> String {
    if oldest == newest {
        return format!("version {newest}");
    }
    format!("versions {oldest} to {newest}")
}
