//! Ticket worker.
//!
//! It prepares tickets when no query is running, or in its share of the time, and removes expired
//! clients.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use papir_core::Version;
use papir_core::erased::{EarlierErasedTicket, ErasedKeys};
use rayon::ThreadPool;

use super::error::ClientError;
use super::id::ClientId;
use super::numbers::Numbers;
use super::registry::Registry;
use super::row::{ClientRow, Owner, Stage};
use super::tables::Result;
use super::ticket_order::{LackingClient, TicketOrder, Urgency};
use super::tickets::window;
use super::turns::{POLL_QUERIES, Turns};
use crate::admission::{Ongoing, catch_panic};
use crate::catalog::{Catalog, Database};
use crate::error::Error;

/// Interval between sweeps for expired clients.
const SWEEP_EVERY: Duration = Duration::from_secs(10);
/// Time after which the tables are read again although nothing is known to have changed: another
/// service may have stopped before it prepared its tickets. A large registry takes long to read.
const READ_EVERY: Duration = Duration::from_secs(5);
/// Time after which a client for whose keys no ticket could be prepared is tried again: the disk
/// may have failed.
const RETRY_FAILED: Duration = Duration::from_secs(60);
/// Time after which a ticket that another service prepares is asked for again: that service may
/// have stopped.
const RETRY_ELSEWHERE: Duration = Duration::from_secs(2);
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
    /// core), and gives way while `queries` is active.
    pub(crate) fn start(
        catalog: &Arc<Catalog>,
        registry: &Arc<Registry>,
        queries: Ongoing,
        threads: usize,
    ) -> std::result::Result<Self, Error> {
        let pool = pool(threads)?;
        let stopping = Arc::new(AtomicBool::new(false));
        let mut state = WorkerState {
            // Weak: a service that is dropped ends its worker, not the other way round.
            catalog: Arc::downgrade(catalog),
            registry: Arc::downgrade(registry),
            queries,
            stopping: Arc::clone(&stopping),
            pool,
            failed: HashMap::new(),
            elsewhere: HashMap::new(),
            order: TicketOrder::default(),
        };

        let spawned = thread::Builder::new()
            .name("papir-tickets".into())
            .spawn(move || state.run());
        let thread = spawned.map_err(|source| Error::Io {
            what: "starting the ticket thread",
            source,
        })?;

        Ok(Self {
            registry: Arc::clone(registry),
            stopping,
            thread: Some(thread),
        })
    }
}

/// The threads that compute a ticket.
fn pool(threads: usize) -> std::result::Result<ThreadPool, Error> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("papir-ticket-{index}"))
        .build()
        .map_err(|source| Error::Threads {
            threads,
            source: Box::new(source),
        })
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Set before the notification: a worker that it wakes must see it.
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
struct WorkerState {
    catalog: Weak<Catalog>,
    registry: Weak<Registry>,
    queries: Ongoing,
    stopping: Arc<AtomicBool>,
    pool: ThreadPool,
    /// Clients for whose keys no ticket could be prepared, and when.
    failed: HashMap<(ClientId, Version), Instant>,
    /// Tickets that another service prepares, and when it was asked.
    elsewhere: HashMap<TicketId, Instant>,
    order: TicketOrder,
}

/// Key of a ticket.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct TicketId {
    client: ClientId,
    version: Version,
    number: u64,
}

/// A ticket to prepare.
struct Wanted {
    database: Arc<Database>,
    id: ClientId,
    owner: Owner,
    number: u64,
}

/// A wanted ticket with its urgency.
struct Candidate {
    urgency: Urgency,
    wanted: Wanted,
}

/// An unused ticket for an earlier version.
struct Earlier {
    database: Arc<Database>,
    ticket: Vec<u8>,
}

/// A client that may lack tickets.
struct TicketClient<'a> {
    id: ClientId,
    row: &'a ClientRow,
    numbers: &'a Numbers,
}

/// The first ticket that a client lacks.
struct Lacking {
    number: u64,
    /// Set if the client requested it.
    demanded: bool,
}

