//! Settings of the client registry.

use std::path::PathBuf;
use std::time::Duration;

use papir_store::postgres::Login;
use papir_store::remote::StoreProxy;

/// Settings of the client registry. Quotas apply to each database separately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryConfig {
    /// The place of its tables and keys.
    pub place: RegistryPlace,
    /// Lifetime of a client after its last use.
    pub ttl: Duration,
    /// Lifetime of an upload after its last part.
    pub upload_ttl: Duration,
    /// Maximum number of clients. Beyond this a new client replaces one that has not queried for 10
    /// minutes after registering, or else one that was not used for a day. Without such a client,
    /// it is refused. One token or network may have a tenth of the clients, and a hundredth of them
    /// before they query, but at least four. All private tokens may have half of the clients, and a
    /// tenth of them before they query.
    pub max_clients: u64,
    /// Maximum bytes of keys and tickets, with the same rules. One token or network may have a
    /// quarter with several clients, and all private tokens may have half.
    pub max_bytes: u64,
    /// Tickets prepared ahead for each client that has queried, at least as many as one key lookup
    /// needs. Before its first query, a client has tickets for one lookup.
    pub tickets_ahead: u64,
    /// Limit on the parsed keys in memory, over all databases. Counts the bytes of keys as sent.
    pub cached_bytes: u64,
    /// Enables `GET …/clients` without tokens. Anyone who reads the list can use the clients' keys.
    pub allow_list: bool,
}

/// The place of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryPlace {
    /// In a directory, created if missing. One service can have it open.
    Directory(PathBuf),
    /// In a PostgreSQL server, which several services may share.
    Postgres(PostgresConfig),
}

/// A registry in a PostgreSQL server.
///
/// A change must be on disk when the server says so. So the service refuses a server with `fsync`,
/// `full_page_writes` or `synchronous_commit` off, and one with standbys of which none is
/// synchronous.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostgresConfig {
    /// The server.
    pub login: Login,
    /// Address of the folder in an object store for parts of keys longer than 64 KiB: `s3://…`,
    /// `gs://…`, `az://…` or `file:///…`. All services must reach it. If `None`, PostgreSQL stores
    /// them, too.
    pub keys: Option<String>,
    /// The proxy of connections to this store.
    pub keys_proxy: Option<StoreProxy>,
    /// PEM file of certificates that connections to this store trust; `None` for those that the
    /// user's environment trusts.
    pub keys_roots: Option<PathBuf>,
}

impl RegistryConfig {
    /// Defaults for a registry in `directory`: clients expire after 30 days and uploads after an
    /// hour; at most 10,000 clients and 16 GiB; 4 tickets ahead; 1 GiB of parsed keys; no list.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            place: RegistryPlace::Directory(directory.into()),
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
