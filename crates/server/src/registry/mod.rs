//! The client registry: keys that clients register, and the tickets prepared for them.
//!
//! | file | what |
//! |---|---|
//! | `config`, `status`, `refusal` | bounds; what is said of clients; why something is refused |
//! | `id`, `row`, `store`, `tickets` | the tables, durable in one file |
//! | `files`, `cache` | keys on disk and, parsed, in memory |
//! | `uploads` | registering, in one request or in parts |
//! | `session` | a query's keys and tickets |
//! | `worker` | prepares tickets in idle time, sweeps what expired |
//! | `routes` | the addresses |
//! | `directory` | a registry without its service, for the operator |
//!
//! A client is a row and a file: the file is made durable first, and removed last. What a crash
//! leaves of a file without a row goes at the next start.

mod cache;
mod config;
mod directory;
mod files;
mod id;
mod refusal;
mod routes;
mod row;
mod session;
mod status;
mod store;
mod tickets;
mod uploads;
mod worker;

use std::collections::{BTreeSet, HashMap};
use std::fs::DirBuilder;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use config::RegistryConfig;
pub use directory::RegistryDirectory;
pub use status::{ClientStatus, RegistryCounts};

pub(crate) use refusal::Refusal;
pub(crate) use routes::routes;
pub(crate) use session::{Credentials, keys, tickets};
pub(crate) use worker::Worker;

use crate::Error;
use crate::database::Database;
use crate::problem::Problem;
use cache::KeyCache;
use files::KeyFiles;
use id::ClientId;
use row::{Row, Stage};
use store::{Failed, Quota, Store};

/// Names the client that a query is of.
pub(crate) const CLIENT_HEADER: &str = "papir-client";
/// Names the tickets that a request's queries use up, one each, separated by commas.
pub(crate) const TICKET_HEADER: &str = "papir-ticket";
/// The length of keys to be uploaded in parts.
pub(crate) const LENGTH_HEADER: &str = "papir-upload-length";
/// How many bytes of an upload are there.
pub(crate) const OFFSET_HEADER: &str = "papir-upload-offset";
/// The longest part of an upload, and the longest keys in one request: 4 MiB.
pub(crate) const PART_BYTES: usize = 4 << 20;
/// The tables' file in the registry's directory.
const TABLES: &str = "registry.redb";
/// A client's last use is written when it has grown this old at most, where nothing else is written.
const TOUCH: Duration = Duration::from_secs(60);

/// All registrations of a service.
pub(crate) struct Registry {
    config: RegistryConfig,
    store: Store,
    files: KeyFiles,
    cache: KeyCache,
    /// Uploads that a request is writing to.
    writing: Mutex<BTreeSet<u128>>,
    /// Keys are parsed one upload at a time: large ones take memory.
    accepting: tokio::sync::Mutex<()>,
    /// So are those that are not in memory any more.
    parsing: Mutex<()>,
    /// Tickets that were asked for and are not prepared.
    demanded: Mutex<HashMap<ClientId, BTreeSet<u64>>>,
    bell: worker::Bell,
}

/// Microseconds since 1970, and never twice the same: the order of uses is the order of eviction,
/// also where the clock stands still or is set back.
fn now() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, microseconds);
    let after = |last: u64| clock.max(last + 1);
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(after(last)));
    last.map_or(clock, after)
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A failure of the tables or files: told to the log, not to the client.
impl From<Failed> for Problem {
    fn from(error: Failed) -> Self {
        tracing::error!(%error, "the client registry failed");
        Self::Internal
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::Registry(refusal)
    }
}

impl Registry {
    /// Opens a registry, makes it where there is none, and removes what a crash left.
    pub(crate) fn open(config: &RegistryConfig) -> Result<Self, Error> {
        let failed = |source: Failed| Error::Registry {
            directory: config.directory.clone(),
            reason: source.to_string(),
        };
        let io = |error: std::io::Error| failed(error.into());
        files::private(DirBuilder::new().recursive(true)).create(&config.directory).map_err(io)?;
        let store = Store::open(&config.directory.join(TABLES)).map_err(failed)?;
        let files = KeyFiles::open(&config.directory).map_err(io)?;
        files.sweep(&store.all_ids().map_err(failed)?).map_err(io)?;
        Ok(Self {
            config: config.clone(),
            store,
            files,
            cache: KeyCache::new(config.cached_bytes),
            writing: Mutex::default(),
            accepting: tokio::sync::Mutex::new(()),
            parsing: Mutex::default(),
            demanded: Mutex::default(),
            bell: worker::Bell::default(),
        })
    }

    /// What the clients of a database take, for the operator.
    pub(crate) fn counts(&self, database: &str) -> Result<RegistryCounts, Failed> {
        let mut counts = RegistryCounts::default();
        for (id, row) in self.store.clients(database)? {
            counts.add(&row, self.store.count_tickets(id, None)?);
        }
        Ok(counts)
    }

    /// A client that is there and has not expired.
    fn row(&self, database: &str, id: ClientId) -> Result<Row, Problem> {
        match self.store.get(database, id)? {
            Some(row) if !row.is_expired(now()) => Ok(row),
            Some(_) => {
                self.remove(database, id)?;
                Err(Refusal::ClientGone.into())
            }
            None => Err(Refusal::ClientGone.into()),
        }
    }

    /// Removes a client and all it has; whether there was one.
    fn remove(&self, database: &str, id: ClientId) -> Result<bool, Failed> {
        let found = self.store.remove(database, id)?;
        self.forget(id);
        Ok(found)
    }

    /// Removes what stands outside of the tables.
    fn forget(&self, id: ClientId) {
        self.cache.remove(id);
        self.files.remove(id);
        self.demanded.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// Marks a client as used now.
    fn touch(&self, row: &mut Row) {
        row.used = now();
        row.expires = row.used.saturating_add(microseconds(self.config.ttl));
    }

    fn quota(&self) -> Quota {
        Quota { clients: self.config.max_clients.max(1), bytes: self.config.max_bytes }
    }

    /// Tickets prepared ahead for each client of a database.
    fn ahead(&self, database: &Database) -> u64 {
        self.config.tickets_ahead.max(database.queries_per_lookup() as u64)
    }

    /// A client as it is told.
    fn status(&self, database: &Database, id: ClientId, row: &Row) -> Result<ClientStatus, Failed> {
        let uploaded = if row.stage == Stage::Uploading { self.files.offset(id)? } else { 0 };
        let tickets = self.store.count_tickets(id, Some(database.version()))?;
        Ok(ClientStatus::new(id, row, uploaded, tickets, self.ahead(database)))
    }

    /// All clients of a database as they are told.
    fn list(&self, database: &Database) -> Result<Vec<ClientStatus>, Failed> {
        let rows = self.store.clients(database.name())?;
        rows.iter().map(|(id, row)| self.status(database, *id, row)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::now;

    #[test]
    fn no_two_uses_are_at_the_same_time() {
        let times: Vec<u64> = (0..1000).map(|_| now()).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