impl WorkerState {
    fn run(&mut self) {
        // Before the first sweep, which drops the used tickets of versions that are not answered.
        self.learn_all();

        let mut swept: Option<Instant> = None;
        while !self.stopping.load(Ordering::Relaxed) {
            let Some(catalog) = self.catalog.upgrade() else {
                return;
            };
            let Some(registry) = self.registry.upgrade() else {
                return;
            };

            if swept.is_none_or(|time| time.elapsed() > SWEEP_EVERY.min(registry.config.ttl)) {
                let kept = sweep(&catalog, &registry).and_then(|()| self.forget_removed(&registry));
                if let Err(error) = kept {
                    tracing::error!(%error, "sweep failed");
                }
                swept = Some(Instant::now());
            }

            // Read before the work: a swap during it ends the wait at once.
            let versions = self.versions();
            match self.prepare_one(&catalog, &registry) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => tracing::error!(%error, "preparing a ticket failed"),
            }

            // Not held while waiting, so that a stopped service can be freed.
            let most = READ_EVERY.min(registry.config.ttl);
            drop(catalog);
            drop(registry);
            self.wait(&versions, most);
        }
        self.release();
    }

    /// Learns which clients have used a ticket.
    fn learn_all(&mut self) {
        let Some(registry) = self.registry.upgrade() else {
            return;
        };
        if let Err(error) = self.learn_established(&registry) {
            tracing::error!(%error, "the clients with used tickets are not known yet");
        }
    }

    /// Leaves the reserved tickets to other services.
    fn release(&self) {
        let Some(registry) = self.registry.upgrade() else {
            return;
        };
        if let Err(error) = registry.store.storage.release_tickets() {
            tracing::warn!(
                %error,
                "reserved tickets are not released: others prepare them a little later"
            );
        }
    }

    /// Waits until there may be a ticket to prepare: after a notification, a swap of one of these
    /// versions, or `most`.
    fn wait(&self, versions: &[Version], most: Duration) {
        let start = Instant::now();
        while !self.stopping.load(Ordering::Relaxed) && start.elapsed() < most {
            // Upgraded each time: a stopped service can be freed meanwhile.
            let Some(registry) = self.registry.upgrade() else {
                return;
            };
            if registry.notify.wait() || self.versions() != versions {
                return;
            }
        }
    }

    /// The served versions of databases with tickets.
    fn versions(&self) -> Vec<Version> {
        match self.catalog.upgrade() {
            Some(catalog) => with_tickets(&catalog.loaded()),
            None => Vec::new(),
        }
    }

    /// Prepares the most urgent ticket. Returns whether there was one.
    fn prepare_one(&mut self, catalog: &Catalog, registry: &Registry) -> Result<bool> {
        let Some(wanted) = self.most_urgent(catalog, registry)? else {
            return Ok(false);
        };
        let database = &*wanted.database;
        let version = database.version();

        if !self.reserve(registry, &wanted)? {
            return Ok(true);
        }

        let pause = Turns::new(&self.queries, &self.stopping);
        pause.give_way();
        if pause.is_stopping() {
            return Ok(false);
        }

        let Some(keys) = keys(registry, &wanted) else {
            // Not tried again at once: the same keys would fail each time, and others would wait.
            self.failed.insert((wanted.id, version), Instant::now());
            return Ok(true);
        };

        let start = Instant::now();
        let earlier = earlier_ticket(catalog, registry, &wanted)?;
        let Some(ticket) = self.compute(&wanted, &keys, earlier.as_ref(), &pause) else {
            tracing::error!(database = database.name(), "a ticket could not be prepared");
            self.failed.insert((wanted.id, version), Instant::now());
            return Ok(true);
        };
        registry.notify.record_ticket(start.elapsed());

        registry
            .store
            .put_ticket(database.name(), wanted.id, version, wanted.number, &ticket)?;
        tracing::debug!(
            database = database.name(),
            bytes = ticket.len(),
            "ticket prepared"
        );
        Ok(true)
    }

    /// Reserves a ticket for this service. Returns false if another service prepares it.
    fn reserve(&mut self, registry: &Registry, wanted: &Wanted) -> Result<bool> {
        let version = wanted.database.version();
        let storage = &registry.store.storage;
        if !storage.reserve_ticket(wanted.id, version, wanted.number)? {
            self.elsewhere.insert(wanted.ticket_id(), Instant::now());
            return Ok(false);
        }

        // Noted before the work: a client or owner whose ticket fails has had its turn.
        self.order.note_turn(wanted.id, wanted.owner);
        Ok(true)
    }

    /// Computes a ticket, from an earlier one if possible; `None` if the scheme fails or panics.
    fn compute(
        &self,
        wanted: &Wanted,
        keys: &ErasedKeys,
        earlier: Option<&Earlier>,
        pause: &Turns<'_>,
    ) -> Option<Vec<u8>> {
        let server = wanted.database.registered().ok()?;
        let earlier = earlier.and_then(|earlier| {
            Some(EarlierErasedTicket {
                server: earlier.database.registered().ok()?,
                ticket: &earlier.ticket,
            })
        });

        // A panic affects one client only: the worker continues with the others.
        let computed = catch_panic(|| {
            self.pool
                .install(|| server.ticket(keys, wanted.number, earlier, pause))
        });
        computed.ok()?.ok()
    }

    /// The most urgent ticket over all databases below their quota of bytes.
    fn most_urgent(&mut self, catalog: &Catalog, registry: &Registry) -> Result<Option<Wanted>> {
        let none = Numbers::default();
        let mut best: Option<Candidate> = None;
        for database in catalog.loaded() {
            if !database.description().limits.tickets {
                continue;
            }
            let rows = registry.store.clients(database.name())?;
            // Tickets count against the quota, of which registrations need the rest.
            if total_bytes(&rows) >= registry.config.max_bytes {
                continue;
            }

            let numbers = registry.store.all_numbers(database.name())?;
            self.note_established(&numbers);
            let expiry = registry.clock.expiry();
            for (id, row) in &rows {
                if row.is_expired(expiry) || !self.is_eligible(&database, *id, row) {
                    continue;
                }
                let client = TicketClient {
                    id: *id,
                    row,
                    numbers: numbers.get(id).unwrap_or(&none),
                };
                let Some(candidate) = self.candidate(registry, &database, &client) else {
                    continue;
                };

                let urgency = candidate.urgency;
                if best.as_ref().is_none_or(|best| urgency < best.urgency) {
                    best = Some(candidate);
                }
            }
        }
        Ok(best.map(|best| best.wanted))
    }

    /// Notes the clients that have used a ticket. They stay established when the tickets of old
    /// versions are dropped.
    fn note_established(&mut self, numbers: &HashMap<ClientId, Numbers>) {
        for (id, numbers) in numbers {
            if numbers.has_used_ticket() {
                self.order.establish(*id);
            }
        }
    }

    /// Notes the clients of all databases that have used a ticket before a start.
    fn learn_established(&mut self, registry: &Registry) -> Result<()> {
        for name in registry.store.databases()? {
            let numbers = registry.store.all_numbers(&name)?;
            self.note_established(&numbers);
        }
        Ok(())
    }

    /// The first ticket that a client lacks and that no other service prepares.
    fn candidate(
        &self,
        registry: &Registry,
        database: &Arc<Database>,
        client: &TicketClient<'_>,
    ) -> Option<Candidate> {
        let version = database.version();
        let lacking = registry.lacking(database, client, |number| {
            let ticket = TicketId {
                client: client.id,
                version,
                number,
            };
            client.numbers.lacks(version, number) && !self.is_elsewhere(ticket)
        })?;

        let owner = client.row.owner;
        let number = lacking.number;
        let urgency = self.order.urgency(&LackingClient {
            id: client.id,
            owner,
            demanded: lacking.demanded,
            tickets_ready: number.saturating_sub(client.row.next_ticket),
        });
        let wanted = Wanted {
            database: Arc::clone(database),
            id: client.id,
            owner,
            number,
        };
        Some(Candidate { urgency, wanted })
    }

    /// Forgets clients that were removed, and their owners.
    fn forget_removed(&mut self, registry: &Registry) -> Result<()> {
        let mut owners = HashSet::new();
        let mut clients = HashSet::new();
        for name in registry.store.databases()? {
            for (id, row) in registry.store.clients(&name)? {
                clients.insert(id);
                owners.insert(row.owner);
            }
        }

        self.failed.retain(|(id, _), _| clients.contains(id));
        self.elsewhere
            .retain(|_, time| time.elapsed() < RETRY_ELSEWHERE);
        self.order.retain(&clients, &owners);
        Ok(())
    }

    /// Returns whether tickets can be prepared for a client.
    fn is_eligible(&self, database: &Database, id: ClientId, row: &ClientRow) -> bool {
        let failed = self.failed.get(&(id, database.version()));
        row.stage == Stage::Registered && failed.is_none_or(|time| time.elapsed() > RETRY_FAILED)
    }

    /// Returns whether another service prepares a ticket.
    fn is_elsewhere(&self, ticket: TicketId) -> bool {
        self.elsewhere
            .get(&ticket)
            .is_some_and(|time| time.elapsed() < RETRY_ELSEWHERE)
    }
}

