//! Ticket worker: prepares tickets when no query is running, and removes expired clients.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use papir_core::{Progress, Version};

use super::clock::now;
use super::error::ClientError;
use super::id::ClientId;
use super::registry::Registry;
use super::row::{Row, Stage};
use super::store::Result;
use super::tickets::window;
use crate::admission::{QueryActivity, catch_panic};
use crate::catalog::{Catalog, Database};
use crate::error::Error;

/// Interval at which the worker checks whether queries are still running.
const POLL_QUERIES: Duration = Duration::from_millis(3);
/// Interval between sweeps for expired clients.
const SWEEP_EVERY: Duration = Duration::from_secs(10);
/// Time for which a stopping service waits for the current ticket.
const STOP_TIME: Duration = Duration::from_secs(2);

/// The thread that prepares tickets. Stops when dropped.
pub(crate) struct Worker {
    registry: Arc<Registry>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the worker. It computes one ticket at a time on `threads` threads (0 means one per
    /// core), and pauses while `queries` is active.
    ///
    /// # Errors
    /// [`Error::Threads`], [`Error::Io`].
    pub(crate) fn start(
        catalog: &Arc<Catalog>,
        registry: &Arc<Registry>,
        queries: QueryActivity,
        threads: usize,
    ) -> std::result::Result<Self, Error> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("papir-ticket-{index}"))
            .build()
            .map_err(|source| Error::Threads { threads, source })?;
        let stopping = Arc::new(AtomicBool::new(false));
        let mut state = State {
            catalog: Arc::downgrade(catalog),
            registry: Arc::downgrade(registry),
            queries,
            stopping: Arc::clone(&stopping),
            pool,
            failed: HashSet::new(),
            prepared: HashMap::new(),
            round: 0,
        };
        let spawned = thread::Builder::new().name("papir-tickets".into()).spawn(move || state.run());
        let thread = spawned.map_err(|source| Error::Io { what: "starting the ticket thread", source })?;
        Ok(Self { registry: Arc::clone(registry), stopping, thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.registry.notify.notify();
        let Some(thread) = self.thread.take() else {
            return;
        };
        let start = Instant::now();
        while !thread.is_finished() && start.elapsed() < STOP_TIME {
            thread::sleep(POLL_QUERIES);
        }
        // A slower ticket is abandoned. Storing it is one transaction, so it is stored whole or not
        // at all.
    }
}

/// State of the worker's thread.
struct State {
    catalog: Weak<Catalog>,
    registry: Weak<Registry>,
    queries: QueryActivity,
    stopping: Arc<AtomicBool>,
    pool: rayon::ThreadPool,
    /// Clients for whose keys no ticket could be prepared.
    failed: HashSet<(ClientId, Version)>,
    /// The round in which each client last received a ticket.
    prepared: HashMap<ClientId, u64>,
    round: u64,
}

/// A ticket to prepare.
struct Wanted {
    database: Arc<Database>,
    id: ClientId,
    number: u64,
}

/// Urgency of a wanted ticket; the smallest value comes first.
///
/// Tickets that clients requested come first, then those of clients with the fewest tickets, then
/// those of clients that have waited longest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Urgency {
    not_demanded: bool,
    tickets_ready: u64,
    last_round: u64,
}

