//! Errors of sources and snapshots.

use std::path::Path;

use crate::file::{name_of, shown};
use crate::remote::RemoteError;

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of sources and snapshots, and of the crates below.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the scheme or the system.
    #[error(transparent)]
    Core(#[from] papir_core::Error),
    /// An error of the keyword table.
    #[error(transparent)]
    Lookup(#[from] papir_lookup::Error),
    /// A requested column that the source does not have.
    #[error("{file}: no column `{column}`: expected one of {available}")]
    MissingColumn {
        /// The source.
        file: String,
        /// The requested column.
        column: String,
        /// The columns of the source.
        available: String,
    },
    /// An invalid line of a text source.
    #[error("{file}, line {line}: {reason}")]
    Line {
        /// The source.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The value found and the one expected.
        reason: String,
    },
    /// An invalid row of a table.
    #[error("{file}, row {row}: {reason}")]
    Row {
        /// The source.
        file: String,
        /// The row, from 1.
        row: u64,
        /// The value found and the one expected.
        reason: String,
    },
    /// A file with invalid content.
    #[error("{file}: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// The value found and the one expected.
        reason: String,
    },
    /// Two rows of a table with the same key, if duplicates are refused.
    #[error(
        "{file}, row {row}: the key `{key}` was already in row {first}: expected each key once"
    )]
    DuplicateKey {
        /// The source.
        file: String,
        /// The key as text, shortened.
        key: String,
        /// The first row, from 1.
        first: u64,
        /// The second row.
        row: u64,
    },
    /// Two rows of a table with the same key, which is not known any more, if duplicates are
    /// refused.
    #[error("{file}, row {row}: its key was already in row {first}: expected each key once")]
    RepeatedKey {
        /// The source.
        file: String,
        /// The first row, from 1.
        first: u64,
        /// The second row.
        row: u64,
    },
    /// Two rows of several files with the same key, if duplicates are refused.
    #[error("{place}: the key `{key}` was already in {first}: expected each key once")]
    DuplicateInFiles {
        /// The second row, as in `b.csv, line 7`.
        place: String,
        /// The key as text, shortened.
        key: String,
        /// The first row.
        first: String,
    },
    /// Two rows of several files with the same key, which is not known any more, if duplicates are
    /// refused.
    #[error("{place}: its key was already in {first}: expected each key once")]
    RepeatedInFiles {
        /// The second row, as in `b.csv, line 7`.
        place: String,
        /// The first row.
        first: String,
    },
    /// An error of the source as a whole.
    #[error("{file}: {error}")]
    Source {
        /// The source.
        file: String,
        /// The error.
        error: papir_lookup::Error,
    },
    /// A raw file whose length is not a multiple of the record length.
    #[error("{file} has {found} bytes: expected a multiple of the record length, {record_bytes}")]
    PartialRecord {
        /// The source.
        file: String,
        /// Its length in bytes.
        found: u64,
        /// The record length in bytes.
        record_bytes: u64,
    },
    /// A source or location that needs a feature missing from this build.
    #[error(
        "{found} is {kind}, and this build of papir has no {support} support: build with the feature `{feature}`"
    )]
    MissingFeature {
        /// The source or location.
        found: String,
        /// Its kind, with an article.
        kind: &'static str,
        /// The kind of support that this build lacks.
        support: &'static str,
        /// The feature of the crate.
        feature: &'static str,
    },
    /// Options that contradict each other.
    #[error("{found}: expected {expected}")]
    Options {
        /// The options given.
        found: String,
        /// The options that are accepted.
        expected: String,
    },
    /// More changes since the base than a delta may have.
    #[error(
        "{entries} changes of {bytes} bytes since the base: expected at most {most} bytes: merge them first (papir merge)"
    )]
    DeltaFull {
        /// Number of changed keys or records.
        entries: u64,
        /// Bytes of all changes.
        bytes: u64,
        /// The most that they may have.
        most: u64,
    },
    /// An invalid snapshot file.
    #[error("{file}: {error}")]
    Snapshot {
        /// The snapshot.
        file: String,
        /// The error.
        error: papir_core::Error,
    },
    /// A snapshot that does not fit into memory.
    #[error(
        "{file} has {bytes} bytes, and only {free} bytes of memory are free: map the file instead"
    )]
    Memory {
        /// The snapshot.
        file: String,
        /// Its length in bytes.
        bytes: u64,
        /// Bytes of memory that are free.
        free: u64,
    },
    /// A file that does not fit on the disk.
    #[error("{file} needs {needed} bytes of disk, and only {free} are free")]
    Disk {
        /// The file.
        file: String,
        /// Bytes that it needs, with other files of the same work.
        needed: u64,
        /// Bytes of disk that are free.
        free: u64,
    },
    /// An invalid checkpoint in a snapshot, or a signature that cannot be made.
    #[error("{file}: {error}")]
    Checkpoint {
        /// The snapshot.
        file: String,
        /// The error.
        error: papir_checkpoint::Error,
    },
    /// A version without a signature would replace a signed one, and lock out the clients that pin
    /// its owner's key.
    #[error(
        "{file} is signed (sequence {sequence}): expected a key to sign the next version, or the explicit choice \
         of an unsigned one, which clients that pin the owner's key refuse"
    )]
    Signed {
        /// The snapshot.
        file: String,
        /// The sequence of its version.
        sequence: u64,
    },
    /// An error of an object store.
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