impl Wanted {
    fn ticket_id(&self) -> TicketId {
        TicketId {
            client: self.id,
            version: self.database.version(),
            number: self.number,
        }
    }
}

impl Registry {
    /// The first ticket of a client that is to be prepared: one that the client requested, else one
    /// of those prepared ahead.
    fn lacking(
        &self,
        database: &Database,
        client: &TicketClient<'_>,
        lacks: impl Fn(u64) -> bool,
    ) -> Option<Lacking> {
        let next = client.row.next_ticket;
        let floor = next.saturating_sub(window(self.most_ahead(database)));
        let requested = self.requested(client.id, floor);
        if let Some(number) = requested.into_iter().find(|&number| lacks(number)) {
            return Some(Lacking {
                number,
                demanded: true,
            });
        }

        // Every requested ticket is prepared, elsewhere or too old.
        self.demanded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&client.id);

        let mut ahead = next..next.saturating_add(self.ahead(database, client.row));
        let number = ahead.find(|&number| lacks(number))?;
        Some(Lacking {
            number,
            demanded: false,
        })
    }

    /// The numbers from `floor` on that a client requested.
    fn requested(&self, id: ClientId, floor: u64) -> Vec<u64> {
        let demanded = self.demanded.lock().unwrap_or_else(PoisonError::into_inner);
        match demanded.get(&id) {
            Some(numbers) => numbers.range(floor..).copied().collect(),
            None => Vec::new(),
        }
    }
}

