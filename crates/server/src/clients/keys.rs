//! Storage of client keys, as they were sent.

use std::collections::HashSet;

use super::id::ClientId;
use super::tables::Result;

/// Stores the keys of clients. What is stored is durable on return.
pub(super) trait KeyStorage: Send + Sync {
    /// Number of bytes of an upload that have arrived.
    fn offset(&self, id: ClientId) -> Result<u64>;

    /// Appends a part at `offset`. Returns false, and stores nothing, if the upload has another
    /// length.
    fn append(&self, id: ClientId, offset: u64, part: &[u8]) -> Result<bool>;

    /// The bytes of an upload so far.
    fn read_upload(&self, id: ClientId) -> Result<Vec<u8>>;

    /// Turns a complete upload into the client's keys.
    fn finish(&self, id: ClientId) -> Result<()>;

    /// The keys of a client; `None` if they are not there.
    fn read(&self, id: ClientId) -> Result<Option<Vec<u8>>>;

    /// Removes the keys and the upload of a client, as far as possible now.
    fn remove(&self, id: ClientId);

    /// Removes the keys of unknown clients.
    fn sweep(&self, known: &HashSet<ClientId>) -> Result<()>;
}