impl State {
    fn run(&mut self) {
        let mut swept: Option<Instant> = None;
        while !self.stopping.load(Ordering::Relaxed) {
            let (Some(catalog), Some(registry)) = (self.catalog.upgrade(), self.registry.upgrade()) else {
                return;
            };
            if swept.is_none_or(|time| time.elapsed() > SWEEP_EVERY.min(registry.config.ttl)) {
                sweep(&catalog, &registry).unwrap_or_else(|error| tracing::error!(%error, "sweep failed"));
                swept = Some(Instant::now());
            }
            match self.prepare_one(&catalog, &registry) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => tracing::error!(%error, "preparing a ticket failed"),
            }
            // Not held while waiting, so that a stopped service can be freed.
            drop(catalog);
            registry.notify.wait();
        }
    }

    /// Prepares the most urgent ticket. Returns whether there was one.
    fn prepare_one(&mut self, catalog: &Catalog, registry: &Registry) -> Result<bool> {
        let Some(wanted) = self.most_urgent(catalog, registry)? else {
            return Ok(false);
        };
        self.round += 1;
        self.prepared.insert(wanted.id, self.round);
        let pause = YieldToQueries { queries: &self.queries, stopping: &self.stopping };
        pause.wait();
        if pause.is_stopping() {
            return Ok(false);
        }
        let Wanted { database, id, number } = &wanted;
        let row = registry.row(database.name(), *id);
        let keys = match row.and_then(|row| registry.load_keys(database, *id, &row)) {
            Ok(keys) => keys,
            Err(error) => {
                if let ClientError::Storage(error) = error {
                    tracing::error!(%error, "the client registry failed");
                }
                self.failed.insert((*id, database.version()));
                return Ok(true);
            }
        };
        let start = Instant::now();
        let earlier = earlier_ticket(catalog, registry, &wanted)?;
        // A panic affects one client only: the worker continues with the others.
        let prepared = catch_panic(|| {
            self.pool.install(|| match &earlier {
                Some((earlier, ticket)) => {
                    database.erased().follow((earlier.erased(), ticket), &keys, *number, &pause)
                }
                None => database.erased().ticket(&keys, *number, &pause),
            })
        });
        let Ok(Ok(ticket)) = prepared else {
            tracing::error!(database = database.name(), "a ticket could not be prepared");
            self.failed.insert((*id, database.version()));
            return Ok(true);
        };
        registry.notify.record_ticket(start.elapsed());
        registry.store.put_ticket(database.name(), *id, database.version(), *number, &ticket)?;
        tracing::debug!(database = database.name(), bytes = ticket.len(), "ticket prepared");
        Ok(true)
    }

    /// The most urgent ticket over all databases below their quota of bytes.
    fn most_urgent(&self, catalog: &Catalog, registry: &Registry) -> Result<Option<Wanted>> {
        let mut best: Option<(Urgency, Wanted)> = None;
        for database in catalog.loaded().into_iter().filter(|one| one.description().limits.tickets) {
            let rows = registry.store.clients(database.name())?;
            let bytes = rows.iter().fold(0u64, |sum, (_, row)| sum.saturating_add(row.bytes()));
            if bytes >= registry.config.max_bytes {
                continue;
            }
            for (id, row) in rows.iter().filter(|(id, row)| self.is_eligible(&database, *id, row)) {
                let Some((number, demanded)) = registry.wanted(&database, *id, row)? else {
                    continue;
                };
                let urgency = Urgency {
                    not_demanded: !demanded,
                    tickets_ready: number.saturating_sub(row.next_ticket),
                    last_round: self.prepared.get(id).copied().unwrap_or(0),
                };
                if best.as_ref().is_none_or(|(other, _)| urgency < *other) {
                    best = Some((urgency, Wanted { database: Arc::clone(&database), id: *id, number }));
                }
            }
        }
        Ok(best.map(|(_, wanted)| wanted))
    }

    /// Returns whether tickets can be prepared for a client.
    fn is_eligible(&self, database: &Database, id: ClientId, row: &Row) -> bool {
        let failed = self.failed.contains(&(id, database.version()));
        row.stage == Stage::Registered && !row.is_expired(now()) && !failed
    }
}

impl Registry {
    /// The first ticket number that a client lacks, and whether the client requested it.
    fn wanted(&self, database: &Database, id: ClientId, row: &Row) -> Result<Option<(u64, bool)>> {
        let (version, ahead) = (database.version(), self.ahead(database));
        let floor = row.next_ticket.saturating_sub(window(ahead));
        let requested: Vec<u64> = {
            let demanded = self.demanded.lock().unwrap_or_else(PoisonError::into_inner);
            demanded.get(&id).into_iter().flatten().copied().filter(|number| *number >= floor).collect()
        };
        for number in requested {
            if self.store.lacks_ticket(id, version, number)? {
                return Ok(Some((number, true)));
            }
        }
        self.demanded.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        for number in row.next_ticket..row.next_ticket.saturating_add(ahead) {
            if self.store.lacks_ticket(id, version, number)? {
                return Ok(Some((number, false)));
            }
        }
        Ok(None)
    }
}

/// An unused ticket with the wanted number, for an older version that is still answered. A new
/// ticket can reuse the parts that the change between the versions did not affect.
fn earlier_ticket(
    catalog: &Catalog,
    registry: &Registry,
    wanted: &Wanted,
) -> Result<Option<(Arc<Database>, Vec<u8>)>> {
    let versions = catalog.versions(wanted.database.name()).unwrap_or_default();
    let others = versions.into_iter().map(|view| view.database);
    for earlier in others.filter(|one| one.version() != wanted.database.version()) {
        let ticket = registry.store.unused_ticket(wanted.id, earlier.version(), wanted.number)?;
        if let Some(ticket) = ticket {
            return Ok(Some((earlier, ticket)));
        }
    }
    Ok(None)
}

/// Removes expired clients, and tickets of versions that are no longer answered.
fn sweep(catalog: &Catalog, registry: &Registry) -> Result<()> {
    for name in registry.store.databases()? {
        for id in registry.store.remove_expired(&name, now())? {
            registry.forget(id);
        }
    }
    for database in catalog.loaded() {
        let views = catalog.versions(database.name()).unwrap_or_default();
        let versions: Vec<Version> = views.iter().map(|view| view.database.version()).collect();
        for (id, _) in registry.store.clients(database.name())? {
            registry.store.keep_versions(database.name(), id, &versions)?;
        }
    }
    Ok(())
}

/// Pauses work on a ticket while any query is waiting or running.
struct YieldToQueries<'a> {
    queries: &'a QueryActivity,
    stopping: &'a AtomicBool,
}

impl YieldToQueries<'_> {
    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn wait(&self) {
        while self.queries.is_active() && !self.is_stopping() {
            thread::sleep(POLL_QUERIES);
        }
    }
}

impl Progress for YieldToQueries<'_> {
    fn stage(&self, _name: &str, _total: u64) {
        self.wait();
    }

    fn advance(&self, _steps: u64) {
        self.wait();
    }
}
