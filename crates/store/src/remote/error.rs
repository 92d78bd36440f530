//! Errors of object stores.

use papir_core::{Error as CoreError, without_passwords};

/// The error of an object store client.
type StoreError = Box<dyn std::error::Error + Send + Sync>;

/// Errors of object stores and their contents.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// An address that names no object.
    #[error("bad address `{url}`: {reason}")]
    BadUrl {
        /// The address given.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The store's settings in the environment are missing or invalid.
    #[error("{url}: invalid settings: {}", reasons(source.as_ref()))]
    Settings {
        /// The address.
        url: String,
        /// The client's error.
        source: StoreError,
    },
    /// The object does not exist.
    #[error("no such object: {object}")]
    NotFound {
        /// Its address.
        object: String,
    },
    /// The store denies this client the operation.
    #[error("{doing} {object}: no permission: {}", reasons(source.as_ref()))]
    Denied {
        /// The operation.
        doing: &'static str,
        /// The object's address.
        object: String,
        /// The store's error.
        source: StoreError,
    },
    /// Any other failure of the store or the network, after all retries.
    #[error("{doing} {object}: {}", reasons(source.as_ref()))]
    Store {
        /// The operation.
        doing: &'static str,
        /// The object's address.
        object: String,
        /// The store's error.
        source: StoreError,
    },
    /// An invalid manifest, or an object of a folder that is no file.
    #[error("{object}: {error}")]
    Manifest {
        /// Its address.
        object: String,
        /// The reason.
        error: CoreError,
    },
    /// A part that differs from its entry in the manifest.
    #[error(
        "part {part} of {parts} is damaged: {object} has {found}: expected {expected}: remove the object, and push \
         the snapshot again"
    )]
    Damaged {
        /// The part's number, from 1.
        part: usize,
        /// Number of parts of the snapshot.
        parts: usize,
        /// The part's address.
        object: String,
        /// Its length or BLAKE3.
        found: String,
        /// The length or BLAKE3 in the manifest.
        expected: String,
    },
    /// Parts that match their entries, but together are not the file that the manifest describes.
    #[error("{object}: the parts together have BLAKE3 {found}: expected {expected}")]
    Inconsistent {
        /// The manifest's address.
        object: String,
        /// BLAKE3 of all parts together.
        found: String,
        /// BLAKE3 of the file in the manifest.
        expected: String,
    },
    /// The transfer thread panicked.
    #[error("the transfer ended unexpectedly")]
    Stopped,
}

impl RemoteError {
    /// Returns whether the same operation may succeed later: the store or the network failed.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Store { .. } | Self::Stopped)
    }

    /// A short, stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadUrl { .. } => "bad_url",
            Self::Settings { .. } => "settings",
            Self::NotFound { .. } => "no_such_object",
            Self::Denied { .. } => "no_permission",
            Self::Store { .. } => "store",
            Self::Manifest { error, .. } => error.code(),
            Self::Damaged { .. } | Self::Inconsistent { .. } => "checksum",
            Self::Stopped => "stopped",
        }
    }
}

/// An error's message, followed by the messages of its causes that it does not repeat. A cause can
/// be the only place that names, for example, an unknown certificate.
fn reasons(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();

    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        next = cause.source();
    }
    // The store's address may come with a password, from a variable of the environment.
    without_passwords(&words)
}
