//! One version of a prepared database, behind trait objects.

use crate::{Description, Result, Version};

/// One version of a prepared database, on the side of a server or a client.
pub trait ErasedVersion: Send + Sync {
    /// Sizes, security, limits, parameters.
    fn describe(&self) -> Description;

    /// The database's version.
    fn version(&self) -> Version;
}

/// One version of a prepared database that clients can query.
pub trait ErasedDatabase: ErasedVersion {
    /// The public part, in an envelope.
    fn public(&self) -> Vec<u8>;

    /// Checks an enveloped query without answering it.
    ///
    /// # Errors
    /// The errors of the envelope, [`Error::WrongVersion`](crate::Error::WrongVersion), and of
    /// parsing.
    fn check_query(&self, query: &[u8]) -> Result<()>;
}
