//! Where registrations are kept and within which bounds.

use std::path::PathBuf;
use std::time::Duration;

/// Settings of the client registry. Quotas are for each database by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryConfig {
    /// The directory of the tables and the keys; made where it is missing.
    pub directory: PathBuf,
    /// Time after its last use at which a client is gone.
    pub ttl: Duration,
    /// Time after its last part at which an upload is gone.
    pub upload_ttl: Duration,
    /// Most clients; beyond, the least recently used one has to go.
    pub max_clients: u64,
    /// Most bytes of keys and tickets; beyond, likewise.
    pub max_bytes: u64,
    /// Tickets that are prepared ahead for each client; at least as many as one key's lookup takes.
    pub tickets_ahead: u64,
    /// Bytes of keys (as sent) that stay parsed in memory, over all databases.
    pub cached_bytes: u64,
    /// Whether `GET …/clients` lists the clients. Whoever reads the list can use them.
    pub allow_list: bool,
}

impl RegistryConfig {
    /// A registry in `directory`: 30 days, an hour for an upload to go on, 10,000 clients, 16 GiB,
    /// 4 tickets ahead, 1 GiB of parsed keys, no list.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            ttl: Duration::from_secs(30 * 24 * 3600),
            upload_ttl: Duration::from_secs(3600),
            max_clients: 10_000,
            max_bytes: 16 << 30,
            tickets_ahead: 4,
            cached_bytes: 1 << 30,
            allow_list: false,
        }
    }
}