impl Error {
    /// A short, stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Core(error) | Self::Snapshot { error, .. } => error.code(),
            Self::Lookup(error) | Self::Source { error, .. } => error.code(),
            Self::Checkpoint { error, .. } => error.code(),
            Self::Remote(error) => error.code(),

            Self::MissingColumn { .. } => "missing_column",
            Self::Line { .. } => "bad_line",
            Self::Row { .. } => "bad_row",
            Self::DuplicateKey { .. }
            | Self::RepeatedKey { .. }
            | Self::DuplicateInFiles { .. }
            | Self::RepeatedInFiles { .. } => "duplicate_key",
            Self::Unreadable { .. } => "unreadable",
            Self::PartialRecord { .. } => "partial_record",
            Self::MissingFeature { .. } => "missing_feature",
            Self::Options { .. } => "options",
            Self::DeltaFull { .. } => "delta_full",
            Self::Memory { .. } => "memory",
            Self::Disk { .. } => "disk",
            Self::Signed { .. } => "signed",
        }
    }

    /// Wraps an I/O error of an operation on a file.
    pub(crate) fn io(doing: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let what = format!("{doing} {}", shown(path));
        |source| papir_core::Error::Io { what, source }.into()
    }

    /// Wraps an error of a source's content with the source's name.
    pub(crate) fn of_source(path: &Path) -> impl Fn(papir_lookup::Error) -> Self {
        let file = name_of(path);
        move |error| Self::Source {
            file: file.clone(),
            error,
        }
    }

    /// Wraps an error of a snapshot's content with the file's name.
    pub(crate) fn of_snapshot(path: &Path) -> impl Fn(papir_core::Error) -> Self {
        let file = shown(path);
        move |error| Self::Snapshot {
            file: file.clone(),
            error,
        }
    }

    /// Wraps an error of loading a snapshot or a delta with the file's name.
    pub(crate) fn of_loading(path: &Path) -> impl Fn(papir_lookup::Error) -> Self {
        move |error| match error {
            papir_lookup::Error::Core(error) => Self::of_snapshot(path)(error),
            other => Self::of_source(path)(other),
        }
    }

    /// Wraps an error of a checkpoint with the name of its file.
    pub(crate) fn of_checkpoint(path: &Path) -> impl Fn(papir_checkpoint::Error) -> Self {
        let file = shown(path);
        move |error| Self::Checkpoint {
            file: file.clone(),
            error,
        }
    }

    /// The error for a file with invalid content.
    pub(crate) fn unreadable(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unreadable {
            file: shown(path),
            reason: reason.into(),
        }
    }

    /// The error for options that contradict each other.
    pub(crate) fn options(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Options {
            found: found.into(),
            expected: expected.into(),
        }
    }
}

/// The error of an operation on a file, such as "writing".
pub(crate) fn io(doing: &str, path: &Path, source: std::io::Error) -> papir_core::Error {
    papir_core::Error::Io {
        what: format!("{doing} {}", shown(path)),
        source,
    }
}
