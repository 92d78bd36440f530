//! What can go wrong between a file and an object store.

use papir_core::Error as CoreError;

/// Errors of object stores and of what lies in them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// An address that names no object.
    #[error("bad address `{url}`: {reason}")]
    BadUrl {
        /// The address given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The store's settings in the environment do not suffice.
    #[error("{url}: the store's settings: {}", reasons(source))]
    Settings {
        /// The address.
        url: String,
        /// What is missing or wrong.
        source: object_store::Error,
    },
    /// The object is not there.
    #[error("no such object: {object}")]
    NotFound {
        /// Its address.
        object: String,
    },
    /// The store does not let this client do it.
    #[error("{doing} {object}: no permission: {}", reasons(source))]
    Denied {
        /// What was tried.
        doing: &'static str,
        /// The object's address.
        object: String,
        /// The store's own words.
        source: object_store::Error,
    },
    /// Any other failure of the store or of the way to it, after all retries.
    #[error("{doing} {object}: {}", reasons(source))]
    Store {
        /// What was tried.
        doing: &'static str,
        /// The object's address.
        object: String,
        /// The store's own words.
        source: object_store::Error,
    },
    /// A manifest that cannot be used.
    #[error("{object}: {error}")]
    Manifest {
        /// Its address.
        object: String,
        /// What is wrong with it.
        error: CoreError,
    },
    /// A part that is not what the manifest says.
    #[error("part {part} of {parts} is damaged: {object} has {found}: expected {expected}")]
    Damaged {
        /// Which part, from 1.
        part: usize,
        /// How many the snapshot has.
        parts: usize,
        /// The part's address.
        object: String,
        /// Its length or BLAKE3.
        found: String,
        /// Those that the manifest gives.
        expected: String,
    },
    /// Parts that are right each by itself and make up another file than the manifest says.
    #[error("{object}: the parts together have BLAKE3 {found}: expected {expected}")]
    Inconsistent {
        /// The manifest's address.
        object: String,
        /// The BLAKE3 of the parts together.
        found: String,
        /// That of the manifest.
        expected: String,
    },
    /// The thread that talks to the store ended abnormally.
    #[error("the transfer did not end")]
    Stopped,
}

impl RemoteError {
    /// A short stable code for machines.
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

    /// What to make of a store's refusal.
    pub(super) fn of(doing: &'static str, object: String) -> impl FnOnce(object_store::Error) -> Self {
        use object_store::Error as StoreError;
        move |source| match source {
            StoreError::NotFound { .. } => Self::NotFound { object },
            StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
                Self::Denied { doing, object, source }
            }
            source => Self::Store { doing, object, source },
        }
    }
}

/// A store's own words with the causes that they leave out: a certificate that nobody knows, say.
fn reasons(error: &object_store::Error) -> String {
    let mut words = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let more = cause.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        next = cause.source();
    }
    words
}