/// Bytes of clients that count against the quota.
fn total_bytes(rows: &[(ClientId, ClientRow)]) -> u64 {
    rows.iter()
        .fold(0u64, |sum, (_, row)| sum.saturating_add(row.bytes()))
}

/// The keys of a wanted ticket's client; `None` if they cannot be used now.
fn keys(registry: &Registry, wanted: &Wanted) -> Option<Arc<ErasedKeys>> {
    let database = &*wanted.database;
    let row = registry.row(database.name(), wanted.id);
    match row.and_then(|row| registry.load_keys(database, wanted.id, &row)) {
        Ok(keys) => Some(keys),
        Err(ClientError::Storage(error)) => {
            tracing::error!(%error, "the client registry failed");
            None
        }
        Err(_) => None,
    }
}

/// An unused ticket with the wanted number, for an older version that is still answered. A new
/// ticket can reuse the parts that the change between the versions did not affect.
fn earlier_ticket(
    catalog: &Catalog,
    registry: &Registry,
    wanted: &Wanted,
) -> Result<Option<Earlier>> {
    let views = catalog.versions(wanted.database.name()).unwrap_or_default();
    for view in views {
        let database = view.database;
        if database.version() == wanted.database.version() {
            continue;
        }

        let store = &registry.store;
        let ticket = store.unused_ticket(wanted.id, database.version(), wanted.number)?;
        if let Some(ticket) = ticket {
            return Ok(Some(Earlier { database, ticket }));
        }
    }
    Ok(None)
}

/// The versions of those databases that have tickets. A swap of another one makes none, and the
/// whole registry would be read after each.
fn with_tickets(databases: &[Arc<Database>]) -> Vec<Version> {
    let ticketed = databases
        .iter()
        .filter(|database| database.description().limits.tickets);
    ticketed.map(|database| database.version()).collect()
}

/// Removes expired clients, and tickets of versions that are no longer answered.
fn sweep(catalog: &Catalog, registry: &Registry) -> Result<()> {
    let store = &registry.store;
    for name in store.databases()? {
        for id in store.remove_expired(&name, registry.clock.expiry())? {
            registry.forget(id);
        }
    }
    store.forget_old_keys(registry.clock.expiry())?;
    store.forget_spent(registry.clock.expiry())?;

    // Loaded databases only: of one that is still loading, every ticket would look stale.
    for database in catalog.loaded() {
        let views = catalog.versions(database.name()).unwrap_or_default();
        let versions: Vec<Version> = views.iter().map(|view| view.database.version()).collect();
        store.keep_versions(database.name(), &versions)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::scheme::Goal;
    use papir_core::{NoProgress, RecordBuffer};
    use papir_schemes::registry;

    use super::*;

    fn database(scheme: &str) -> Arc<Database> {
        let records = RecordBuffer::from_records((0..50u8).map(|i| [i; 8])).unwrap();
        let scheme = registry::by_name(scheme).unwrap();
        let mut rng = papir_client::system_rng();
        let server = scheme.setup(&records, Goal::default(), &mut rng, &NoProgress);
        Arc::new(Database::new("table", server.unwrap(), None))
    }

    #[test]
    fn a_swap_of_a_database_without_tickets_is_none_for_the_worker() {
        let databases = [database("simple"), database("zip"), database("simple")];
        assert_eq!(with_tickets(&databases), [databases[1].version()]);
    }
}
