//! Ticket worker: prepares tickets when no query is running, or in its share of the time, and removes
//! expired clients.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use papir_core::Version;

use super::error::ClientError;
use super::id::ClientId;
use super::numbers::Numbers;
use super::registry::Registry;
use super::row::{Owner, Row, Stage};
use super::tables::Result;
use super::tickets::window;
use super::turns::{POLL_QUERIES, Turns};
use crate::admission::{Ongoing, catch_panic};
use crate::catalog::{Catalog, Database};
use crate::error::Error;

/// Interval between sweeps for expired clients.
const SWEEP_EVERY: Duration = Duration::from_secs(10);
/// Time after which the tables are read again although nothing is known to have changed: another service
/// may have stopped before it prepared its tickets. A large registry takes long to read.
const READ_EVERY: Duration = Duration::from_secs(5);
/// Time after which a client for whose keys no ticket could be prepared is tried again: the disk may
/// have failed.
const RETRY_FAILED: Duration = Duration::from_secs(60);
/// Time after which a ticket that another service prepares is asked for again: that service may have
/// stopped.
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
    ///
    /// # Errors
    /// [`Error::Threads`], [`Error::Io`].
    pub(crate) fn start(
        catalog: &Arc<Catalog>,
        registry: &Arc<Registry>,
        queries: Ongoing,
        threads: usize,
    ) -> std::result::Result<Self, Error> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("papir-ticket-{index}"))
            .build()
            .map_err(|source| Error::Threads {
                threads,
                source: Box::new(source),
            })?;
        let stopping = Arc::new(AtomicBool::new(false));
        let mut state = State {
            catalog: Arc::downgrade(catalog),
            registry: Arc::downgrade(registry),
            queries,
            stopping: Arc::clone(&stopping),
            pool,
            failed: HashMap::new(),
            elsewhere: HashMap::new(),
            owners: HashMap::new(),
            prepared: HashMap::new(),
            round: 0,
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
    queries: Ongoing,
    stopping: Arc<AtomicBool>,
    pool: rayon::ThreadPool,
    /// Clients for whose keys no ticket could be prepared, and when.
    failed: HashMap<(ClientId, Version), Instant>,
    /// Tickets that another service prepares, and when it was asked.
    elsewhere: HashMap<TicketId, Instant>,
    /// The round in which each owner last received a ticket for one of its clients.
    owners: HashMap<Owner, u64>,
    /// The round in which each client last received a ticket.
    prepared: HashMap<ClientId, u64>,
    round: u64,
}

/// A ticket to prepare.
struct Wanted {
    database: Arc<Database>,
    id: ClientId,
    owner: Owner,
    number: u64,
}

/// A ticket: its client, version and number.
type TicketId = (ClientId, Version, u64);

impl Wanted {
    fn key(&self) -> TicketId {
        (self.id, self.database.version(), self.number)
    }
}

/// Urgency of a wanted ticket; the smallest value comes first.
///
/// Owners take turns, however many clients they have, and whatever these request. Tickets that the
/// clients of an owner requested come before its others, then those of the clients with the fewest
/// tickets, then of those that have waited longest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Urgency {
    owners_last_round: u64,
    not_demanded: bool,
    tickets_ready: u64,
    last_round: u64,
}

impl State {
    fn run(&mut self) {
        let mut swept: Option<Instant> = None;
        while !self.stopping.load(Ordering::Relaxed) {
            let (Some(catalog), Some(registry)) = (self.catalog.upgrade(), self.registry.upgrade())
            else {
                return;
            };
            if swept.is_none_or(|time| time.elapsed() > SWEEP_EVERY.min(registry.config.ttl)) {
                let kept = sweep(&catalog, &registry).and_then(|()| self.forget_removed(&registry));
                kept.unwrap_or_else(|error| tracing::error!(%error, "sweep failed"));
                swept = Some(Instant::now());
            }
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
        let released = self
            .registry
            .upgrade()
            .map(|registry| registry.store.storage.release_tickets());
        if let Some(Err(error)) = released {
            tracing::warn!(%error, "reserved tickets are not released: others prepare them a little later");
        }
    }

    /// Waits until there may be a ticket to prepare: after a notification, a swap of one of these
    /// versions, or `most`.
    fn wait(&self, versions: &[Version], most: Duration) {
        let start = Instant::now();
        while !self.stopping.load(Ordering::Relaxed) && start.elapsed() < most {
            let Some(registry) = self.registry.upgrade() else {
                return;
            };
            if registry.notify.wait() || self.versions() != versions {
                return;
            }
        }
    }

    /// The served versions.
    fn versions(&self) -> Vec<Version> {
        let loaded = self
            .catalog
            .upgrade()
            .map(|catalog| catalog.loaded())
            .unwrap_or_default();
        loaded.iter().map(|database| database.version()).collect()
    }

    /// Prepares the most urgent ticket. Returns whether there was one.
    fn prepare_one(&mut self, catalog: &Catalog, registry: &Registry) -> Result<bool> {
        let Some(wanted) = self.most_urgent(catalog, registry)? else {
            return Ok(false);
        };
        if !registry.store.storage.reserve_ticket(
            wanted.id,
            wanted.database.version(),
            wanted.number,
        )? {
            self.elsewhere.insert(wanted.key(), Instant::now());
            return Ok(true);
        }
        self.round += 1;
        self.prepared.insert(wanted.id, self.round);
        self.owners.insert(wanted.owner, self.round);
        let pause = Turns::new(&self.queries, &self.stopping);
        pause.give_way();
        if pause.is_stopping() {
            return Ok(false);
        }
        let Wanted {
            database,
            id,
            number,
            ..
        } = &wanted;
        let row = registry.row(database.name(), *id);
        let keys = match row.and_then(|row| registry.load_keys(database, *id, &row)) {
            Ok(keys) => keys,
            Err(error) => {
                if let ClientError::Storage(error) = error {
                    tracing::error!(%error, "the client registry failed");
                }
                self.failed
                    .insert((*id, database.version()), Instant::now());
                return Ok(true);
            }
        };
        let start = Instant::now();
        let earlier = earlier_ticket(catalog, registry, &wanted)?;
        // A panic affects one client only: the worker continues with the others.
        let prepared = catch_panic(|| {
            self.pool.install(|| match &earlier {
                Some((earlier, ticket)) => {
                    database
                        .erased()
                        .follow((earlier.erased(), ticket), &keys, *number, &pause)
                }
                None => database.erased().ticket(&keys, *number, &pause),
            })
        });
        let Ok(Ok(ticket)) = prepared else {
            tracing::error!(database = database.name(), "a ticket could not be prepared");
            self.failed
                .insert((*id, database.version()), Instant::now());
            return Ok(true);
        };
        registry.notify.record_ticket(start.elapsed());
        registry
            .store
            .put_ticket(database.name(), *id, database.version(), *number, &ticket)?;
        tracing::debug!(
            database = database.name(),
            bytes = ticket.len(),
            "ticket prepared"
        );
        Ok(true)
    }

    /// The most urgent ticket over all databases below their quota of bytes.
    fn most_urgent(&self, catalog: &Catalog, registry: &Registry) -> Result<Option<Wanted>> {
        let mut best: Option<(Urgency, Wanted)> = None;
        let none = Numbers::default();
        for database in catalog
            .loaded()
            .into_iter()
            .filter(|one| one.description().limits.tickets)
        {
            let rows = registry.store.clients(database.name())?;
            let bytes = rows
                .iter()
                .fold(0u64, |sum, (_, row)| sum.saturating_add(row.bytes()));
            if bytes >= registry.config.max_bytes {
                continue;
            }
            let numbers = registry.store.all_numbers(database.name())?;
            let expiry = registry.clock.expiry();
            let present = rows.iter().filter(|(_, row)| !row.is_expired(expiry));
            for (id, row) in present.filter(|(id, row)| self.is_eligible(&database, *id, row)) {
                let numbers = numbers.get(id).unwrap_or(&none);
                let version = database.version();
                let lacks = |number| {
                    numbers.lacks(version, number) && !self.is_elsewhere((*id, version, number))
                };
                let Some((number, demanded)) = registry.wanted(&database, (*id, row), lacks) else {
                    continue;
                };
                let urgency = Urgency {
                    owners_last_round: self.owners.get(&row.owner).copied().unwrap_or(0),
                    not_demanded: !demanded,
                    tickets_ready: number.saturating_sub(row.next_ticket),
                    last_round: self.prepared.get(id).copied().unwrap_or(0),
                };
                if best.as_ref().is_none_or(|(other, _)| urgency < *other) {
                    let database = Arc::clone(&database);
                    let id = *id;
                    let owner = row.owner;
                    best = Some((
                        urgency,
                        Wanted {
                            database,
                            id,
                            owner,
                            number,
                        },
                    ));
                }
            }
        }
        Ok(best.map(|(_, wanted)| wanted))
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
        self.prepared.retain(|id, _| clients.contains(id));
        self.owners.retain(|owner, _| owners.contains(owner));
        Ok(())
    }

    /// Returns whether tickets can be prepared for a client.
    fn is_eligible(&self, database: &Database, id: ClientId, row: &Row) -> bool {
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

impl Registry {
    /// The first number of a client whose ticket is to be prepared, and whether the client requested it.
    fn wanted(
        &self,
        database: &Database,
        (id, row): (ClientId, &Row),
        lacks: impl Fn(u64) -> bool,
    ) -> Option<(u64, bool)> {
        let ahead = self.ahead(database, row);
        let floor = row
            .next_ticket
            .saturating_sub(window(self.most_ahead(database)));
        let requested: Vec<u64> = {
            let demanded = self.demanded.lock().unwrap_or_else(PoisonError::into_inner);
            demanded
                .get(&id)
                .into_iter()
                .flatten()
                .copied()
                .filter(|number| *number >= floor)
                .collect()
        };
        if let Some(number) = requested.into_iter().find(|&number| lacks(number)) {
            return Some((number, true));
        }
        self.demanded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id);
        let mut next = row.next_ticket..row.next_ticket.saturating_add(ahead);
        next.find(|&number| lacks(number))
            .map(|number| (number, false))
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
        let ticket = registry
            .store
            .unused_ticket(wanted.id, earlier.version(), wanted.number)?;
        if let Some(ticket) = ticket {
            return Ok(Some((earlier, ticket)));
        }
    }
    Ok(None)
}

/// Removes expired clients, and tickets of versions that are no longer answered.
fn sweep(catalog: &Catalog, registry: &Registry) -> Result<()> {
    for name in registry.store.databases()? {
        for id in registry
            .store
            .remove_expired(&name, registry.clock.expiry())?
        {
            registry.forget(id);
        }
    }
    for database in catalog.loaded() {
        let views = catalog.versions(database.name()).unwrap_or_default();
        let versions: Vec<Version> = views.iter().map(|view| view.database.version()).collect();
        registry.store.keep_versions(database.name(), &versions)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Urgency;

    #[test]
    fn requested_tickets_come_first_in_the_turn_of_their_owner() {
        let urgency = |owners_last_round, not_demanded| Urgency {
            owners_last_round,
            not_demanded,
            tickets_ready: 0,
            last_round: 0,
        };
        assert!(
            urgency(1, true) < urgency(2, false),
            "another owner waits longer"
        );
        assert!(urgency(1, false) < urgency(1, true));
    }
}
